// Package containers tests that the one-process Kubernetes really runs the containers of marked pods, with kubectl.
package containers

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/nuon-toolkit/nuon/examples/internal/imagehost"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// password is that of the registry.
const password = "swordfish"

// world is a namespace whose containers run.
type world struct {
	kubeconfig, namespace string
	cluster               *cluster.Cluster
	registry              *imagehost.Registry
	program               string // the path of the only program of the images
	plain                 string // an image with the program
}

// newWorld returns a new namespace whose containers run, and images for them.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{kubeconfig: clustertest.Kubeconfig(t), cluster: clustertest.Open(t)}
	if able := w.kubectl(t, "", "get", "nodes", "-o",
		`jsonpath={.items[*].metadata.annotations.nuon\.test/containers}`); able != "supported" {
		t.Skip("this cluster cannot run containers: " + able)
	}
	w.namespace = clustertest.Namespace(t, w.cluster)
	w.kubectl(t, "", "label", "namespace", w.namespace, "nuon.test/containers=run")
	w.serveImages(t)
	testtime.Until(t, "the account of pods exists", func() bool {
		return clustertest.Get(t, w.cluster,
			api.ObjectRef{Version: "v1", Kind: "ServiceAccount", Namespace: w.namespace, Name: "default"}) != nil
	})
	return w
}

func TestContainers(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"logs": testLogs, "isolation": testIsolation, "exec": testExec, "attach": testAttach, "restart": testRestart,
		"killed": testKilled, "deleted": testDeleted, "ephemeral": testEphemeral, "pull secret": testPullSecret,
		"volumes": testVolumes, "ports": testPorts, "hostile image": testHostileImage, "pretended": testPretended,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// serveImages builds the program and starts a registry.
func (w *world) serveImages(t *testing.T) {
	t.Helper()
	w.program = filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", w.program,
		"./program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var err error
	if w.registry, err = imagehost.Start(password); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.registry.Stop() })
	w.plain = w.image(t, "public", ocispec.ImageConfig{Entrypoint: []string{"/program"}, Cmd: []string{"wait"},
		Env: []string{"OF_IMAGE=yes"}})
}

// image returns the name of an image with the program and other entries.
func (w *world) image(t *testing.T, repository string, config ocispec.ImageConfig, entries ...imagehost.Entry) string {
	t.Helper()
	name, err := w.registry.Add(repository, config, append([]imagehost.Entry{imagehost.Program("/program", w.program)},
		entries...)...)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// kubectl runs kubectl with an input, and returns what it prints.
func (w *world) kubectl(t *testing.T, in string, args ...string) string {
	t.Helper()
	out, err := w.try(t, in, args...)
	if err != nil {
		t.Fatalf("kubectl %q: %v", args, err)
	}
	return out
}

// try is like kubectl, and returns an error with what kubectl prints as errors.
func (w *world) try(t *testing.T, in string, args ...string) (string, error) {
	cmd := w.command(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), nil
}

func (w *world) command(t *testing.T, args ...string) *exec.Cmd {
	return exec.CommandContext(testtime.Context(t), os.Getenv("NUON_CLUSTER"), append([]string{"kubectl", "--kubeconfig",
		w.kubeconfig, "--namespace", w.namespace}, args...)...)
}

// pod creates a pod with one container. spec is what the container has besides its name and image, and more what the
// pod has, in YAML on one line.
func (w *world) pod(t *testing.T, name, image, spec, more string) {
	t.Helper()
	clustertest.Create(t, w.cluster, w.namespace, fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n"+
		"  terminationGracePeriodSeconds: 600\n  containers: [{name: main, image: %q, %s}]\n  %s\n", name, image, spec, more))
}

// until waits until the JSON of a field of the status of a pod matches.
func (w *world) until(t *testing.T, pod, field, pattern string) {
	t.Helper()
	testtime.UntilNoError(t, pod+" has "+pattern, func() error {
		if got := w.status(t, pod, field); !regexp.MustCompile(pattern).MatchString(got) {
			return fmt.Errorf("it has %s", got)
		}
		return nil
	})
}

