package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/id"
)

// WindowSize is the size of a terminal's window.
type WindowSize struct{ Columns, Rows int }

// Terminal is the person's side of an interactive program in a container.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	// Resized has the size of the window, first and after each change.
	Resized <-chan WindowSize
}

// defaultContainer is the annotation with which the authors of a pod name the container for people.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// RunningContainer returns a running container of the pods that belong to objects, as Containers does. Empty names
// select the first pod, and the default container of the pod.
func (c *Cluster) RunningContainer(ctx context.Context, refs []api.ObjectRef, pod, container string) (Container,
	error) {
	objects, err := c.Objects(ctx, refs)
	if err != nil {
		return Container{}, err
	}
	var seen []string
	var found []Container
	for _, object := range objects {
		pods, err := c.ownPods(ctx, object)
		if err != nil {
			return Container{}, fmt.Errorf("the pods of %s: %w", DisplayName(RefOf(object)), Explain(err))
		}
		for i := range pods {
			seen = append(seen, pods[i].Name)
			if pod != "" && pods[i].Name != pod {
				continue
			}
			if each, running := runningContainer(&pods[i], container); running {
				found = append(found, each)
			}
		}
	}
	if len(found) > 0 {
		return slices.MinFunc(found, func(a, b Container) int {
			return strings.Compare(a.Namespace+"/"+a.Pod, b.Namespace+"/"+b.Pod)
		}), nil
	}
	slices.Sort(seen)
	switch {
	case len(seen) == 0:
		return Container{}, errors.New("it has no pods; see what keeps it with nuon status")
	case pod != "" && !slices.Contains(seen, pod):
		return Container{}, fmt.Errorf("%q is none of its pods; they are %s", pod, listPods(seen))
	case container != "":
		return Container{}, fmt.Errorf("no container %q runs in its pods %s", container, listPods(seen))
	}
	return Container{}, fmt.Errorf("no container runs in its pods %s; add a debug container with --image, or see why "+
		"with nuon status", listPods(seen))
}

// listPods returns the names of pods for a message.
func listPods(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// runningContainer returns the container of a name, or the default one, if it runs.
func runningContainer(pod *corev1.Pod, name string) (Container, bool) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning || len(pod.Spec.Containers) == 0 {
		return Container{}, false
	}
	if name == "" {
		name = firstNonEmpty(pod.Annotations[defaultContainer], pod.Spec.Containers[0].Name)
	}
	for _, each := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if each.Name == name && each.State.Running != nil {
			return Container{Namespace: pod.Namespace, Pod: pod.Name, Name: name, UID: pod.UID, Run: each.RestartCount}, true
		}
	}
	return Container{}, false
}

// Exec runs a program in a container until it ends, or ctx does. The exit code of a program that failed is no error.
func (c *Cluster) Exec(ctx context.Context, in Container, command []string, t Terminal) (exitCode int, err error) {
	core, err := c.core()
	if err != nil {
		return 0, err
	}
	request := core.RESTClient().Post().Resource("pods").Namespace(in.Namespace).Name(in.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: in.Name, Command: command, Stdin: true, Stdout: true, TTY: true},
			scheme.ParameterCodec)
	return c.stream(ctx, request.URL(), t)
}

// Attach connects to the program of a container until it ends, or ctx does.
func (c *Cluster) Attach(ctx context.Context, to Container, t Terminal) (exitCode int, err error) {
	core, err := c.core()
	if err != nil {
		return 0, err
	}
	request := core.RESTClient().Post().Resource("pods").Namespace(to.Namespace).Name(to.Pod).SubResource("attach").
		VersionedParams(&corev1.PodAttachOptions{Container: to.Name, Stdin: true, Stdout: true, TTY: true},
			scheme.ParameterCodec)
	return c.stream(ctx, request.URL(), t)
}

