package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// change is the work of an apply: it applies objects in stages, and then deletes those
// that are no longer desired.
type change struct {
	*session
	seen   *survey
	before func(what string)
}

func (c *change) step(what string) {
	if c.before != nil {
		c.before(what)
	}
}

// run makes the change. If it fails halfway, the changes so far stay, and the next plan
// takes them into account.
func (c *change) run(ctx context.Context) error {
	for _, stage := range stages(c.seen.wanted, func(a *asked) ref { return a.ref }) {
		err := each(ctx, len(stage), func(ctx context.Context, i int) error { return c.apply(ctx, stage[i]) })
		if err != nil {
			return err
		}
		if isDefinition(stage[0].Unstructured) {
			c.step("wait for kinds")
			if err := c.established(ctx, stage); err != nil {
				return err
			}
			c.cluster.Invalidate()
		}
	}
	return c.prune(ctx)
}

// apply applies one object, unless that would change nothing, not even the
// managers of its fields.
func (c *change) apply(ctx context.Context, a *asked) error {
	if a.live != nil && a.answer != nil && equality.Semantic.DeepEqual(a.live.Object, a.answer.Object) {
		return nil
	}
	if a.recreate != "" {
		c.step("delete " + cluster.DisplayName(a.ref) + " to make it anew")
		if err := c.remove(ctx, &leaving{ref: a.ref, live: a.live}, metav1.DeletePropagationForeground); err != nil {
			return err
		}
		if err := c.gone(ctx, []*leaving{{ref: a.ref, live: a.live}}); err != nil {
			return err
		}
	}
	c.step("apply " + cluster.DisplayName(a.ref))
	if err := c.sendPatiently(ctx, a); err != nil {
		return err
	}
	c.env.Log.Info("applied %s", cluster.DisplayName(a.ref))
	return nil
}

const (
	// patience is how long a failed apply is retried, which is safe because it states
	// the complete desired object.
	patience = 30 * time.Second
	// pause is the time between two polls or tries.
	pause = 500 * time.Millisecond
)

// sendPatiently retries while the server has an internal problem, or does not know an object
// that was just created.
func (c *change) sendPatiently(ctx context.Context, a *asked) error {
	end := time.Now().Add(patience)
	for {
		err := c.sendOnce(ctx, a)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(end) || !mayPass(err, a.unchecked != "") {
			if conflicts := conflictsOf(err); len(conflicts) > 0 {
				err = conflictWords(conflicts)
			}
			return fmt.Errorf("apply %s: %w", cluster.DisplayName(a.ref), cluster.Explain(err))
		}
		c.env.Log.Debug("apply %s, trying again: %v", cluster.DisplayName(a.ref), cluster.Explain(err))
		if err := rest(ctx, pause); err != nil {
			return fmt.Errorf("apply %s: %w", cluster.DisplayName(a.ref), err)
		}
	}
}

func (c *change) sendOnce(ctx context.Context, a *asked) error {
	resource, err := c.resource(a.ref)
	if err != nil {
		return err
	}
	if resource == nil {
		c.cluster.Invalidate()
		return &unknownKind{a.ref}
	}
	_, err = send(ctx, resource, a.wanted, false, a.forced())
	return err
}

// mayPass reports whether a retry may help. fresh means that a prerequisite of the
// object was just created.
func mayPass(err error, fresh bool) bool {
	var status apierrors.APIStatus
	var unknown *unknownKind
	switch {
	case errors.As(err, &unknown):
		return fresh
	case !errors.As(err, &status):
		return true // the server did not respond
	case untyped(err):
		return fresh // the server may still use the old schema of the kind
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return fresh
	}
	return status.Status().Code >= 500 || status.Status().Code == 429
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-wait.C:
		return nil
	}
}

// established waits until the server serves the kinds of the definitions.
func (c *change) established(ctx context.Context, definitions []*asked) error {
	for _, a := range definitions {
		resource, err := c.resource(a.ref)
		if err != nil {
			return err
		}
		for {
			why, err := notServed(ctx, resource, a)
			if err != nil {
				return err
			}
			if why == "" {
				break
			}
			if err := rest(ctx, pause/2); err != nil {
				return fmt.Errorf("%s is not served: %s; see to the cluster's API server, and plan again: %w",
					cluster.DisplayName(a.ref), why, err)
			}
		}
	}
	return nil
}

// notServed returns the reason why the server does not serve a definition's
// kind, or "" if it does.
func notServed(ctx context.Context, resource dynamic.ResourceInterface, a *asked) (string, error) {
	live, err := get(ctx, resource, a.ref)
	if err != nil {
		return "", err
	}
	if live == nil {
		return "", fmt.Errorf("%s is gone; others deleted it: plan again", cluster.DisplayName(a.ref))
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	why := "the server says nothing about it yet"
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		message, _ := condition["message"].(string)
		switch {
		case condition["type"] == "NamesAccepted" && condition["status"] == "False":
			return "", fmt.Errorf("%s: the server does not take its names: %s; rename the kind, or remove the definition that has them", cluster.DisplayName(a.ref), diff.EscapeText(short(message)))
		case condition["type"] == "Established" && condition["status"] == "True":
			return "", nil
		case condition["type"] == "Established":
			why = diff.EscapeText(short(message))
		}
	}
	return why, nil
}
