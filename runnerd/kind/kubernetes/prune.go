package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// prune deletes the objects that are no longer desired, in the reverse order of applying,
// and waits until they are deleted.
func (c *change) prune(ctx context.Context) error {
	going := slices.DeleteFunc(slices.Clone(c.seen.leaving), func(l *leaving) bool { return !l.goes() })
	order := stages(going, func(l *leaving) ref { return l.ref })
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
		if err := c.gone(ctx, stage); err != nil {
			return err
		}
		for _, l := range stage {
			c.env.Log.Info("deleted %s", cluster.DisplayName(l.ref))
		}
	}
	return nil
}

// remove deletes exactly the object that was surveyed, if it is still ours.
func (c *change) remove(ctx context.Context, l *leaving, how metav1.DeletionPropagation) error {
	resource, err := c.resource(l.ref)
	if err != nil || resource == nil {
		return err
	}
	live, err := get(ctx, resource, l.ref)
	if err != nil || live == nil || live.GetUID() != l.live.GetUID() {
		return err
	}
	if c.ours(l.live) && !c.ours(live) || releaseOf(l.live) == "" && releaseOf(live) != "" {
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

// gone waits until objects are deleted. Otherwise the error names what blocks the
// deletion of the first one.
func (c *change) gone(ctx context.Context, going []*leaving) error {
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
			if err := rest(ctx, pause); err != nil {
				return fmt.Errorf("%s is being deleted, and still there: %s: %w", cluster.DisplayName(l.ref),
					held(l.live)+"; plan again when it is gone", err)
			}
		}
	}
	return nil
}

// held returns what blocks the deletion of an object.
func held(live *unstructured.Unstructured) string {
	finalizers := live.GetFinalizers()
	if len(finalizers) == 0 {
		return "the cluster's controllers are not done with it; look at their logs"
	}
	return fmt.Sprintf("it waits for its finalizers %s; see to what handles them, or take them off the object if that is gone for ever",
		diff.EscapeText(short(strings.Join(finalizers, ", "))))
}
