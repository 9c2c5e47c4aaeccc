package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
)

// dryRunResult is the server's response for a desired object.
type dryRunResult struct {
	*desired
	// live is the live object; nil if it does not exist.
	live *unstructured.Unstructured
	// applied is the object after a dry-run apply. again is the result of a second dry
	// run, for a new object.
	applied, appliedAgain *unstructured.Unstructured
	// unchecked is the reason why there was no dry run, recreate the reason why the object must
	// be recreated, and takenFrom its owner until now.
	unchecked, recreate, takenFrom string
	conflicts                      []conflict
}

// isOwned reports whether the object has the component's label.
func (s *session) isOwned(live *unstructured.Unstructured) bool {
	return live != nil && live.GetLabels()[labelComponent] == s.deploy.InstallComponent
}

// reject returns the error with which the server, or the owner of an existing
// object, rejects an object.
func reject(w *desired, err error) error {
	return &deploy.RejectedError{Err: fmt.Errorf("%s: %s: %w", w.place, cluster.DisplayName(w.ref), err)}
}

// changeContext is the context of an object in the whole change.
type changeContext struct {
	// namespaces are the names of the namespaces in the manifest.
	namespaces map[string]bool
	// changingKinds are the kinds whose definition is new or changes. It is complete after
	// the definitions have been checked.
	changingKinds map[api.ObjectRef]bool
	// inventory is the set of objects that the component had before, and wanted the
	// list that it will have.
	inventory map[api.ObjectRef]bool
	wanted    []api.ObjectRef
}

func newChangeContext(objects []*desired, inventory []api.ObjectRef) changeContext {
	made := changeContext{namespaces: map[string]bool{}, changingKinds: map[api.ObjectRef]bool{},
		inventory: map[api.ObjectRef]bool{}}
	for _, w := range objects {
		if isNamespace(w.ref) {
			made.namespaces[w.ref.Name] = true
		}
	}
	made.wanted = refs(objects)
	for _, ref := range inventory {
		made.inventory[identity(ref)] = true
	}
	return made
}

// kindOf returns only the kind of an object.
func kindOf(ref api.ObjectRef) api.ObjectRef { return api.ObjectRef{Group: ref.Group, Kind: ref.Kind} }

// dryRun determines what an apply would make of one object, and changes nothing.
func (s *session) dryRun(ctx context.Context, w *desired, in changeContext) (*dryRunResult, error) {
	made := &dryRunResult{desired: w}
	resource, err := s.resource(w.ref)
	if err != nil {
		return nil, err
	}
	if resource == nil {
		made.unchecked = "its kind is defined by this change"
		return made, nil
	}
	if made.live, err = get(ctx, resource, w.ref); err != nil {
		return nil, err
	}
	if err := s.checkOwner(made, in); err != nil {
		return nil, err
	}
	if made.live != nil && made.live.GetDeletionTimestamp() != nil {
		return nil, reject(w, fmt.Errorf("it is being deleted: %s; plan again when it is gone", deletionBlocker(made.live)))
	}
	if err := s.sendDryRun(ctx, resource, made); err != nil {
		return made, s.handleRejection(made, err, in)
	}
	return made, nil
}

// get reads an object, and returns nil if it does not exist.
func get(ctx context.Context, resource dynamic.ResourceInterface, ref api.ObjectRef) (*unstructured.Unstructured,
	error) {
	found, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // not there
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", cluster.DisplayName(ref), cluster.Explain(err))
	}
	return found, nil
}

// checkOwner returns an error for an object that belongs to another owner.
func (s *session) checkOwner(a *dryRunResult, in changeContext) error {
	if a.live == nil || s.isOwned(a.live) {
		return nil
	}
	if owner := a.live.GetLabels()[labelComponent]; owner != "" {
		if in.inventory[identity(a.ref)] {
			a.takenFrom = "install component " + excerpt(owner)
			return nil
		}
		return reject(a.desired, fmt.Errorf("it belongs to install component %s, and two components cannot have one "+
			"object; take it out of one of them", excerpt(owner)))
	}
	release := a.live.GetAnnotations()[annotationRelease]
	if release == "" || in.inventory[identity(a.ref)] {
		return nil
	}
	owner := "Helm release " + excerpt(a.live.GetAnnotations()[annotationReleaseSpace]+"/"+release)
	if a.forcesConflicts() {
		a.takenFrom = owner
		return nil
	}
	return reject(a.desired, fmt.Errorf("it belongs to the %s, which would set it back; take it out of one of them, or "+
		"take it over by the annotation %s: \"true\"",
		owner, annotationForce))
}

// maxRereads is how often a live object is read again that was changed between the
// read and the dry run.
const maxRereads = 3

