//go:build unix

package containers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/fault"
)

// podsApp is an app whose components are Deployments in the namespace of a world.
func (w *world) podsApp(components ...string) fstest.MapFS {
	files := fstest.MapFS{
		"metadata.toml": {Data: []byte("version = \"v2\"\ndisplay_name = \"Shop\"\n")},
		"runner.toml":   {Data: []byte("runner_type = \"aws\"\n")},
		"sandbox.toml": {Data: []byte("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
			"directory = \"modules/base\"\n")},
		"modules/base/main.tf": {Data: []byte("output \"text\" {\n  value = \"text\"\n}\n")},
	}
	for _, component := range components {
		files["components/"+component+".toml"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(
			"type = \"kubernetes_manifest\"\nname = %q\nnamespace = %q\nmanifest = \"\"\"\napiVersion: apps/v1\n"+
				"kind: Deployment\nmetadata: {name: %[1]s}\nspec:\n  selector: {matchLabels: {app: %[1]s}}\n"+
				"  template:\n    metadata: {labels: {app: %[1]s}}\n    spec:\n"+
				"      containers: [{name: main, image: '%[3]s', args: [wait]}]\n\"\"\"\n",
			component, w.namespace, w.plain))}
	}
	return files
}

// shellsIn is the part of a runner file that allows shells in pods of a component.
func (w *world) shellsIn(component string) string {
	return "[debug]\nshells = [\"" + component + "\"]\nimages = [\"" + w.plain + "\"]\n"
}

// deployPods deploys an app whose components are pods to the install acme of a runner.
func (w *world) deployPods(f *fleettest.World, runner string, components ...string) {
	vendor, err := f.Fleet.NewRepository(f.Ctx, "shop", w.podsApp(components...))
	f.Must(err)
	f.Nuon("apps", "create", "shop", "--repo", vendor.URL)
	f.Nuon("sync", "--app", "shop", "--wait")
	f.Nuon("installs", "create", "acme", "--app", "shop", "--runner", runner, "--approval", "approve-all")
	f.Until("acme", 1)
}

// opensShell opens a shell in a pod of a component of acme on a terminal.
func opensShell(t *testing.T, f *fleettest.World, component string, args ...string) *screentest.Seat {
	t.Helper()
	c := exec.Command(filepath.Join(f.Fleet.Bin, "nuon"), append([]string{"debug", "-it", "acme", component,
		"--reason", "does it answer?"}, args...)...)
	c.Env = f.Fleet.Person()
	s := screentest.Sit(t, c, false)
	s.Size(120, 40)
	return s
}

// shellJob returns the id of the job of a shell.
func shellJob(s *screentest.Seat) string {
	return regexp.MustCompile(`nuon logs shell (\w+)`).FindStringSubmatch(s.Raw())[1]
}

// TestShells opens interactive shells in pods with nuon on a terminal, through a runner that only dials out.
func TestShells(t *testing.T) {
	w := newWorld(t)
	f := fleettest.Start(t, fleet.Options{Kubeconfig: w.kubeconfig})
	file := filepath.Join(t.TempDir(), "runner.toml")
	f.Must(os.WriteFile(file, []byte(w.shellsIn("web")), 0o600))
	runner, err := f.Fleet.AddInstaller(f.Ctx, "looks", []string{"--policy", file}, nil)
	f.Must(err)
	w.deployPods(f, "looks", "web", "queue")
	opens := func(component string, args ...string) *screentest.Seat { return opensShell(t, f, component, args...) }
	const leave, endOfInput = "\x1d", "\x04"

	s := opens("web", "--", "/program", "echo")
	s.Sees("Ctrl-] leaves and ends the shell")
	job := shellJob(s)
	s.Keys("hello\r")
	s.Sees("read hello")
	s.Keys(leave)
	s.Leaves(exitcode.Done)
	s.Sees("left the shell, which ends now")
	testtime.Until(t, "the end of the shell in the audit log", func() bool {
		return strings.Contains(f.Nuon("audit", "--action", "install.shell_end"), job)
	})
	transcript := f.Nuon("logs", "shell", job)
	if !strings.Contains(transcript, "> hello\n") || !strings.Contains(transcript, "read hello\n") {
		t.Errorf("the transcript lacks what was typed and shown:\n%s", transcript)
	}
	casts, err := filepath.Glob(filepath.Join(runner.Dir, "transcripts", "*.cast"))
	f.Must(err)
	if len(casts) != 1 {
		t.Fatalf("the owner's transcripts are %q", casts)
	}
	cast, err := os.ReadFile(casts[0])
	f.Must(err)
	if !strings.Contains(string(cast), "read hello") {
		t.Errorf("the owner's transcript lacks what was shown:\n%s", cast)
	}

	s = opens("web", "--image", w.plain, "--", "/program", "echo") // in a debug container
	s.Sees("Ctrl-] leaves and ends the shell")
	s.Keys("from the side\r")
	s.Sees("read from the side")
	s.Keys(endOfInput)
	s.Leaves(exitcode.Done)
	s.Sees("the shell has ended")
	if added := w.kubectl(t, "", "get", "pods", "-l", "app=web", "-o",
		"jsonpath={.items[*].spec.ephemeralContainers[*].image}"); added != w.plain {
		t.Errorf("the debug containers have the images %q", added)
	}

	s = opens("web", "--", "/program", "echo") // somebody else ends it
	s.Sees("Ctrl-] leaves and ends the shell")
	s.Keys("a\r")
	s.Sees("read a")
	job = shellJob(s)
	f.Nuon("logs", "shell", job, "--end")
	s.Leaves(exitcode.Failed)
	s.Sees("the shell was ended: it was cancelled")

	throughTroubledLines(t, f, runner)

	for refused, args := range map[string][]string{
		"does not allow a shell in the pods of \"queue\"": {"queue"},
		"does not allow a debug container of the image":   {"web", "--image", w.registry.Host() + "/other:1"},
	} {
		s = opens(args[0], args[1:]...)
		s.Leaves(exitcode.Failed)
		s.Told(refused)
	}
}

