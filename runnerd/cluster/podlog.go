package cluster

import (
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Container is one run of a container of a pod.
type Container struct {
	Namespace, Pod, Name string
	UID                  types.UID
	// Run counts the restarts of the container.
	Run int32
}

// LogQuery selects lines of a container's log.
type LogQuery struct {
	// SinceSeconds is the maximum age of a line; zero for any.
	SinceSeconds int64
	// Tail is the number of last lines; negative for all.
	Tail int64
	// LimitBytes bounds what the server sends.
	LimitBytes int64
	// Follow waits for new lines. Previous selects the run before this one.
	Follow, Previous bool
}

// Containers returns the containers of the pods that belong to objects: those that an object, or what it made,
// controls. A selector alone makes no pod an object's own. name selects the containers of that name; empty for all.
// The result is sorted by namespace, pod and container.
func (c *Cluster) Containers(ctx context.Context, refs []api.ObjectRef, name string) ([]Container, error) {
	objects, err := c.Objects(ctx, refs)
	if err != nil {
		return nil, err
	}
	var made []Container
	for _, object := range objects {
		pods, err := c.ownPods(ctx, object)
		if err != nil {
			return nil, fmt.Errorf("the pods of %s: %w", DisplayName(RefOf(object)), Explain(err))
		}
		for i := range pods {
			made = append(made, containersOf(&pods[i], name)...)
		}
	}
	slices.SortFunc(made, func(a, b Container) int {
		return slices.Compare([]string{a.Namespace, a.Pod, a.Name}, []string{b.Namespace, b.Pod, b.Name})
	})
	return slices.Compact(made), nil
}

// containersOf returns the containers of a pod that have started.
func containersOf(pod *corev1.Pod, name string) []Container {
	var made []Container
	for _, each := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if name != "" && each.Name != name || each.State.Waiting != nil && each.LastTerminationState.Terminated == nil {
			continue
		}
		made = append(made, Container{Namespace: pod.Namespace, Pod: pod.Name, Name: each.Name, UID: pod.UID,
			Run: each.RestartCount})
	}
	return made
}

// ownPods returns the pods that an object controls, directly or through its ReplicaSets or Jobs.
func (c *Cluster) ownPods(ctx context.Context, object *unstructured.Unstructured) ([]corev1.Pod, error) {
	if object.GetKind() == "CronJob" && object.GroupVersionKind().Group == "batch" {
		return c.podsOfCronJob(ctx, object)
	}
	pods, err := c.podsOf(ctx, object)
	if err != nil || object.GetKind() == "Pod" {
		return pods, err
	}
	owners := []types.UID{object.GetUID()}
	if object.GetKind() == "Deployment" {
		sets, err := c.controlled(ctx, object, api.ObjectRef{Group: "apps", Version: "v1", Kind: "ReplicaSet"})
		if err != nil {
			return nil, err
		}
		for i := range sets {
			owners = append(owners, sets[i].GetUID())
		}
	}
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOf(&pod)
		return owner == nil || !slices.Contains(owners, owner.UID)
	}), nil
}

// podsOfCronJob returns the pods of a CronJob's Jobs.
func (c *Cluster) podsOfCronJob(ctx context.Context, object *unstructured.Unstructured) ([]corev1.Pod, error) {
	runs, err := c.controlled(ctx, object, api.ObjectRef{Group: "batch", Version: "v1", Kind: "Job"})
	if err != nil {
		return nil, err
	}
	var all []corev1.Pod
	for i := range runs {
		pods, err := c.ownPods(ctx, &runs[i])
		if err != nil {
			return nil, err
		}
		all = append(all, pods...)
	}
	return all, nil
}

// controlled returns the objects of a kind that an object controls.
func (c *Cluster) controlled(ctx context.Context, object *unstructured.Unstructured,
	kind api.ObjectRef) ([]unstructured.Unstructured, error) {
	kind.Namespace = object.GetNamespace()
	resource, err := c.Resource(kind)
	if err != nil {
		return nil, err
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: selectorOf(object)})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(each unstructured.Unstructured) bool {
		owner := metav1.GetControllerOf(&each)
		return owner == nil || owner.UID != object.GetUID()
	}), nil
}

// OpenLog returns the log of a container. The caller closes it; the end of ctx ends it.
func (c *Cluster) OpenLog(ctx context.Context, of Container, query LogQuery) (io.ReadCloser, error) {
	core, err := c.core()
	if err != nil {
		return nil, err
	}
	options := &corev1.PodLogOptions{Container: of.Name, Follow: query.Follow, Previous: query.Previous,
		LimitBytes: &query.LimitBytes}
	if query.SinceSeconds > 0 {
		options.SinceSeconds = &query.SinceSeconds
	}
	if query.Tail >= 0 {
		options.TailLines = &query.Tail
	}
	stream, err := core.Pods(of.Namespace).GetLogs(of.Pod, options).Stream(ctx)
	if err != nil {
		return nil, Explain(err)
	}
	return stream, nil
}
