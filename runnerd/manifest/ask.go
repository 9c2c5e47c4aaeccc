package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
)

// asked is what the server said of an object that is wanted.
type asked struct {
	*wanted
	// live is the object as it runs; nil where it is not there.
	live *unstructured.Unstructured
	// answer is what an apply makes of it, and again what it makes of it another time, for what is new.
	answer, again *unstructured.Unstructured
	// unchecked is why the server was not asked; recreate why it must be made anew; takenFrom who had it until now.
	unchecked, recreate, takenFrom string
	conflicts                      []conflict
}

// ours says that the object carries the component's label.
func (s *session) ours(live *unstructured.Unstructured) bool {
	return live != nil && live.GetLabels()[labelComponent] == s.deploy.InstallComponent
}

// refuse returns what the server, or the state of what is there, says against an object.
func refuse(w *wanted, err error) error {
	return &deploy.RefusedError{Err: fmt.Errorf("%s: %s: %w", w.place, cluster.Name(w.ref), err)}
}

// world is what an ask may need to know of the rest of the change.
type world struct {
	// namespaces are the names of the namespaces that are wanted.
	namespaces map[string]bool
	// changing are kinds of which the definition is new or becomes another one; known when definitions have been asked about.
	changing map[api.ObjectRef]bool
	// inventory is what the component had before, and wanted what it is to have.
	inventory map[api.ObjectRef]bool
	wanted    []api.ObjectRef
}

func worldOf(objects []*wanted, inventory []api.ObjectRef) world {
	made := world{namespaces: map[string]bool{}, changing: map[api.ObjectRef]bool{}, inventory: map[api.ObjectRef]bool{}}
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

// kindOf is the kind of an object alone.
func kindOf(ref api.ObjectRef) api.ObjectRef { return api.ObjectRef{Group: ref.Group, Kind: ref.Kind} }

// ask asks what an apply would make of one object, and changes nothing.
func (s *session) ask(ctx context.Context, w *wanted, in world) (*asked, error) {
	made := &asked{wanted: w}
	resource, err := s.resource(w.ref)
	if err != nil {
		return nil, err
	}
	if resource == nil {
		made.unchecked = "its kind is defined by this very change"
		return made, nil
	}
	if made.live, err = get(ctx, resource, w.ref); err != nil {
		return nil, err
	}
	if err := s.mayTake(made, in); err != nil {
		return nil, err
	}
	if made.live != nil && made.live.GetDeletionTimestamp() != nil {
		return nil, refuse(w, fmt.Errorf("it is being deleted: %s; plan again when it is gone", held(made.live)))
	}
	if err := s.try(ctx, resource, made); err != nil {
		return made, s.refused(made, err, in)
	}
	return made, nil
}

// get reads an object; nil where it is not there.
func get(ctx context.Context, resource dynamic.ResourceInterface, ref api.ObjectRef) (*unstructured.Unstructured, error) {
	found, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // not there
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", cluster.Name(ref), cluster.Explain(err))
	}
	return found, nil
}

// mayTake refuses an object that belongs to somebody else.
func (s *session) mayTake(a *asked, in world) error {
	if a.live == nil || s.ours(a.live) {
		return nil
	}
	if owner := a.live.GetLabels()[labelComponent]; owner != "" {
		if in.inventory[identity(a.ref)] {
			a.takenFrom = "install component " + diff.Neutral(short(owner))
			return nil
		}
		return refuse(a.wanted, fmt.Errorf("it belongs to install component %s, and two components cannot have one object; take it out of one of them", diff.Neutral(short(owner))))
	}
	release := a.live.GetAnnotations()[annotationRelease]
	if release == "" || in.inventory[identity(a.ref)] {
		return nil
	}
	owner := "Helm release " + diff.Neutral(short(a.live.GetAnnotations()[annotationReleaseSpace]+"/"+release))
	if a.forced() {
		a.takenFrom = owner
		return nil
	}
	return refuse(a.wanted, fmt.Errorf("it belongs to the %s, which would set it back; take it out of one of them, or take it over by the annotation %s: \"true\"",
		owner, annotationForce))
}

// sameTimes is how often a live object is read again that somebody wrote between the reading and the answer.
const sameTimes = 3