// throughTroubledLines checks that a shell loses and repeats nothing while the connections of the person and of the
// runner hang, break off and repeat requests.
func throughTroubledLines(t *testing.T, f *fleettest.World, runner *fleet.Runner) {
	t.Helper()
	weather := func(faults fault.Faults) {
		f.Fleet.Control.SetFaults(faults)
		runner.Line.SetFaults(faults)
	}
	defer weather(fault.Faults{})
	s := opensShell(t, f, "web", "--", "/program", "echo")
	s.Sees("Ctrl-] leaves and ends the shell")
	s.Keys("before\r")
	s.Sees("read before")
	weather(fault.Faults{Blackhole: true})
	s.Keys("into the hole\r")
	weather(fault.Faults{Reset: 0.3, Cut: 0.3, Duplicate: 0.3})
	s.Sees("read into the hole")
	for n := range 10 {
		s.Keys(fmt.Sprintf("number %d\r", n))
	}
	s.Sees("read number 9")
	weather(fault.Faults{})
	s.Keys("after\r")
	s.Sees("read after")
	s.Keys("\x04")
	s.Leaves(exitcode.Done)
	transcript := f.Nuon("logs", "shell", shellJob(s))
	var lines []string
	for _, line := range regexp.MustCompile(`(?m)read (.*?)\r?$`).FindAllStringSubmatch(transcript, -1) {
		lines = append(lines, line[1])
	}
	want := []string{"before", "into the hole"}
	for n := range 10 {
		want = append(want, fmt.Sprintf("number %d", n))
	}
	if want = append(want, "after"); !slices.Equal(lines, want) {
		t.Errorf("the program answered %q\n%s", lines, transcript)
	}
	if counts := runner.Line.Counts(); counts.Reset+counts.Cut+counts.Duplicated == 0 {
		t.Errorf("no request of the runner was disturbed: %+v", counts)
	}
}

// TestShellsOfJobsInPods opens a shell through a runner whose jobs are pods themselves.
func TestShellsOfJobsInPods(t *testing.T) {
	w := newWorld(t)
	f := fleettest.Start(t, fleet.Options{Kubeconfig: w.kubeconfig})
	runner, _ := f.AddPodRunner("looks", w.shellsIn("web"))
	w.deployPods(f, "looks", "web")
	s := opensShell(t, f, "web", "--", "/program", "echo")
	s.Sees("Ctrl-] leaves and ends the shell")
	s.Keys("hello\r")
	s.Sees("read hello")
	s.Keys("\x1d")
	s.Leaves(exitcode.Done)
	job := shellJob(s)
	testtime.Until(t, "the end of the shell in the audit log", func() bool {
		return strings.Contains(f.Nuon("audit", "--action", "install.shell_end"), job)
	})
	if transcript := f.Nuon("logs", "shell", job); !strings.Contains(transcript, "read hello") {
		t.Errorf("the transcript lacks what was shown:\n%s", transcript)
	}
	if casts, err := filepath.Glob(filepath.Join(runner.Dir, "transcripts", "*.cast")); err != nil || len(casts) != 1 {
		t.Errorf("the owner's transcripts are %q, %v", casts, err)
	}
}
