package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/utils/exec"

	"github.com/nuon-toolkit/nuon/examples/internal/cluster/container"
)

// idleLimit ends a stream on which nothing happens, as a kubelet does.
const idleLimit = 4 * time.Hour

// serveStreams serves exec, attach and port forwarding to the API server.
func (k *kubelet) serveStreams(mux *http.ServeMux) {
	for _, method := range []string{"GET ", "POST "} {
		mux.HandleFunc(method+"/exec/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
			k.serveContainer(w, r, func(pod *corev1.Pod, name string, o *remotecommand.Options) {
				remotecommand.ServeExec(w, r, k, pod.Name, string(pod.UID), name, r.URL.Query()["command"], o, idleLimit,
					remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
			})
		})
		mux.HandleFunc(method+"/attach/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
			k.serveContainer(w, r, func(pod *corev1.Pod, name string, o *remotecommand.Options) {
				remotecommand.ServeAttach(w, r, k, pod.Name, string(pod.UID), name, o, idleLimit,
					remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
			})
		})
		mux.HandleFunc(method+"/portForward/{namespace}/{pod}", k.servePorts)
	}
}

// serveContainer serves a stream of a container that runs.
func (k *kubelet) serveContainer(w http.ResponseWriter, r *http.Request,
	serve func(*corev1.Pod, string, *remotecommand.Options)) {
	o, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pod, name := k.podOf(w, r), r.PathValue("container")
	if pod == nil {
		return
	}
	if k.running(runKey{pod.UID, name}) == nil {
		text := fmt.Sprintf("container not found (%q)", name)
		if s := statusOf(pod, name); s != nil && s.State.Running != nil {
			text = fmt.Sprintf("the container %q is pretended: this cluster runs those of pods with the annotation %s=%s, or "+
				"in a namespace with such a label, when they start", name, markContainers, markRun)
		}
		http.Error(w, text, http.StatusBadRequest)
		return
	}
	serve(pod, name, o)
}

// podOf returns the pod that a request names, or answers that it is missing.
func (k *kubelet) podOf(w http.ResponseWriter, r *http.Request) *corev1.Pod {
	pod, err := k.pods.Pods(r.PathValue("namespace")).Get(r.PathValue("pod"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return nil
	}
	return pod
}

func (k *kubelet) servePorts(w http.ResponseWriter, r *http.Request) {
	pod := k.podOf(w, r)
	if pod == nil {
		return
	}
	o, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, pod.Name, string(pod.UID), o, idleLimit,
		remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

// PortForward connects a stream with a port of a pod at its loopback address.
func (k *kubelet) PortForward(ctx context.Context, _, uid string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close() //nolint:errcheck // everything was copied
	address := net.JoinHostPort(loopbackOf(types.UID(uid)), strconv.Itoa(int(port)))
	to, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("connect to port %d of the pod at %s: %w", port, address, err)
	}
	defer to.Close() //nolint:errcheck // as above
	go func() {
		_, _ = io.Copy(to, stream)
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, to)
	return err
}

// ExecInContainer runs a command in a container.
func (k *kubelet) ExecInContainer(ctx context.Context, _, uid, name string, command []string, in io.Reader,
	out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	r := k.running(runKey{types.UID(uid), name})
	if r == nil {
		return fmt.Errorf("container not found (%q)", name)
	}
	p := r.spec.Process
	p.Args = command
	if tty {
		p.Env = append([]string{"TERM=xterm"}, p.Env...)
	}
	running, err := execute(ctx, r.container, p, in, out, errs, tty, resize)
	if err != nil {
		return err
	}
	if code := running.ExitCode(); code != 0 {
		return exec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return nil
}

// execute runs a process in a container to its end. It kills the process when ctx ends or when nobody reads its output.
func execute(ctx context.Context, c *container.Container, p container.Process, in io.Reader, out, errs io.Writer,
	tty bool, resize <-chan remotecommand.TerminalSize) (*container.Running, error) {
	var streams container.Streams
	var input *os.File     // where in goes
	var outputs []*os.File // where out and errs come from
	var to []io.Writer
	var ends []*os.File // those of the process
	if tty {
		control, terminal, err := container.OpenTerminal()
		if err != nil {
			return nil, err
		}
		streams.Terminal, input, outputs, to, ends = terminal, control, []*os.File{control}, []io.Writer{out},
			[]*os.File{terminal}
		go resizeAll(control, resize)
	} else {
		for _, s := range []struct {
			wanted bool
			of     **os.File
			in     bool
			to     io.Writer
		}{{in != nil, &streams.In, true, nil}, {out != nil, &streams.Out, false, out},
			{errs != nil, &streams.Err, false, errs}} {
			if !s.wanted {
				continue
			}
			made, err := newPipe()
			if err != nil {
				closeAll(append(append(ends, outputs...), input)...)
				return nil, err
			}
			if s.in {
				*s.of, input, ends = made.read, made.write, append(ends, made.read)
			} else {
				*s.of, outputs, to, ends = made.write, append(outputs, made.read), append(to, s.to), append(ends, made.write)
			}
		}
	}
	running, err := c.Exec(p, streams)
	closeAll(ends...)
	defer closeAll(append(outputs, input)...)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { running.Signal(syscall.SIGKILL) })
	defer stop()
	if in != nil {
		go feed(input, in, tty)
	}
	var copies sync.WaitGroup
	for i, from := range outputs {
		copies.Go(func() {
			if _, err := io.Copy(to[i], from); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) &&
				!errors.Is(err, syscall.EIO) { // a terminal ends with that
				running.Signal(syscall.SIGKILL)
			}
		})
	}
	<-running.Done()
	for _, from := range outputs {
		_ = from.SetReadDeadline(time.Now().Add(drainLimit))
	}
	copies.Wait()
	return running, nil
}

// endOfInput is what a terminal takes for the end of its input.
const endOfInput = "\x04"

// feed copies the input of a process to its end.
func feed(to *os.File, from io.Reader, tty bool) {
	_, _ = io.Copy(to, from)
	if tty {
		_, _ = to.WriteString(endOfInput)
		return
	}
	_ = to.Close()
}

// resizeAll sets the sizes of a terminal until there are no more.
func resizeAll(control *os.File, sizes <-chan remotecommand.TerminalSize) {
	for size := range sizes {
		_ = container.Resize(control, size.Width, size.Height)
	}
}

// AttachContainer connects a client with the streams of a container, until it ends or the client does not read any
// more.
func (k *kubelet) AttachContainer(ctx context.Context, _, uid, name string, in io.Reader, out, errs io.WriteCloser,
	tty bool, resize <-chan remotecommand.TerminalSize) error {
	r := k.running(runKey{types.UID(uid), name})
	if r == nil {
		return fmt.Errorf("container not found (%q)", name)
	}
	a := &attachment{broken: make(chan struct{})}
	if out != nil {
		a.out = out
	}
	if errs != nil {
		a.err = errs
	}
	r.output.attach(a)
	defer r.output.detach(a)
	if tty && r.terminal {
		go resizeAll(r.input, resize)
	}
	if in != nil && r.input != nil {
		go func() {
			_, err := io.Copy(r.input, in)
			if err == nil && r.owner.spec.StdinOnce && !r.terminal {
				_ = r.input.Close()
			}
		}()
	}
	select {
	case <-r.container.Done():
		r.output.streams.Wait() // everything is passed on
	case <-a.broken:
	case <-ctx.Done():
	}
	return nil
}
