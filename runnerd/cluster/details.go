package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

const (
	// detailsLimit bounds how long tell may take, and maxDetailed how many objects it reports.
	detailsLimit, maxDetailed = 15 * time.Second, 5
	// maxEvents bounds the events of an object, maxLogLines and maxLogBytes (in bytes)
	// the log of a container.
	maxEvents, maxLogLines, maxLogBytes = 5, 20, 16 << 10
)

// logDetails logs what a person would look up about objects that are not ready: the newest
// warning events of the object, of its newest ReplicaSet and of its worst pod, and the last
// log lines of that pod.
func (c *Cluster) logDetails(ctx context.Context, unready []condition) {
	for i, each := range unready {
		if i == maxDetailed {
			c.log.Warn("%d more objects are not ready", len(unready)-i)
			return
		}
		c.logObjectDetails(ctx, each)
	}
}

func (c *Cluster) logObjectDetails(ctx context.Context, what condition) {
	c.log.Warn("%s is not ready: %s", DisplayName(what.ref), what.reason)
	object, err := c.get(ctx, what.ref)
	if err != nil || object == nil {
		return
	}
	uids := []types.UID{object.GetUID()}
	if made := c.newestReplicaSet(ctx, object); made != nil {
		uids = append(uids, made.GetUID())
	}
	pods, err := c.podsOf(ctx, object)
	if err != nil {
		c.log.Debug("the pods of %s: %v", DisplayName(what.ref), Explain(err))
	}
	trouble, has := worstProblem(pods)
	if has && trouble.pod.UID != object.GetUID() {
		uids = append(uids, trouble.pod.UID)
	}
	c.logEvents(ctx, what.ref.Namespace, uids)
	if has {
		c.logContainerLog(ctx, trouble)
	}
}

// newestReplicaSet returns the ReplicaSet of a Deployment's last rollout, whose events contain
// the reason when its pods are rejected.
func (c *Cluster) newestReplicaSet(ctx context.Context, object *unstructured.Unstructured) *unstructured.Unstructured {
	selector := selectorOf(object)
	if object.GetKind() != "Deployment" || selector == "" {
		return nil
	}
	resource, err := c.Resource(api.ObjectRef{Group: "apps", Version: "v1", Kind: "ReplicaSet",
		Namespace: object.GetNamespace()})
	if err != nil {
		return nil
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: maxPods})
	if err != nil || len(list.Items) == 0 {
		return nil
	}
	newest := slices.MaxFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	return &newest
}

// logEvents logs the newest warnings about objects.
func (c *Cluster) logEvents(ctx context.Context, namespace string, uids []types.UID) {
	core, err := c.core()
	if err != nil {
		return
	}
	if namespace == "" {
		namespace = metav1.NamespaceDefault // events of cluster-scoped objects are in this namespace
	}
	for _, uid := range uids {
		list, err := core.Events(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.AndSelectors(fields.OneTermEqualSelector("involvedObject.uid", string(uid)),
				fields.OneTermEqualSelector("type", corev1.EventTypeWarning)).String(),
			Limit: 100,
		})
		if err != nil {
			c.log.Debug("events: %v", Explain(err))
			return
		}
		slices.SortFunc(list.Items, func(a, b corev1.Event) int { return eventTime(b).Compare(eventTime(a)) })
		for _, event := range list.Items[:min(len(list.Items), maxEvents)] {
			c.log.Warn("  event of %s %s: %s: %s%s", event.InvolvedObject.Kind, event.InvolvedObject.Name,
				diff.EscapeText(event.Reason), diff.EscapeText(truncate.Text(event.Message, 500)), times(event))
		}
	}
}

func eventTime(event corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

func times(event corev1.Event) string {
	if event.Count > 1 {
		return fmt.Sprintf(" (%d times)", event.Count)
	}
	return ""
}

// logContainerLog logs the last lines of the failing container, or of its previous run when it crashed.
func (c *Cluster) logContainerLog(ctx context.Context, trouble podProblem) {
	core, err := c.core()
	if err != nil {
		return
	}
	container := trouble.container
	if container == "" && len(trouble.pod.Spec.Containers) > 0 {
		container = trouble.pod.Spec.Containers[0].Name
	}
	lines, most := int64(maxLogLines), int64(maxLogBytes)
	options := &corev1.PodLogOptions{Container: container, TailLines: &lines, LimitBytes: &most, Previous: trouble.crashed}
	text, err := readLog(core.Pods(trouble.pod.Namespace).GetLogs(trouble.pod.Name, options).Stream(ctx))
	if err != nil {
		// A container that never ran has no log.
		c.log.Debug("the log of pod %s: %v", trouble.pod.Name, Explain(err))
		return
	}
	if len(text) == 0 {
		return
	}
	c.log.Warn("  last lines of pod %s, container %s:", trouble.pod.Name, container)
	for line := range bytes.Lines(text) {
		c.log.Warn("    %s", diff.EscapeText(string(bytes.TrimRight(line, "\r\n"))))
	}
}

func readLog(stream io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	return io.ReadAll(io.LimitReader(stream, maxLogBytes))
}
