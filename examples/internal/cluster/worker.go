package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// soon is the interval of retries.
const soon = 100 * time.Millisecond

// kubeletContainer is the interface of pretended, process and lost.
type kubeletContainer interface {
	look(now time.Time) view
}

// worker manages one pod through its life, and is the only writer of its status. It waits for
// changes of the pod, for the end of its processes, and for the next change of a simulated
// container.
type worker struct {
	kubelet         *kubelet
	namespace, name string
	uid             types.UID
	wake            chan struct{} // capacity 1

	begun      time.Time
	taken      bool // the pod was running before this kubelet started
	containers map[string]kubeletContainer
	sandbox    *sandbox           // of real containers; nil if they are pretended
	told       map[string]warning // the last warning about each container
	removed    bool               // the API server has deleted the pod on our request
}

func newWorker(k *kubelet, pod *corev1.Pod) *worker {
	return &worker{
		kubelet: k, namespace: pod.Namespace, name: pod.Name, uid: pod.UID, wake: make(chan struct{}, 1),
		containers: map[string]kubeletContainer{}, told: map[string]warning{},
	}
}

// rouse wakes the worker.
func (w *worker) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run works until the pod is gone or ctx ends, and leaves no process behind.
func (w *worker) run(ctx context.Context) {
	defer w.killAll()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		pod := w.kubelet.pod(w.namespace, w.name, w.uid)
		if pod == nil {
			w.killAll()
			w.kubelet.logs.remove(w.uid)
			if w.sandbox != nil {
				w.sandbox.remove()
			}
			return
		}
		next := w.step(ctx, pod)
		timer.Stop()
		if next > 0 {
			timer.Reset(next)
		}
	}
}

// step does what the pod needs now, and returns the time until the next step without a wake-up;
// zero for none.
func (w *worker) step(ctx context.Context, pod *corev1.Pod) time.Duration {
	now := time.Now()
	if w.begun.IsZero() && !w.begin(ctx, pod, now) {
		return soon
	}
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil {
		return w.end(ctx, pod, over, now)
	}
	if over {
		w.terminate() // what does not count for the end of the pod, such as sidecars
		return 0
	}
	init, main, ephemeral := w.look(ctx, pod, now)
	w.warn(pod, slices.Concat(init, main, ephemeral))
	if !w.save(ctx, pod, podStatus(pod, init, main, ephemeral, w.begun, now)) {
		return soon
	}
	return earliest(slices.Concat(init, main, ephemeral))
}

// begin records the start of the pod, and whether its containers are real. For a pod that ran before this kubelet,
// simulated containers continue, those of images are restarted if the pod allows it, and other processes are lost. It
// returns false if it must be called again.
func (w *worker) begin(ctx context.Context, pod *corev1.Pod, now time.Time) bool {
	real, err := w.kubelet.marked(ctx, pod)
	if err != nil {
		return false
	}
	if real {
		w.sandbox = newSandbox(w.kubelet, pod)
	}
	w.begun = now
	if pod.Status.StartTime != nil {
		w.begun, w.taken = pod.Status.StartTime.Time, true
	}
	return true
}

// look returns the views of all containers, and starts those whose turn it is.
func (w *worker) look(ctx context.Context, pod *corev1.Pod, now time.Time) (init, main, ephemeral []view) {
	may := true
	for i := range pod.Spec.InitContainers {
		c, v := &pod.Spec.InitContainers[i], view{state: waiting("PodInitializing", "")}
		if may {
			v = w.container(ctx, pod, c, endingOf(pod, c, true), "", now).look(now)
			may = passed(c, v)
		}
		init = append(init, v)
	}
	for i := range pod.Spec.Containers {
		c, v := &pod.Spec.Containers[i], view{state: waiting("PodInitializing", "")}
		if may {
			v = w.container(ctx, pod, c, endingOf(pod, c, false), "", now).look(now)
		}
		main = append(main, v)
	}
	for i, c := range ephemeralContainers(pod) {
		target := pod.Spec.EphemeralContainers[i].TargetContainerName
		made := w.container(ctx, pod, &c, ending{ends: true, after: time.Second}, target, now)
		ephemeral = append(ephemeral, made.look(now))
	}
	return init, main, ephemeral
}

// endingOf returns how a simulated container ends, and whether a container, simulated or not,
// restarts.
func endingOf(pod *corev1.Pod, c *corev1.Container, init bool) ending {
	again := pod.Spec.RestartPolicy != corev1.RestartPolicyNever
	switch {
	case init && isSidecar(c):
		return ending{again: true}
	case init:
		return ending{ends: true, again: again}
	case pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return ending{again: true}
	}
	return ending{ends: true, after: time.Second, again: again}
}

// container returns the container with this name, and starts it if necessary. target is the container whose processes
// it sees.
func (w *worker) container(ctx context.Context, pod *corev1.Pod, c *corev1.Container, e ending, target string,
	now time.Time) kubeletContainer {
	if there := w.containers[c.Name]; there != nil {
		return there
	}
	var made kubeletContainer
	before := (*corev1.ContainerStatus)(nil)
	if w.taken {
		before = statusOf(pod, c.Name)
	}
	switch {
	case w.sandbox != nil && before != nil && (!e.again || before.State.Terminated != nil):
		made = lostContainer(pod, c, now)
	case w.sandbox != nil:
		made = startProcess(ctx, w, pod, c, e, &contained{sandbox: w.sandbox, target: target}, before)
	case !runsForReal(pod, c):
		begun := now
		if w.taken {
			begun = w.begun
		}
		made = &pretended{image: c.Image, ending: e, begun: begun}
	case w.taken:
		made = lostContainer(pod, c, now)
	default:
		made = startProcess(ctx, w, pod, c, e, hostProcess{}, nil)
	}
	w.containers[c.Name] = made
	return made
}