// try sends the very request that an apply sends, as a dry run.
func (s *session) try(ctx context.Context, resource dynamic.ResourceInterface, a *asked) (err error) {
	a.answer, err = send(ctx, resource, a.wanted, true, false)
	if a.conflicts = conflictsOf(err); len(a.conflicts) > 0 && a.forced() {
		a.answer, err = send(ctx, resource, a.wanted, true, true)
	}
	if err != nil {
		return err
	}
	if a.live == nil {
		a.again, err = send(ctx, resource, a.wanted, true, a.forced())
		return err
	}
	// What runs and what would come of it must be of one moment, or a status that was written in between looks like a change.
	for range sameTimes {
		if a.answer.GetResourceVersion() == a.live.GetResourceVersion() {
			break
		}
		live, err := get(ctx, resource, a.ref)
		if err != nil || live == nil {
			return err
		}
		a.live = live
		if a.answer, err = send(ctx, resource, a.wanted, true, a.forced()); err != nil {
			return err
		}
	}
	return nil
}

// send applies an object, or tries to. It takes fields from other managers only if force is set.
func send(ctx context.Context, resource dynamic.ResourceInterface, w *wanted, dry, force bool) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(w.Object)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", cluster.Name(w.ref), err)
	}
	options := metav1.PatchOptions{FieldManager: cluster.FieldManager, Force: &force, FieldValidation: metav1.FieldValidationStrict}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return resource.Patch(ctx, w.ref.Name, types.ApplyPatchType, data, options)
}

// conflict is a field that somebody else manages.
type conflict struct{ field, manager string }

var conflictWith = regexp.MustCompile(`conflict with "([^"]*)"`)

// conflictsOf are those of a refusal by the server.
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
		if names := conflictWith.FindStringSubmatch(cause.Message); names != nil {
			manager = names[1]
		}
		found = append(found, conflict{diff.Neutral(short(strings.TrimPrefix(cause.Field, "."))), diff.Neutral(short(manager))})
	}
	return found
}

// refused says what a refusal of the server means for the plan: nothing where the change itself makes what is missing, that the object is
// made anew where it asks for that, else an error.
func (s *session) refused(a *asked, err error, in world) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code >= 500 && !untyped(err) {
		return fmt.Errorf("try %s: %w", cluster.Name(a.ref), cluster.Explain(err))
	}
	a.answer, a.again = nil, nil
	switch {
	case in.changing[kindOf(a.ref)] && !apierrors.IsForbidden(err):
		a.unchecked = "its CustomResourceDefinition is part of this very change"
		return nil
	case apierrors.IsNotFound(err) && in.namespaces[a.ref.Namespace]:
		a.unchecked = "its namespace is made by this very change"
		return nil
	case apierrors.IsNotFound(err) && a.ref.Namespace != "" && status.Status().Details != nil && status.Status().Details.Kind == "namespaces":
		return refuse(a.wanted, fmt.Errorf("there is no namespace %[1]s; make it with: kubectl create namespace %[1]s, add it to the manifest, or deploy first what makes it", a.ref.Namespace))
	case untyped(err):
		return refuse(a.wanted, untypedWords(err))
	case len(a.conflicts) > 0:
		return refuse(a.wanted, conflictWords(a.conflicts))
	case apierrors.IsInvalid(err) && cluster.CannotChange(err.Error()):
		if !a.recreated() {
			return refuse(a.wanted, fmt.Errorf("%w. To have it deleted and made anew, give it the annotation %s: \"true\"", cluster.Explain(err), annotationRecreate))
		}
		a.recreate = "the server does not change " + fieldsOf(status.Status()) + " in place"
		return nil
	}
	return refuse(a.wanted, cluster.Explain(err))
}

// notTyped is how a server begins to say that an object does not fit the schema of its kind. It takes that for an error of its own (500), though
// another try would end alike.
const notTyped = "failed to create typed patch object"

func untyped(err error) bool { return err != nil && strings.Contains(err.Error(), notTyped) }

// untypedWords are what the server says about fields, without what it says around that.
func untypedWords(err error) error {
	_, words, _ := strings.Cut(err.Error(), notTyped)
	if _, fields, ok := strings.Cut(words, "): "); ok {
		words = fields
	}
	if len(words) > maxWords {
		words = words[:maxWords] + "…"
	}
	return fmt.Errorf("it does not fit its kind: %s; correct these fields", diff.Neutral(strings.Join(strings.Fields(words), " ")))
}

// maxWords bounds what is told of a server's own words, in bytes.
const maxWords = 600

// fieldsOf names the fields that a refusal is about.
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
	return diff.Neutral(strings.Join(fields, ", "))
}

// conflictWords say who manages what, and what to do.
func conflictWords(conflicts []conflict) error {
	var told []string
	for _, c := range conflicts[:min(len(conflicts), 5)] {
		told = append(told, fmt.Sprintf("%s is set by %s", c.field, c.manager))
	}
	if more := len(conflicts) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("others manage fields of it: %s; leave these fields out, or take them over by the annotation %s: \"true\" on the object",
		strings.Join(told, ", "), annotationForce)
}
