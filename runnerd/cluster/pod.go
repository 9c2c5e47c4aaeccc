package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// maxPods bounds how many pods of one object are read.
const maxPods = 200

// podProblem is the problem of a pod.
type podProblem struct {
	pod       *corev1.Pod
	container string
	// reason is Kubernetes' own name for it, such as CrashLoopBackOff.
	reason, message string
	// lasting means that the problem does not disappear soon without a change.
	lasting bool
	// crashed means that the container ran before, so that the previous run's
	// log is the useful one.
	crashed bool
}

// describe returns the problem as one sentence.
func (p podProblem) describe() string {
	made := fmt.Sprintf("pod %s: %s", p.pod.Name, p.reason)
	if p.container != "" {
		made = fmt.Sprintf("pod %s, container %s: %s", p.pod.Name, p.container, p.reason)
	}
	if p.message != "" {
		made += ": " + p.message
	}
	return diff.EscapeText(truncate.Text(made, maxReason))
}

// core returns the typed client for pods, events and logs.
func (c *Cluster) core() (*typedcore.CoreV1Client, error) {
	return typedcore.NewForConfig(c.RESTConfig())
}

// podsOf returns the pods of an object of a built-in kind, found by its selector;
// none for other kinds.
func (c *Cluster) podsOf(ctx context.Context, object *unstructured.Unstructured) ([]corev1.Pod, error) {
	if object.GetKind() == "Pod" && object.GroupVersionKind().Group == "" {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err != nil {
			return nil, err
		}
		return []corev1.Pod{pod}, nil
	}
	selector := selectorOf(object)
	if selector == "" {
		return nil, nil
	}
	core, err := c.core()
	if err != nil {
		return nil, err
	}
	list, err := core.Pods(object.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: maxPods})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// selectorOf returns the selector of an object's pods, or "" for kinds without one.
func selectorOf(object *unstructured.Unstructured) string {
	switch object.GroupVersionKind().Group {
	case "apps", "batch":
	default:
		return ""
	}
	given, found, _ := unstructured.NestedMap(object.Object, "spec", "selector")
	if !found {
		return ""
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &selector); err != nil {
		return ""
	}
	made, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return ""
	}
	return made.String()
}

// worstProblem returns the problem of the pod in the worst condition, the newest one among equals.
// It returns false when all pods are ready.
func worstProblem(pods []corev1.Pod) (podProblem, bool) {
	var found []podProblem
	for i := range pods {
		if trouble, has := problemOf(&pods[i]); has {
			found = append(found, trouble)
		}
	}
	if len(found) == 0 {
		return podProblem{}, false
	}
	return slices.MinFunc(found, func(a, b podProblem) int {
		if a.lasting != b.lasting {
			if a.lasting {
				return -1
			}
			return 1
		}
		return b.pod.CreationTimestamp.Compare(a.pod.CreationTimestamp.Time)
	}), true
}

// problemOf returns the reason why a pod is not ready.
func problemOf(pod *corev1.Pod) (podProblem, bool) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded {
		return podProblem{}, false
	}
	for _, each := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if trouble, has := containerProblem(pod, each); has {
			return trouble, true
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return podProblem{pod: pod, reason: firstNonEmpty(pod.Status.Reason, "Failed"), message: pod.Status.Message,
			lasting: true, crashed: false}, true
	}
	ready := false
	for _, each := range pod.Status.Conditions {
		if each.Type == corev1.PodScheduled && each.Status == corev1.ConditionFalse {
			return podProblem{pod: pod, reason: firstNonEmpty(each.Reason, "not scheduled"), message: each.Message,
				lasting: each.Reason == corev1.PodReasonUnschedulable}, true
		}
		ready = ready || each.Type == corev1.PodReady && each.Status == corev1.ConditionTrue
	}
	if ready {
		return podProblem{}, false
	}
	return podProblem{pod: pod, container: notReady(pod), reason: "not ready"}, true
}

// containerProblem returns the reason why a container does not run.
func containerProblem(pod *corev1.Pod, each corev1.ContainerStatus) (podProblem, bool) {
	made := podProblem{pod: pod, container: each.Name}
	switch {
	case each.State.Waiting != nil:
		made.reason, made.message = each.State.Waiting.Reason, each.State.Waiting.Message
		if made.reason == "" || made.reason == "ContainerCreating" || made.reason == "PodInitializing" {
			return podProblem{}, false // still starting
		}
		made.lasting = true
		if last := each.LastTerminationState.Terminated; last != nil {
			made.crashed = true
			made.message = fmt.Sprintf("it ended with exit code %d and was started again %d times", last.ExitCode,
				each.RestartCount)
		}
		return made, true
	case each.State.Terminated != nil && each.State.Terminated.ExitCode != 0:
		made.reason = firstNonEmpty(each.State.Terminated.Reason, "Error")
		made.message = fmt.Sprintf("it ended with exit code %d", each.State.Terminated.ExitCode)
		made.lasting = true
		return made, true
	}
	return podProblem{}, false
}

// notReady returns the name of the first container that is not ready.
func notReady(pod *corev1.Pod) string {
	for _, each := range pod.Status.ContainerStatuses {
		if !each.Ready {
			return each.Name
		}
	}
	return ""
}

// withPods adds the problem of an object's pods to its condition, because that is what a person
// can act on. If the pods cannot be read, the condition stays as it is.
func (c *Cluster) withPods(ctx context.Context, made condition, object *unstructured.Unstructured) condition {
	if made.ready || object == nil {
		return made
	}
	for _, each := range conditionsOf(object) {
		if each.kind == "ReplicaFailure" && each.status == "True" { // a quota or an admission rule
			made = made.degraded(diff.EscapeText(truncate.Text(made.reason+"; "+each.message, maxReason)))
			return made
		}
	}
	pods, err := c.podsOf(ctx, object)
	if err != nil {
		c.log.Debug("the pods of %s: %v", DisplayName(made.ref), Explain(err))
		return made
	}
	trouble, has := worstProblem(pods)
	if !has {
		return made
	}
	made.word = trouble.reason
	// What a person can act on comes first.
	made.reason = trouble.describe() + " (" + made.reason + ")"
	if trouble.lasting {
		made.status = api.ObjectHealthStatusDegraded
	}
	return made
}