// runsForReal reports whether a container runs as a process: one of a Job that has a command and
// requests no failure.
func runsForReal(pod *corev1.Pod, c *corev1.Container) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job" && owner.APIVersion == batchv1.SchemeGroupVersion.String() &&
		len(c.Command) > 0 && troubleOf(c.Image) == trouble{}
}

// lost is a container whose process ended with an earlier kubelet.
type lost view

func (l lost) look(time.Time) view { return view(l) }

// lostContainer returns the final state that the earlier kubelet recorded, otherwise that of a
// killed container.
func lostContainer(pod *corev1.Pod, c *corev1.Container, now time.Time) kubeletContainer {
	if s := statusOf(pod, c.Name); s != nil && s.State.Terminated != nil {
		return lost{state: s.State, last: s.LastTerminationState, restarts: s.RestartCount}
	}
	return lost{state: lostState(now)}
}

// lostState returns the last state of a container that ended with the cluster.
func lostState(now time.Time) corev1.ContainerState {
	killed := terminated(now, now, 137)
	killed.Terminated.Reason, killed.Terminated.Message = "ContainerStatusUnknown", "the cluster was stopped while it ran"
	return killed
}

// end stops the processes of a deleted pod, kills them after the grace period, and then deletes the
// pod from the API server. over reports that the pod had already ended.
func (w *worker) end(ctx context.Context, pod *corev1.Pod, over bool, now time.Time) time.Duration {
	if left := pod.DeletionTimestamp.Sub(now); w.alive() && left > 0 {
		w.terminate()
		return left
	}
	w.killAll()
	if w.removed {
		return 0
	}
	if !over && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		init, main := w.ended(pod.Spec.InitContainers, now), w.ended(pod.Spec.Containers, now)
		ephemeral := w.ended(ephemeralContainers(pod), now)
		if !w.save(ctx, pod, podStatus(pod, init, main, ephemeral, w.begun, now)) {
			return soon
		}
	}
	err := w.kubelet.client.CoreV1().Pods(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(w.uid)),
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return soon
	}
	w.removed = true
	return 0
}

// ended returns the final views of containers; those that had not ended count as killed.
func (w *worker) ended(specs []corev1.Container, now time.Time) []view {
	var all []view
	for i := range specs {
		v := view{state: terminated(now, now, 137)}
		if c := w.containers[specs[i].Name]; c != nil {
			if shown := c.look(now); shown.ended() {
				v = shown
			}
		}
		all = append(all, v)
	}
	return all
}

// warn creates events for new warnings.
func (w *worker) warn(pod *corev1.Pod, views []view) {
	specs := append(append([]corev1.Container(nil), pod.Spec.InitContainers...), pod.Spec.Containers...)
	specs = append(specs, ephemeralContainers(pod)...)
	for i, v := range views {
		id := fmt.Sprintf("%s/%d", specs[i].Name, v.restarts)
		if v.warning.reason != "" && w.told[id] != v.warning {
			w.told[id] = v.warning
			w.kubelet.events.Event(pod, corev1.EventTypeWarning, v.warning.reason, v.warning.message)
		}
	}
}

// save writes a changed status. It returns false if the status must be computed again.
func (w *worker) save(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) bool {
	if equality.Semantic.DeepEqual(roundTimes(pod.Status), roundTimes(status)) {
		return true
	}
	changed := pod.DeepCopy()
	changed.Status = status
	_, err := w.kubelet.client.CoreV1().Pods(w.namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	switch {
	case err == nil, apierrors.IsNotFound(err), ctx.Err() != nil:
		return true
	case !apierrors.IsConflict(err):
		fmt.Fprintf(os.Stderr, "cluster: status of the pod %s/%s: %v\n", w.namespace, w.name, err)
	}
	return false
}

// roundTimes rounds times to the precision of the API server, so that written and read statuses are
// equal.
func roundTimes(status corev1.PodStatus) *corev1.PodStatus {
	s := status.DeepCopy()
	for _, all := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range all {
			for _, state := range []*corev1.ContainerState{&all[i].State, &all[i].LastTerminationState} {
				if r := state.Running; r != nil {
					r.StartedAt = r.StartedAt.Rfc3339Copy()
				}
				if t := state.Terminated; t != nil {
					t.StartedAt, t.FinishedAt = t.StartedAt.Rfc3339Copy(), t.FinishedAt.Rfc3339Copy()
				}
			}
		}
	}
	for i := range s.Conditions {
		s.Conditions[i].LastTransitionTime = s.Conditions[i].LastTransitionTime.Rfc3339Copy()
	}
	return s
}

func earliest(views []view) time.Duration {
	first := time.Duration(0)
	for _, v := range views {
		if v.next > 0 && (first == 0 || v.next < first) {
			first = v.next
		}
	}
	return first
}

// processes returns the containers that run as processes.
func (w *worker) processes() []*process {
	var all []*process
	for _, c := range w.containers {
		if p, is := c.(*process); is {
			all = append(all, p)
		}
	}
	return all
}

func (w *worker) alive() bool {
	for _, p := range w.processes() {
		select {
		case <-p.done:
		default:
			return true
		}
	}
	return false
}

// terminate stops the processes; their ends wake the worker.
func (w *worker) terminate() {
	for _, p := range w.processes() {
		p.terminate()
	}
}

// killAll kills the processes and waits for them.
func (w *worker) killAll() {
	for _, p := range w.processes() {
		p.kill()
	}
	for _, p := range w.processes() {
		<-p.done
	}
}
