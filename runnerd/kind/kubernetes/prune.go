package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// prune deletes the objects that are no longer desired, in the reverse order of applying,
// and waits until they are deleted.
func (c *change) prune(ctx context.Context) error {
	going := slices.DeleteFunc(slices.Clone(c.seen.removals), func(l *removal) bool { return !l.isDeleted() })
	order := groupByStage(going, func(l *removal) ref { return l.ref })
	slices.Reverse(order)
	for _, stage := range order {
		err := each(ctx, len(stage), func(ctx context.Context, i int) error {
			c.step("delete " + cluster.DisplayName(stage[i].ref))
			return c.remove(ctx, stage[i], metav1.DeletePropagationBackground)
		})
		if err != nil {
			return err
		}
		c.step("wait until they are gone")
		if err := c.waitUntilDeleted(ctx, stage); err != nil {
			return err
		}
		for _, l := range stage {
			c.env.Log.Info("deleted %s", cluster.DisplayName(l.ref))
		}
	}
	return nil
}

// remove deletes exactly the object that was surveyed, if it is still ours.
func (c *change) remove(ctx context.Context, l *removal, how metav1.DeletionPropagation) error {
	resource, err := c.resource(l.ref)
	if err != nil || resource == nil {
		return err
	}
	live, err := get(ctx, resource, l.ref)
	if err != nil || live == nil || live.GetUID() != l.live.GetUID() {
		return err
	}
	if c.isOwned(l.live) && !c.isOwned(live) || releaseOf(l.live) == "" && releaseOf(live) != "" {
		return fmt.Errorf("delete %s: it was taken from this component a moment ago; plan again", cluster.DisplayName(l.ref))
	}
	l.live = live
	uid := live.GetUID()
	err = resource.Delete(ctx, l.ref.Name, metav1.DeleteOptions{
		PropagationPolicy: &how, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", cluster.DisplayName(l.ref), cluster.Explain(err))
	}
	return nil
}

// waitUntilDeleted waits until objects are deleted. Otherwise the error names what blocks the
// deletion of the first one.
func (c *change) waitUntilDeleted(ctx context.Context, going []*removal) error {
	for _, l := range going {
		resource, err := c.resource(l.ref)
		if err != nil {
			return err
		}
		for resource != nil {
			live, err := get(ctx, resource, l.ref)
			if ctx.Err() == nil && err != nil {
				return err
			}
			if err == nil && (live == nil || live.GetUID() != l.live.GetUID()) {
				break
			}
			if live != nil {
				l.live = live
			}
			if err := sleep(ctx, pause); err != nil {
				return fmt.Errorf("%s is being deleted, and still there: %s: %w", cluster.DisplayName(l.ref),
					deletionBlocker(l.live)+"; plan again when it is gone", err)
			}
		}
	}
	return nil
}

// deletionBlocker returns what blocks the deletion of an object.
func deletionBlocker(live *unstructured.Unstructured) string {
	finalizers := live.GetFinalizers()
	if len(finalizers) == 0 {
		return "the cluster's controllers have not finished with it; check their logs"
	}
	return fmt.Sprintf("it waits for its finalizers %s; check what handles them, or remove them from the object if that "+
		"no longer exists",
		excerpt(strings.Join(finalizers, ", ")))
}