// status returns the JSON of a field of the status of a pod.
func (w *world) status(t *testing.T, pod, field string) string {
	t.Helper()
	object := clustertest.Get(t, w.cluster, api.ObjectRef{Version: "v1", Kind: "Pod", Namespace: w.namespace, Name: pod})
	if object == nil {
		t.Fatalf("there is no pod %s", pod)
	}
	status, _ := object.Object["status"].(map[string]any)
	text, err := json.Marshal(status[field])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expect reports what does not match.
func expect(t *testing.T, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("%q does not match %s", got, pattern)
	}
}

// Fields of the status of a pod, and what they contain.
const (
	phase, statuses, ephemeral = "phase", "containerStatuses", "ephemeralContainerStatuses"
	ready, exited              = `"ready":true`, `"exitCode":`
)

func testLogs(t *testing.T, w *world) {
	w.pod(t, "logs", w.plain, `args: [say, one $OF_IMAGE $FROM_POD, $(FROM_POD)!, three], env: [{name: FROM_POD, value: "2"}]`,
		"restartPolicy: Never")
	w.until(t, "logs", phase, "Succeeded")
	if got := w.kubectl(t, "", "logs", "logs"); !strings.Contains(got, "one yes 2\n") || !strings.Contains(got, "2!\n") ||
		!strings.Contains(got, "three\n") {
		t.Errorf("the log is %q", got)
	}
	expect(t, w.kubectl(t, "", "logs", "logs", "--tail=1", "--timestamps"), `^20\d\d-\d\d-\d\dT\S+Z [\w !]+\n$`)
	if got := w.kubectl(t, "", "logs", "-f", "logs", "--since-time=2100-01-01T00:00:00Z"); got != "" {
		t.Errorf("later it wrote %q", got)
	}
	expect(t, w.status(t, "logs", statuses), `"imageID":"`+regexp.QuoteMeta(w.plain)+`"`)
}

func testIsolation(t *testing.T, w *world) {
	w.pod(t, "isolation", w.plain, "args: [facts], securityContext: {runAsUser: 4321}", "restartPolicy: Never")
	w.until(t, "isolation", phase, "Succeeded")
	expect(t, w.kubectl(t, "", "logs", "isolation"),
		`^host isolation user 4321 files \[/dev /etc /proc /program( /\w+)*\]\nprocess /program facts \n$`)
}

func testExec(t *testing.T, w *world) {
	w.pod(t, "exec", w.plain, "", "")
	w.until(t, "exec", statuses, ready)
	if got := w.kubectl(t, "", "exec", "exec", "--", "/program", "say", "hello"); got != "hello\n" {
		t.Errorf("it printed %q", got)
	}
	if got := w.kubectl(t, "one\ntwo\n", "exec", "-i", "exec", "--", "/program", "echo"); got != "read one\nread two\n" {
		t.Errorf("it read %q", got)
	}
	_, err := w.try(t, "", "exec", "exec", "--", "/program", "exit", "7")
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("it ended with %v", err)
	}
	if _, err := w.try(t, "", "exec", "exec", "--", "/bin/none"); err == nil ||
		!strings.Contains(err.Error(), "no such file or directory") {
		t.Errorf("a program that is not there: %v", err)
	}
	if got := w.kubectl(t, "", "logs", "exec"); got != "waits\n" {
		t.Errorf("the log of the container is %q", got)
	}
}

func testAttach(t *testing.T, w *world) {
	w.pod(t, "attach", w.plain, "args: [echo], stdin: true, stdinOnce: true", "restartPolicy: Never")
	w.until(t, "attach", statuses, ready)
	if got := w.kubectl(t, "one\ntwo\n", "attach", "-i", "attach", "--quiet"); got != "read one\nread two\n" {
		t.Errorf("it printed %q", got)
	}
	w.until(t, "attach", phase, "Succeeded") // its input has ended
	if got := w.kubectl(t, "", "logs", "attach"); got != "read one\nread two\n" {
		t.Errorf("the log is %q", got)
	}
}

// testRestart has a container that ends again and again.
func testRestart(t *testing.T, w *world) {
	w.pod(t, "restart", w.plain, "args: [exit, '3']", "")
	w.until(t, "restart", statuses, `"exitCode":3.*"restartCount":[1-9].*CrashLoopBackOff`)
	if got := w.kubectl(t, "", "logs", "restart", "--previous"); got != "exits\n" {
		t.Errorf("the log of the run before is %q", got)
	}
}

