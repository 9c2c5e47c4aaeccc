package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
)

// dryRunSet is the result of all dry runs of a change.
type dryRunSet struct {
	desired  []*dryRunResult
	removals []*removal
	// known is the set of objects that the component had before.
	known map[api.ObjectRef]bool
}

// removal is an object that the component had and that is no longer desired.
type removal struct {
	ref api.ObjectRef
	// live is nil if it is already deleted.
	live *unstructured.Unstructured
	// keepReason is the reason why it is not deleted; empty if it is.
	keepReason string
}

// isDeleted reports whether the object is to be deleted.
func (r *removal) isDeleted() bool { return r.live != nil && r.keepReason == "" }

// dryRunAll does dry runs for all objects with 8 workers. Definitions come first, because the server
// cannot predict which objects they will allow. A *deploy.RejectedError lists all rejections.
func (s *session) dryRunAll(ctx context.Context, objects []*desired, inventory []api.ObjectRef) (*dryRunSet, error) {
	in := newChangeContext(objects, inventory)
	gone := removedRefs(inventory, objects)
	made := &dryRunSet{desired: make([]*dryRunResult, len(objects)), removals: make([]*removal, len(gone)),
		known: in.inventory}
	against := make([]error, len(objects)+len(gone))
	var first, then []int
	for i := range against {
		if i < len(objects) && isDefinition(objects[i].Unstructured) {
			first = append(first, i)
		} else {
			then = append(then, i)
		}
	}
	for _, places := range [][]int{first, then} {
		err := each(ctx, len(places), func(ctx context.Context, n int) (err error) {
			i := places[n]
			if i < len(objects) {
				made.desired[i], err = s.dryRun(ctx, objects[i], in)
			} else {
				made.removals[i-len(objects)], err = s.dryRunRemoval(ctx, gone[i-len(objects)], in)
			}
			var refused *deploy.RejectedError
			if errors.As(err, &refused) {
				against[i], err = refused.Err, nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, i := range first {
			noteChanging(in, made.desired[i])
		}
	}
	if against = slices.DeleteFunc(against, func(err error) bool { return err == nil }); len(against) > 0 {
		return nil, &deploy.RejectedError{Err: joined(against)}
	}
	return made, nil
}

// noteChanging records the kind of a definition that is new or changes.
func noteChanging(in changeContext, a *dryRunResult) {
	if a == nil || a.live != nil && a.applied != nil && a.live.GetGeneration() == a.applied.GetGeneration() {
		return
	}
	for kind := range defined([]object{a.object}) {
		in.changingKinds[kind] = true
	}
}

// removedRefs returns the references of an inventory that are not among the objects,
// sorted and each once.
func removedRefs(inventory []api.ObjectRef, objects []*desired) []api.ObjectRef {
	skip := map[api.ObjectRef]bool{}
	for _, w := range objects {
		skip[identity(w.ref)] = true
	}
	var left []api.ObjectRef
	for _, ref := range inventory {
		if !skip[identity(ref)] {
			skip[identity(ref)] = true
			left = append(left, ref)
		}
	}
	slices.SortFunc(left, byName)
	return left
}

func byName(a, b api.ObjectRef) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name))
}

// dryRunRemoval reads an object that is no longer desired, and does a dry run of its
// deletion if it is ours.
func (s *session) dryRunRemoval(ctx context.Context, ref api.ObjectRef, in changeContext) (*removal, error) {
	ref, err := s.servedRef(ref)
	if err != nil {
		return nil, err
	}
	made := &removal{ref: ref}
	resource, err := s.resource(ref)
	if err != nil || resource == nil {
		return made, err
	}
	if made.live, err = get(ctx, resource, ref); err != nil || made.live == nil {
		return made, err
	}
	if !s.isOwned(made.live) {
		made.keepReason = "it no longer has a label of this component"
		if owner := made.live.GetLabels()[labelComponent]; owner != "" {
			made.keepReason = "it belongs to install component " + excerpt(owner) + " now"
		}
		return made, nil
	}
	if release := releaseOf(made.live); release != "" {
		made.keepReason = "it belongs to the Helm release " + excerpt(release) + " now"
		return made, nil
	}
	if what := in.needs(made.live); what != "" {
		return nil, &deploy.RejectedError{Err: fmt.Errorf("%s leaves the manifest, and %s, which it still holds, would go "+
			"with it; keep it, or take that out, too", cluster.DisplayName(ref), what)}
	}
	if made.live.GetDeletionTimestamp() != nil {
		return made, nil
	}
	err = resource.Delete(ctx, ref.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	var status apierrors.APIStatus
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return made, nil
	case errors.As(err, &status) && status.Status().Code < 500:
		return nil, &deploy.RejectedError{Err: fmt.Errorf("delete %s: %w", cluster.DisplayName(ref), cluster.Explain(err))}
	}
	return nil, fmt.Errorf("try to delete %s: %w", cluster.DisplayName(ref), cluster.Explain(err))
}

// releaseOf returns the Helm release that took an object over after our last apply,
// as "namespace/name", or "". Our labels stay on such an object, and Helm's annotations
// stay on one that we took from a release, so only the times in the managed fields
// show which came later.
func releaseOf(live *unstructured.Unstructured) string {
	release := live.GetAnnotations()[annotationRelease]
	if release == "" {
		return ""
	}
	var ours, theirs time.Time
	for _, entry := range live.GetManagedFields() {
		switch {
		case entry.Time == nil:
		case entry.Manager == cluster.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply:
			ours = entry.Time.Time
		case entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+annotationRelease+`"`)):
			theirs = entry.Time.Time
		}
	}
	if !theirs.After(ours) {
		return ""
	}
	return live.GetAnnotations()[annotationReleaseSpace] + "/" + release
}

// needs returns a desired object that would be deleted together with a namespace
// or a definition, or "".
func (w changeContext) needs(leaving *unstructured.Unstructured) string {
	kinds := defined([]object{{leaving, ""}})
	for _, ref := range w.wanted {
		if _, ours := kinds[kindOf(ref)]; ours || isNamespace(cluster.RefOf(leaving)) && ref.Namespace == leaving.GetName() {
			return cluster.DisplayName(ref)
		}
	}
	return ""
}
