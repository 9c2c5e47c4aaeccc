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

	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// change is the work of an apply: it applies objects in stages, and then deletes those
// that are no longer desired.
type change struct {
	*session
	seen   *dryRunSet
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
	for _, stage := range groupByStage(c.seen.desired, func(a *dryRunResult) ref { return a.ref }) {
		err := each(ctx, len(stage), func(ctx context.Context, i int) error { return c.apply(ctx, stage[i]) })
		if err != nil {
			return err
		}
		if isDefinition(stage[0].Unstructured) {
			c.step("wait for kinds")
			if err := c.waitEstablished(ctx, stage); err != nil {
				return err
			}
			c.cluster.Invalidate()
		}
	}
	return c.prune(ctx)
}

// apply applies one object, unless that would change nothing, not even the
// managers of its fields.
func (c *change) apply(ctx context.Context, a *dryRunResult) error {
	if a.live != nil && a.applied != nil && equality.Semantic.DeepEqual(a.live.Object, a.applied.Object) {
		return nil
	}
	if a.recreate != "" {
		c.step("delete " + cluster.DisplayName(a.ref) + " to create it again")
		if err := c.remove(ctx, &removal{ref: a.ref, live: a.live}, metav1.DeletePropagationForeground); err != nil {
			return err
		}
		if err := c.waitUntilDeleted(ctx, []*removal{{ref: a.ref, live: a.live}}); err != nil {
			return err
		}
	}
	c.step("apply " + cluster.DisplayName(a.ref))
	if err := c.sendWithRetry(ctx, a); err != nil {
		return err
	}
	c.env.Log.Info("applied %s", cluster.DisplayName(a.ref))
	return nil
}

const (
	// retryFor is how long a failed apply is retried, which is safe because it states
	// the complete desired object.
	retryFor = 30 * time.Second
	// pause is the time between two polls or tries.
	pause = 500 * time.Millisecond
)

// sendWithRetry retries while the server has an internal problem, or does not know an object
// that was just created.
func (c *change) sendWithRetry(ctx context.Context, a *dryRunResult) error {
	end := time.Now().Add(retryFor)
	for {
		err := c.sendOnce(ctx, a)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(end) || !mayRetry(err, a.unchecked != "") {
			if conflicts := conflictsOf(err); len(conflicts) > 0 {
				err = conflictError(conflicts)
			}
			return fmt.Errorf("apply %s: %w", cluster.DisplayName(a.ref), cluster.Explain(err))
		}
		c.env.Log.Debug("apply %s, trying again: %v", cluster.DisplayName(a.ref), cluster.Explain(err))
		if err := sleep(ctx, pause); err != nil {
			return fmt.Errorf("apply %s: %w", cluster.DisplayName(a.ref), err)
		}
	}
}

func (c *change) sendOnce(ctx context.Context, a *dryRunResult) error {
	resource, err := c.resource(a.ref)
	if err != nil {
		return err
	}
	if resource == nil {
		c.cluster.Invalidate()
		return &unknownKind{a.ref}
	}
	_, err = send(ctx, resource, a.desired, false, a.forcesConflicts())
	return err
}

// mayRetry reports whether a retry may help. fresh means that a prerequisite of the
// object was just created.
func mayRetry(err error, fresh bool) bool {
	var status apierrors.APIStatus
	var unknown *unknownKind
	switch {
	case errors.As(err, &unknown):
		return fresh
	case !errors.As(err, &status):
		return true // the server did not respond
	case isUntyped(err):
		return fresh // the server may still use the old schema of the kind
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return fresh
	}
	return status.Status().Code >= 500 || status.Status().Code == 429
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-wait.C:
		return nil
	}
}

// waitEstablished waits until the server serves the kinds of the definitions.
func (c *change) waitEstablished(ctx context.Context, definitions []*dryRunResult) error {
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
			if err := sleep(ctx, pause/2); err != nil {
				return fmt.Errorf("%s is not served: %s; check the cluster's API server, and plan again: %w",
					cluster.DisplayName(a.ref), why, err)
			}
		}
	}
	return nil
}

// notServed returns the reason why the server does not serve a definition's
// kind, or "" if it does.
func notServed(ctx context.Context, resource dynamic.ResourceInterface, a *dryRunResult) (string, error) {
	live, err := get(ctx, resource, a.ref)
	if err != nil {
		return "", err
	}
	if live == nil {
		return "", fmt.Errorf("%s was deleted by someone else; plan again", cluster.DisplayName(a.ref))
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	why := "the server says nothing about it yet"
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		message, _ := condition["message"].(string)
		switch {
		case condition["type"] == "NamesAccepted" && condition["status"] == "False":
			return "", fmt.Errorf("%s: the server does not take its names: %s; rename the kind, or remove the definition "+
				"that has them", cluster.DisplayName(a.ref), excerpt(message))
		case condition["type"] == "Established" && condition["status"] == "True":
			return "", nil
		case condition["type"] == "Established":
			why = excerpt(message)
		}
	}
	return why, nil
}