// testKilled kills a container from outside of it, as a machine without memory does.
func testKilled(t *testing.T, w *world) {
	w.pod(t, "killed", w.plain, "args: [wait, "+w.namespace+"-killed]", "restartPolicy: Never")
	w.until(t, "killed", statuses, ready)
	for _, pid := range processes(w.namespace + "-killed") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	w.until(t, "killed", statuses, exited+"137")
	w.until(t, "killed", phase, "Failed")
}

// testDeleted deletes one pod whose container ends when it receives SIGTERM, and one whose container has to be killed.
func testDeleted(t *testing.T, w *world) {
	for _, what := range []string{"wait", "ignore"} {
		mark := w.namespace + "-deleted-" + what
		w.pod(t, what, w.plain, "args: ["+what+", "+mark+"]", "")
		w.until(t, what, statuses, ready)
		if len(processes(mark)) != 1 {
			t.Errorf("processes of %s: %v", what, processes(mark))
		}
		grace := "600" // what ends alone does not wait for it
		if what == "ignore" {
			grace = "1"
		}
		w.kubectl(t, "", "delete", "pod", what, "--grace-period="+grace)
		testtime.Until(t, "the processes of "+what+" have ended", func() bool { return len(processes(mark)) == 0 })
	}
}

// processes returns the ids of the machine's processes that have an argument.
func processes(argument string) (all []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, file := range files {
		line, _ := os.ReadFile(file) // it may have ended
		if bytes.HasSuffix(line, []byte("\x00"+argument+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))) // the pattern has only digits
			all = append(all, pid)
		}
	}
	return all
}

func directory(name string) imagehost.Entry {
	return imagehost.Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}}
}

// testEphemeral adds a container to a pod that runs, to see its processes.
func testEphemeral(t *testing.T, w *world) {
	w.pod(t, "ephemeral", w.plain, "args: [wait, the-target]", "")
	w.until(t, "ephemeral", statuses, ready)
	other := w.image(t, "public", ocispec.ImageConfig{Entrypoint: []string{"/program"}, Cmd: []string{"facts"}},
		directory("tools"))
	w.kubectl(t, "", "debug", "ephemeral", "--image="+other, "--target=main", "--container=look")
	w.until(t, "ephemeral", ephemeral, exited+"0")
	got := w.kubectl(t, "", "logs", "ephemeral", "--container=look")
	expect(t, got, `^host ephemeral user 0 files \[.*/program.*/tools.*\]\n`)
	expect(t, got, `process /program wait the-target`)
	expect(t, w.status(t, "ephemeral", statuses), ready)
}

func testPullSecret(t *testing.T, w *world) {
	private := w.image(t, imagehost.Private, ocispec.ImageConfig{Entrypoint: []string{"/program", "wait"}},
		directory("for-"+w.namespace))
	w.pod(t, "nobody", private, "", "imagePullSecrets: [{name: nothing}]")
	w.until(t, "nobody", statuses,
		`failed to pull image.*credential not found.*"(ErrImagePull|ImagePullBackOff)"`)
	w.kubectl(t, "", "create", "secret", "docker-registry", "login", "--docker-server="+w.registry.Host(),
		"--docker-username=u", "--docker-password="+password)
	w.pod(t, "somebody", private, "", "imagePullSecrets: [{name: login}]")
	w.until(t, "somebody", statuses, ready)
}

// testVolumes shares a claim between two pods, and mounts a Secret.
func testVolumes(t *testing.T, w *world) {
	clustertest.Create(t, w.cluster, w.namespace, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"+
		"spec:\n  accessModes: [ReadWriteMany]\n  resources: {requests: {storage: 1Mi}}\n---\napiVersion: v1\n"+
		"kind: Secret\nmetadata: {name: files}\nstringData: {key: of the secret}\n")
	volumes := "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}, " +
		"{name: files, secret: {secretName: files}}]"
	for _, name := range []string{"volumes-a", "volumes-b"} {
		w.pod(t, name, w.plain, "securityContext: {readOnlyRootFilesystem: true}, volumeMounts: "+
			"[{name: data, mountPath: /data, subPath: below}, {name: files, mountPath: /files}]", volumes)
		w.until(t, name, statuses, ready)
	}
	w.kubectl(t, "", "exec", "volumes-a", "--", "/program", "write", "/data/file", "of the other")
	for file, want := range map[string]string{"/data/file": "of the other", "/files/key": "of the secret"} {
		if got := w.kubectl(t, "", "exec", "volumes-b", "--", "/program", "read", file); got != want {
			t.Errorf("%s has %q", file, got)
		}
	}
	for _, file := range []string{"/files/key", "/file"} {
		if _, err := w.try(t, "", "exec", "volumes-b", "--", "/program", "write", file, "x"); err == nil ||
			!strings.Contains(err.Error(), "read-only") {
			t.Errorf("writing %s: %v", file, err)
		}
	}
}

