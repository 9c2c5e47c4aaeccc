package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	criapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	criLogs "k8s.io/cri-client/pkg/logs"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // the options of requests for logs
)

// logs is the directory with the logs of containers that ran as processes: one directory per pod,
// one file per run.
type logs struct{ dir string }

func (l logs) path(uid types.UID, container string, run int32) string {
	return filepath.Join(l.dir, string(uid), fmt.Sprintf("%s.%d", container, run))
}

// formatted returns the path of a log in the format of container runtimes.
func (l logs) formatted(uid types.UID, container string, run int32) string {
	return l.path(uid, container, run) + ".cri"
}

func (l logs) create(uid types.UID, container string, run int32) (*os.File, error) {
	return l.createFile(l.path(uid, container, run))
}

func (l logs) createFormatted(uid types.UID, container string, run int32) (*os.File, error) {
	return l.createFile(l.formatted(uid, container, run))
}

func (l logs) createFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make a place for the log: %w", err)
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
}

func (l logs) remove(uid types.UID) { _ = os.RemoveAll(filepath.Join(l.dir, string(uid))) }

// end returns the last bytes of a formatted log.
func (l logs) end(uid types.UID, container string, run int32, bytes int) string {
	var text strings.Builder
	o := criLogs.LogOptions{TailLines: new(int64(80))}
	path := l.formatted(uid, container, run)
	if err := criLogs.ReadLogs(context.Background(), path, "", &o, nil, &text, &text); err != nil {
		return ""
	}
	all := text.String()
	return strings.ToValidUTF8(all[max(0, len(all)-bytes):], "?")
}