// AddDebugContainer adds a debug container to the pod of a container, which sees the processes of that container, and
// waits until it runs. Kubernetes can not remove it again before the pod ends; it ends with its program, which gets its
// input once.
func (c *Cluster) AddDebugContainer(ctx context.Context, beside Container, image string, command []string) (Container,
	error) {
	core, err := c.core()
	if err != nil {
		return Container{}, err
	}
	pod, err := core.Pods(beside.Namespace).Get(ctx, beside.Pod, metav1.GetOptions{})
	if err != nil {
		return Container{}, Explain(err)
	}
	made := Container{Namespace: beside.Namespace, Pod: beside.Pod, UID: beside.UID,
		Name: strings.ReplaceAll(id.New("nuon-debug"), "_", "-")}
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{
		TargetContainerName: beside.Name,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: made.Name, Image: image, Command: command,
			Stdin: true, StdinOnce: true, TTY: true, TerminationMessagePolicy: corev1.TerminationMessageReadFile}})
	_, err = core.Pods(beside.Namespace).UpdateEphemeralContainers(ctx, pod.Name, pod, metav1.UpdateOptions{})
	if err != nil {
		return Container{}, fmt.Errorf("add a debug container to pod %s: %w", pod.Name, Explain(err))
	}
	return made, c.awaitDebugContainer(ctx, made)
}

// debugStart is how long a debug container may take to start, and debugPoll how often it is checked.
const debugStart, debugPoll = 2 * time.Minute, 500 * time.Millisecond

// awaitDebugContainer waits until a debug container runs.
func (c *Cluster) awaitDebugContainer(ctx context.Context, made Container) error {
	core, err := c.core()
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, debugStart)
	defer stop()
	reason := "it has not started"
	for {
		pod, err := core.Pods(made.Namespace).Get(ctx, made.Pod, metav1.GetOptions{})
		if err != nil && ctx.Err() == nil {
			return Explain(err)
		}
		if err == nil {
			for _, each := range pod.Status.EphemeralContainerStatuses {
				switch {
				case each.Name != made.Name:
				case each.State.Running != nil:
					return nil
				case each.State.Terminated != nil:
					return fmt.Errorf("the debug container of pod %s ended at once, with exit code %d: %s", made.Pod,
						each.State.Terminated.ExitCode, firstNonEmpty(each.State.Terminated.Message, each.State.Terminated.Reason))
				case each.State.Waiting != nil && each.State.Waiting.Reason != "":
					reason = firstNonEmpty(each.State.Waiting.Message, each.State.Waiting.Reason)
				}
			}
		}
		if !backoff.Pause(ctx, debugPoll) {
			return fmt.Errorf("the debug container of pod %s does not run: %s", made.Pod, reason)
		}
	}
}

// sizeQueue is the window of a Terminal for the client of Kubernetes.
type sizeQueue struct {
	ctx     context.Context //nolint:containedctx // the interface of the client has no other way to end a wait
	resized <-chan WindowSize
}

// Next returns the next size, and nil at the end.
func (q sizeQueue) Next() *remotecommand.TerminalSize {
	select {
	case size := <-q.resized:
		return &remotecommand.TerminalSize{Width: uint16(size.Columns), Height: uint16(size.Rows)} //nolint:gosec // at most 1000
	case <-q.ctx.Done():
		return nil
	}
}

// stream connects a terminal to a program, over a WebSocket or, with a server that has none, SPDY.
func (c *Cluster) stream(ctx context.Context, address *url.URL, t Terminal) (exitCode int, err error) {
	config := c.RESTConfig()
	older, err := remotecommand.NewSPDYExecutor(config, "POST", address)
	if err != nil {
		return 0, err
	}
	newer, err := remotecommand.NewWebSocketExecutor(config, "GET", address.String())
	if err != nil {
		return 0, err
	}
	both, err := remotecommand.NewFallbackExecutor(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err = both.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: t.In, Stdout: t.Out, Tty: true,
		TerminalSizeQueue: sizeQueue{ctx, t.Resized}})
	var exit utilexec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitStatus(), nil
	}
	return 0, Explain(err)
}