// testPorts has a container that is ready when it listens at the address of its pod, and forwards a port to it.
func testPorts(t *testing.T, w *world) {
	w.pod(t, "ports", w.plain, "args: [listen, '$(IP):8123'], "+
		"env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}], "+
		"readinessProbe: {tcpSocket: {port: 8123}, periodSeconds: 1}", "")
	w.until(t, "ports", statuses, ready)
	forward := w.command(t, "port-forward", "pod/ports", ":8123")
	out, err := forward.StdoutPipe()
	if err == nil {
		err = forward.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = forward.Process.Kill()
		_ = forward.Wait()
	}()
	line, _ := bufio.NewReader(out).ReadString('\n')
	address := regexp.MustCompile(`127.0.0.1:\d+`).FindString(line)
	to, err := (&net.Dialer{}).DialContext(testtime.Context(t), "tcp", address)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	defer to.Close() //nolint:errcheck // only read
	if got, err := bufio.NewReader(to).ReadString('\n'); got != "answer\n" {
		t.Errorf("it answered %q: %v", got, err)
	}
}

// testHostileImage has an image whose entries lead out of its root. Nothing changes there.
func testHostileImage(t *testing.T, w *world) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("of the machine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(kind byte, to string) imagehost.Entry {
		return imagehost.Entry{Header: tar.Header{Name: "link", Typeflag: kind, Linkname: to}}
	}
	const unpackable = "failed to pull image"
	for name, test := range map[string]struct {
		entries []imagehost.Entry
		end     string // of the pod's container
	}{
		"parents": {[]imagehost.Entry{imagehost.Program("../../../.."+outside+"/new", w.program)}, exited + "0"},
		"link": {[]imagehost.Entry{link(tar.TypeSymlink, outside), imagehost.Program("link/new", w.program)},
			unpackable},
		"hidden": {[]imagehost.Entry{link(tar.TypeSymlink, outside), {Header: tar.Header{Name: "link/.wh.secret"}}},
			exited + "0"},
		"hard-link": {[]imagehost.Entry{link(tar.TypeLink, secret)}, unpackable},
		"device": {[]imagehost.Entry{{Header: tar.Header{Name: "disk", Typeflag: tar.TypeBlock, Mode: 0o666, Devmajor: 8}}},
			exited + "0"},
	} {
		pod := "hostile-" + name
		w.pod(t, pod, w.image(t, "public", ocispec.ImageConfig{Entrypoint: []string{"/program"}}, test.entries...),
			"args: [facts]", "restartPolicy: Never")
		w.until(t, pod, statuses, test.end)
		if got, _ := w.try(t, "", "logs", pod); strings.Contains(got, "/disk") {
			t.Errorf("it has a device: %s", got)
		}
	}
	if found, err := os.ReadDir(outside); len(found) != 1 || err != nil {
		t.Errorf("outside there are %v: %v", found, err)
	}
}

// testPretended calls a container that does not run.
func testPretended(t *testing.T, w *world) {
	clustertest.Create(t, w.cluster, w.namespace, "apiVersion: v1\nkind: Pod\n"+
		"metadata: {name: pretended, annotations: {nuon.test/containers: pretend}}\n"+
		"spec: {containers: [{name: main, image: shop}]}\n")
	w.until(t, "pretended", statuses, ready)
	_, err := w.try(t, "", "exec", "pretended", "--", "sh")
	if err == nil || !strings.Contains(err.Error(), "is pretended") {
		t.Errorf("it answered %v", err)
	}
}