// serve serves requests of the API server for logs and streams on a separate port.
func (k *kubelet) serve(d *directory) (*part, int32, error) {
	config, err := kubeletTLS(d)
	if err != nil {
		return nil, 0, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, 0, fmt.Errorf("listen for requests of the API server: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLog)
	k.serveStreams(mux)
	return start("kubelet's server", func(ctx context.Context) error {
		server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second,
			BaseContext: func(net.Listener) context.Context { return ctx }}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		if err := server.Serve(tls.NewListener(listener, config)); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}), int32(listener.Addr().(*net.TCPAddr).Port), nil
}

// logWish is a request for a part of a log.
type logWish struct {
	follow, previous bool
	tail, limit      int64 // lines and bytes; negative for all
}

func wishOf(q url.Values) logWish {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	return logWish{follow: q.Get("follow") == "true", previous: q.Get("previous") == "true", tail: number("tailLines"),
		limit: number("limitBytes")}
}

func (k *kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	namespace, name, container, wish := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"),
		wishOf(r.URL.Query())
	pod := k.podOf(w, r)
	if pod == nil {
		return
	}
	status := statusOf(pod, container)
	run, refusal := runOf(pod, container, status, wish.previous)
	if refusal != "" {
		http.Error(w, refusal, http.StatusBadRequest)
		return
	}
	if path := k.logs.formatted(pod.UID, container, run); exists(path) {
		k.serveFormatted(w, r, path, runKey{pod.UID, container}, run)
		return
	}
	var out io.Writer = &flushing{w: w}
	if wish.limit >= 0 {
		out = &limited{w: out, left: wish.limit}
	}
	file, err := os.Open(k.logs.path(pod.UID, container, run))
	if err != nil {
		_, _ = out.Write(lastLines(pretendedLog(pod, status), wish.tail))
		return
	}
	defer file.Close() //nolint:errcheck // it was read
	if err := seekTail(file, wish.tail); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	k.copyLog(r.Context(), out, file, func() bool {
		now := k.pod(namespace, name, pod.UID)
		s := (*corev1.ContainerStatus)(nil)
		if now != nil {
			s = statusOf(now, container)
		}
		return wish.follow && !wish.previous && s != nil && s.State.Running != nil && s.RestartCount == run
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// serveFormatted serves the log of a real container, with all options.
func (k *kubelet) serveFormatted(w http.ResponseWriter, r *http.Request, path string, key runKey, restarts int32) {
	var asked corev1.PodLogOptions
	if err := legacyscheme.ParameterCodec.DecodeParameters(r.URL.Query(), corev1.SchemeGroupVersion, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := &flushing{w: w}
	state := logState{kubelet: k, key: key, restarts: restarts}
	err := criLogs.ReadLogs(r.Context(), path, "", optionsOf(&asked), state, out, out)
	if err != nil && r.Context().Err() == nil {
		report(r.Context(), "log of "+key.name, err)
	}
}

// optionsOf returns the options of a reader as those of a request.
func optionsOf(asked *corev1.PodLogOptions) *criLogs.LogOptions {
	o := &criLogs.LogOptions{TailLines: asked.TailLines, LimitBytes: asked.LimitBytes, Follow: asked.Follow,
		Timestamp: asked.Timestamps}
	if asked.SinceTime != nil {
		o.Since = asked.SinceTime.Time
	}
	if asked.SinceSeconds != nil {
		o.Since = time.Now().Add(-time.Duration(*asked.SinceSeconds) * time.Second)
	}
	return o
}

// logState reports to the reader of a log whether the container still runs.
type logState struct {
	criapi.RuntimeService

	kubelet  *kubelet
	key      runKey
	restarts int32
}

// ContainerStatus returns the state of the container.
func (s logState) ContainerStatus(context.Context, string, bool) (*runtimeapi.ContainerStatusResponse, error) {
	state := runtimeapi.ContainerState_CONTAINER_EXITED
	if r := s.kubelet.running(s.key); r != nil && r.restarts == s.restarts {
		state = runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: state}}, nil
}

// copyLog copies the existing content, and new content while more returns true.
func (k *kubelet) copyLog(ctx context.Context, out io.Writer, file *os.File, more func() bool) {
	for {
		comes := more() // evaluated before the copy, so that everything before the end is copied
		if _, err := io.Copy(out, file); err != nil || !comes || !sleep(ctx, soon) {
			return
		}
	}
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, all := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses,
		pod.Status.EphemeralContainerStatuses} {
		for i := range all {
			if all[i].Name == container {
				return &all[i]
			}
		}
	}
	return nil
}

// runOf returns the run whose log is requested, or a refusal in the wording of a kubelet.
func runOf(pod *corev1.Pod, container string, s *corev1.ContainerStatus, previous bool) (run int32, refusal string) {
	switch {
	case s == nil:
		return 0, fmt.Sprintf("container %q in pod %q is waiting to start: ContainerCreating", container, pod.Name)
	case previous && s.LastTerminationState.Terminated == nil:
		return 0, fmt.Sprintf("previous terminated container %q in pod %q not found", container, pod.Name)
	case s.State.Waiting != nil && s.LastTerminationState.Terminated == nil:
		return 0, fmt.Sprintf("container %q in pod %q is waiting to start: %s", container, pod.Name, s.State.Waiting.Reason)
	case previous && s.State.Waiting == nil:
		return s.RestartCount - 1, ""
	}
	return s.RestartCount, ""
}

// pretendedLog returns the log of a container that does not run.
func pretendedLog(pod *corev1.Pod, s *corev1.ContainerStatus) []byte {
	if troubleOf(s.Image).kind == crash {
		return []byte(crashLog)
	}
	return fmt.Appendf(nil, "%s is pretended to run in %s\n", strings.ToValidUTF8(s.Image, "?"), pod.Name)
}

// lastLines returns the last lines of a text, or all of it for a negative number. A last line
// without a newline counts.
func lastLines(text []byte, lines int64) []byte {
	if lines < 0 {
		return text
	}
	if lines == 0 {
		return nil
	}
	for at := len(bytes.TrimSuffix(text, []byte("\n"))); at > 0; at-- {
		if text[at-1] != '\n' {
			continue
		}
		if lines--; lines == 0 {
			return text[at:]
		}
	}
	return text
}

// tailBlock bounds the part of a log that is searched for the last lines, in bytes; earlier lines
// are not shown.
const tailBlock = 1 << 20

// seekTail seeks to the start of the last lines of a file.
func seekTail(file *os.File, lines int64) error {
	if lines < 0 {
		return nil
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	block := make([]byte, min(size, tailBlock))
	n, err := file.ReadAt(block, size-int64(len(block)))
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the log: %w", err)
	}
	_, err = file.Seek(size-int64(len(lastLines(block[:n], lines))), io.SeekStart)
	return err
}

// flushing is a writer that flushes every write.
type flushing struct{ w http.ResponseWriter }

func (f *flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if flusher, can := f.w.(http.Flusher); can {
		flusher.Flush()
	}
	return n, err
}

// limited is a writer that fails beyond a limit.
type limited struct {
	w    io.Writer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.w.Write(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}