// sendDryRun sends the same request as an apply, as a dry run.
func (s *session) sendDryRun(ctx context.Context, resource dynamic.ResourceInterface, a *dryRunResult) (err error) {
	a.applied, err = send(ctx, resource, a.desired, true, false)
	if a.conflicts = conflictsOf(err); len(a.conflicts) > 0 && a.forcesConflicts() {
		a.applied, err = send(ctx, resource, a.desired, true, true)
	}
	if err != nil {
		return err
	}
	if a.live == nil {
		a.appliedAgain, err = send(ctx, resource, a.desired, true, a.forcesConflicts())
		return err
	}
	// The live object and the dry run must have the same version. Otherwise a status that was
	// written in between would look like a change.
	for range maxRereads {
		if a.applied.GetResourceVersion() == a.live.GetResourceVersion() {
			break
		}
		live, err := get(ctx, resource, a.ref)
		if err != nil || live == nil {
			return err
		}
		a.live = live
		if a.applied, err = send(ctx, resource, a.desired, true, a.forcesConflicts()); err != nil {
			return err
		}
	}
	return nil
}

// send applies an object, or does a dry run. It supports over fields from other managers
// only if force is set.
func send(ctx context.Context, resource dynamic.ResourceInterface, w *desired, dry,
	force bool) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(w.Object)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", cluster.DisplayName(w.ref), err)
	}
	options := metav1.PatchOptions{FieldManager: cluster.FieldManager, Force: &force,
		FieldValidation: metav1.FieldValidationStrict}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return resource.Patch(ctx, w.ref.Name, types.ApplyPatchType, data, options)
}

// conflict is a field that another manager owns.
type conflict struct{ field, manager string }

var conflictPattern = lazyregexp.New(`conflict with "([^"]*)"`)

// conflictsOf returns the conflicts in a rejection by the server.
func conflictsOf(err error) (found []conflict) {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		manager := cause.Message
		if names := conflictPattern.FindStringSubmatch(cause.Message); names != nil {
			manager = names[1]
		}
		found = append(found, conflict{excerpt(strings.TrimPrefix(cause.Field, ".")), excerpt(manager)})
	}
	return found
}

// handleRejection determines what a rejection by the server means for the plan: it returns nil if
// the change itself creates what is missing, records that the object is recreated if its
// annotation allows that, and otherwise returns an error.
func (s *session) handleRejection(a *dryRunResult, err error, in changeContext) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code >= 500 && !isUntyped(err) {
		return fmt.Errorf("try %s: %w", cluster.DisplayName(a.ref), cluster.Explain(err))
	}
	a.applied, a.appliedAgain = nil, nil
	switch {
	case in.changingKinds[kindOf(a.ref)] && !apierrors.IsForbidden(err):
		a.unchecked = "its CustomResourceDefinition is part of this change"
		return nil
	case apierrors.IsNotFound(err) && in.namespaces[a.ref.Namespace]:
		a.unchecked = "its namespace is created by this change"
		return nil
	case apierrors.IsNotFound(err) && a.ref.Namespace != "" && status.Status().Details != nil &&
		status.Status().Details.Kind == "namespaces":
		return reject(a.desired, fmt.Errorf("namespace %[1]s not found; create it with: kubectl create namespace %[1]s, "+
			"add it to the manifest, or deploy first what makes it", a.ref.Namespace))
	case isUntyped(err):
		return reject(a.desired, untypedError(err))
	case len(a.conflicts) > 0:
		return reject(a.desired, conflictError(a.conflicts))
	case apierrors.IsInvalid(err) && cluster.IsImmutableField(err.Error()):
		if !a.allowsRecreate() {
			return reject(a.desired, fmt.Errorf("%w. To have it deleted and created again, add the annotation %s: \"true\"",
				cluster.Explain(err), annotationRecreate))
		}
		a.recreate = "the server does not change " + fieldsOf(status.Status()) + " in place"
		return nil
	}
	return reject(a.desired, cluster.Explain(err))
}

// notTyped is the start of the server's message for an object that does not match the schema
// of its kind. The server reports it as an internal error (500), although a retry would
// fail in the same way.
const notTyped = "failed to create typed patch object"

func isUntyped(err error) bool { return err != nil && strings.Contains(err.Error(), notTyped) }

// untypedError returns the part of the server's message about fields, as an error.
func untypedError(err error) error {
	_, words, _ := strings.Cut(err.Error(), notTyped)
	if _, fields, ok := strings.Cut(words, "): "); ok {
		words = fields
	}
	if len(words) > maxServerMessage {
		words = words[:maxServerMessage] + "…"
	}
	return fmt.Errorf("it does not fit its kind: %s; correct these fields",
		diff.EscapeText(strings.Join(strings.Fields(words), " ")))
}

// maxServerMessage bounds the part of the server's message that is shown, in bytes.
const maxServerMessage = 600

// fieldsOf returns the fields in a rejection.
func fieldsOf(status metav1.Status) string {
	var fields []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Field != "" && len(fields) < 3 {
				fields = append(fields, cause.Field)
			}
		}
	}
	if len(fields) == 0 {
		return "it"
	}
	return diff.EscapeText(strings.Join(fields, ", "))
}

// conflictError returns an error that lists the managers of the fields, with the remedy.
func conflictError(conflicts []conflict) error {
	var told []string
	for _, c := range conflicts[:min(len(conflicts), 5)] {
		told = append(told, fmt.Sprintf("%s is set by %s", c.field, c.manager))
	}
	if more := len(conflicts) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("others manage fields of it: %s; leave these fields out, or take them over by the annotation %s: "+
		"\"true\" on the object",
		strings.Join(told, ", "), annotationForce)
}
