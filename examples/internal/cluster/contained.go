package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nuon-toolkit/nuon/examples/internal/cluster/container"
	"github.com/nuon-toolkit/nuon/examples/internal/cluster/image"
)

// markContainers is the key that makes containers real, with the value run: as a label of a namespace for all of its
// pods, or as an annotation of a pod, which counts more. The node has it as an annotation: supported, or the reason why
// it cannot run containers.
const (
	markContainers = "nuon.test/containers"
	markRun        = "run"
	supported      = "supported"
)

// Reasons of containers that wait.
const (
	errImagePull         = "ErrImagePull"
	createContainerError = "CreateContainerError"
)

// marked reports whether the containers of a pod are real.
func (k *kubelet) marked(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if mark, is := pod.Annotations[markContainers]; is {
		return mark == markRun, nil
	}
	namespace, err := k.client.CoreV1().Namespaces().Get(ctx, pod.Namespace, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	return namespace.Labels[markContainers] == markRun, nil
}

// trial returns an error if this machine cannot run containers.
func trial(d *directory) error {
	dir, err := os.MkdirTemp(d.path(podsName), "trial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the cluster's directory is temporary, too
	for _, name := range []string{"root", "scratch"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	return container.Try(container.Spec{Base: dir, Root: "root", Scratch: "scratch"})
}

// contained runs a container of an image, isolated from the machine except for its network.
type contained struct {
	sandbox *sandbox
	// target is the container whose processes an ephemeral container sees; empty for none.
	target string
}

// prepare pulls the image and describes the container.
func (c *contained) prepare(soft context.Context, p *process, restarts int32) (attempt, error) {
	k := p.worker.kubelet
	if k.unable != nil {
		return nil, &reasonError{createContainerError, fmt.Errorf("this cluster cannot run containers: %w", k.unable)}
	}
	pulled, err := k.images.Pull(soft, p.spec.Image, k.credentials(p.pod))
	if err != nil {
		return nil, &reasonError{errImagePull, fmt.Errorf("failed to pull image %q: %w", p.spec.Image, err)}
	}
	if err := c.sandbox.prepare(soft); err != nil {
		return nil, err
	}
	variables, err := k.environment(soft, p.pod, p.spec, c.sandbox.address)
	if err != nil {
		return nil, err
	}
	r := &containerRun{kubelet: k, owner: p, sandbox: c.sandbox, restarts: restarts, image: pulled}
	if r.spec, err = c.describe(p, variables, pulled, r.dir()); err != nil {
		return nil, err
	}
	if c.target != "" {
		if r.target = k.running(runKey{p.worker.uid, c.target}); r.target == nil {
			return nil, fmt.Errorf("the target container %q does not run", c.target)
		}
	}
	return r.run, nil
}

func (c *contained) remove(*process) {}

// describe returns what runs.
func (c *contained) describe(p *process, e *environment, i *image.Image, dir string) (container.Spec, error) {
	mounts, err := c.sandbox.mounts(p.spec, e)
	if err != nil {
		return container.Spec{}, err
	}
	process, err := processOf(p.pod, p.spec, e, i.Config)
	if err != nil {
		return container.Spec{}, err
	}
	process.Env = c.sandbox.environ(i.Config.Env, e)
	k := p.worker.kubelet
	base := filepath.Dir(k.imagesDir)
	scratch, err := filepath.Rel(base, filepath.Join(dir, "files"))
	if err != nil {
		return container.Spec{}, err
	}
	security := p.spec.SecurityContext
	return container.Spec{
		Base: base, Root: filepath.Join(filepath.Base(k.imagesDir), i.Root), Scratch: scratch,
		ReadOnly: security != nil && security.ReadOnlyRootFilesystem != nil && *security.ReadOnlyRootFilesystem,
		Hostname: hostname(p.pod), Process: process,
		Mounts: append(mounts, container.Mount{Source: filepath.Join(dir, terminationName),
			Target: p.spec.TerminationMessagePath}),
	}, nil
}

// processOf returns the program of a container, as its image and its pod describe it.
func processOf(pod *corev1.Pod, c *corev1.Container, e *environment,
	image ocispec.ImageConfig) (container.Process, error) {
	p := container.Process{User: image.User, Dir: image.WorkingDir, Capabilities: container.DefaultCapabilities}
	// a command of the pod replaces the arguments of the image, too
	command, args := image.Entrypoint, image.Cmd
	if len(c.Command) > 0 {
		command, args = e.expandAll(c.Command), nil
	}
	if len(c.Args) > 0 {
		args = e.expandAll(c.Args)
	}
	p.Args = append(append([]string(nil), command...), args...)
	if c.WorkingDir != "" {
		p.Dir = c.WorkingDir
	}
	number := func(values ...*int64) *int {
		for _, v := range values {
			if v != nil {
				return new(int(*v))
			}
		}
		return nil
	}
	of, own := pod.Spec.SecurityContext, c.SecurityContext
	if of == nil {
		of = &corev1.PodSecurityContext{}
	}
	if own == nil {
		own = &corev1.SecurityContext{}
	}
	p.UID, p.GID = number(own.RunAsUser, of.RunAsUser), number(own.RunAsGroup, of.RunAsGroup)
	for _, g := range of.SupplementalGroups {
		p.Groups = append(p.Groups, int(g))
	}
	if of.FSGroup != nil {
		p.Groups = append(p.Groups, int(*of.FSGroup))
	}
	if own.Privileged != nil && *own.Privileged {
		p.Capabilities = []string{"ALL"}
	}
	p.NoNewPrivileges = own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation
	p.Capabilities = change(p.Capabilities, own.Capabilities)
	root := p.UID != nil && *p.UID == 0 || p.UID == nil && (p.User == "" || strings.Split(p.User, ":")[0] == "0" ||
		strings.Split(p.User, ":")[0] == "root")
	for _, must := range []*bool{of.RunAsNonRoot, own.RunAsNonRoot} {
		if must != nil && *must && root {
			return p, errors.New("container has runAsNonRoot and image will run as root")
		}
	}
	return p, nil
}

// change returns capabilities with those that a container adds, without those that it drops.
func change(all []string, c *corev1.Capabilities) []string {
	if c == nil {
		return all
	}
	var left []string
	dropped := func(name string) bool {
		for _, d := range c.Drop {
			if string(d) == "ALL" || strings.TrimPrefix(string(d), "CAP_") == name {
				return true
			}
		}
		return false
	}
	for _, name := range all {
		if !dropped(name) {
			left = append(left, name)
		}
	}
	for _, name := range c.Add {
		left = append(left, string(name))
	}
	return left
}

// runKey names a container of a pod.
type runKey struct {
	pod  types.UID
	name string
}

// containerRun is one run of a container.
type containerRun struct {
	kubelet  *kubelet
	owner    *process
	sandbox  *sandbox
	restarts int32
	image    *image.Image
	spec     container.Spec
	target   *containerRun // for an ephemeral container, whose processes it sees

	container *container.Container
	output    *output

	mu    sync.Mutex
	shown view
	// input is the standard input of the container: a pipe, or the control side of its terminal; nil for none.
	input    *os.File
	terminal bool
}

// terminationName is the file with the termination message of a run.
const terminationName = "termination"

// dir is the directory of the run.
func (r *containerRun) dir() string {
	return filepath.Join(r.sandbox.dir, "runs", fmt.Sprintf("%s.%d", r.owner.spec.Name, r.restarts))
}

// run runs the container to its end. It implements attempt.
func (r *containerRun) run(soft, hard context.Context, show func(view)) corev1.ContainerState {
	begun := time.Now()
	defer os.RemoveAll(r.dir()) //nolint:errcheck // the directory of the pod is removed, too
	wait, err := r.start()
	if err != nil {
		return startError(begun, 128, err)
	}
	key := runKey{r.owner.worker.uid, r.owner.spec.Name}
	r.kubelet.register(key, r)
	ctx, cancel := context.WithCancel(soft)
	r.shown = view{state: running(begun), id: fmt.Sprintf("nuon://%s/%s/%d", key.pod, key.name, r.restarts),
		imageID: imageID(r.owner.spec.Image, r.image)}
	probes := r.probe(ctx, show)
	term := context.AfterFunc(soft, func() { r.container.Signal(syscall.SIGTERM) })
	kill := context.AfterFunc(hard, func() { r.container.Signal(syscall.SIGKILL) })
	<-r.container.Done()
	term()
	kill()
	cancel()
	probes.Wait()
	r.kubelet.unregister(key, r)
	wait()
	end := terminated(begun, time.Now(), int32(r.container.ExitCode()))
	end.Terminated.ContainerID, end.Terminated.Message = r.shown.id, r.message(end.Terminated.ExitCode)
	return end
}

func imageID(name string, i *image.Image) string {
	repository, _, _ := strings.Cut(name, "@")
	return repository + "@" + i.Digest.String()
}

// start starts the container. wait waits for the rest of its output.
func (r *containerRun) start() (wait func(), err error) {
	if err := os.MkdirAll(filepath.Join(r.dir(), "files"), 0o755); err != nil {
		return nil, err
	}
	message := filepath.Join(r.dir(), terminationName)
	if err := os.WriteFile(message, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Chmod(message, 0o666); err != nil { //nolint:gosec // the user of the container writes it
		return nil, err
	}
	log, err := r.kubelet.logs.createFormatted(r.owner.worker.uid, r.owner.spec.Name, r.restarts)
	if err != nil {
		return nil, err
	}
	r.output = newOutput(log)
	if r.target != nil {
		r.spec.Processes = r.target.container
	}
	if r.owner.spec.TTY {
		return r.startWithTerminal()
	}
	return r.startWithPipes()
}

func (r *containerRun) startWithTerminal() (wait func(), err error) {
	control, terminal, err := container.OpenTerminal()
	if err == nil {
		r.container, err = container.Start(r.spec, container.Streams{Terminal: terminal})
	}
	closeAll(terminal)
	if err != nil {
		closeAll(control, r.output.log)
		return nil, err
	}
	r.input, r.terminal = control, true
	r.output.read(stdoutName, control)
	return func() { r.output.finish(control) }, nil
}

func (r *containerRun) startWithPipes() (wait func(), err error) {
	var in, out, errs pipe
	out, err = newPipe()
	if err == nil {
		errs, err = newPipe()
	}
	if err == nil && r.owner.spec.Stdin {
		in, err = newPipe()
	}
	if err == nil {
		r.container, err = container.Start(r.spec, container.Streams{In: in.read, Out: out.write, Err: errs.write})
	}
	closeAll(in.read, out.write, errs.write)
	if err != nil {
		closeAll(in.write, out.read, errs.read, r.output.log)
		return nil, err
	}
	r.input = in.write
	r.output.read(stdoutName, out.read)
	r.output.read(stderrName, errs.read)
	return func() {
		closeAll(r.input)
		r.output.finish(out.read, errs.read)
	}, nil
}

// Limits of the termination message, in bytes, as a kubelet has them.
const maxMessage, maxMessageOfLog = 4096, 2048

// message returns the termination message of the container.
func (r *containerRun) message(code int32) string {
	f, err := os.Open(filepath.Join(r.dir(), terminationName))
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxMessage))
	if err == nil && len(text) == 0 && code != 0 &&
		r.owner.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		return r.kubelet.logs.end(r.owner.worker.uid, r.owner.spec.Name, r.restarts, maxMessageOfLog)
	}
	return strings.ToValidUTF8(string(text), "?")
}

// register makes a run known to exec and attach.
func (k *kubelet) register(key runKey, r *containerRun) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs[key] = r
}

func (k *kubelet) unregister(key runKey, r *containerRun) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs[key] == r {
		delete(k.runs, key)
	}
}

// running returns the current run of a container; nil if it does not run.
func (k *kubelet) running(key runKey) *containerRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runs[key]
}
