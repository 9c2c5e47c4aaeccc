package kubernetes

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// desired is an object as it is applied.
type desired struct {
	object
	ref api.ObjectRef
}

// forcesConflicts reports whether the object takes over fields of other managers, and recreated
// whether it may be recreated.
func (d *desired) forcesConflicts() bool { return d.GetAnnotations()[annotationForce] == "true" }
func (d *desired) allowsRecreate() bool  { return d.GetAnnotations()[annotationRecreate] == "true" }

// identity returns a reference that is equal for equal objects: the API
// version is no part of it.
func identity(ref api.ObjectRef) api.ObjectRef {
	ref.Version = ""
	return ref
}

// defined returns the kinds that CustomResourceDefinitions among the objects define,
// and whether they are namespaced.
func defined(objects []object) map[api.ObjectRef]bool {
	found := map[api.ObjectRef]bool{}
	for _, o := range objects {
		if !isDefinition(o.Unstructured) {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
		found[api.ObjectRef{Group: group, Kind: kind}] = scope != "Cluster"
	}
	return found
}

func isDefinition(u *unstructured.Unstructured) bool {
	kind := u.GroupVersionKind()
	return kind.Kind == "CustomResourceDefinition" && kind.Group == "apiextensions.k8s.io"
}

func isNamespace(ref api.ObjectRef) bool { return ref.Kind == "Namespace" && ref.Group == "" }

// resolveObjects returns the objects as they are applied: each in its namespace, with our labels,
// and without duplicates.
func (s *session) resolveObjects(objects []object, namespace string) ([]*desired, error) {
	var (
		kinds    = defined(objects)
		places   = map[api.ObjectRef]string{}
		made     = make([]*desired, 0, len(objects))
		problems []error
	)
	for _, o := range objects {
		w := &desired{object: o, ref: cluster.RefOf(o.Unstructured)}
		namespaced, err := s.namespaced(w.ref, kinds)
		if err != nil {
			var unknown *unknownKind
			if !errors.As(err, &unknown) {
				return nil, err
			}
			problems = append(problems, fmt.Errorf("%s: %w", o.place, err))
			continue
		}
		switch {
		case !namespaced:
			w.SetNamespace("")
		case w.GetNamespace() == "" && namespace == "":
			problems = append(problems, fmt.Errorf("%s: %s has no namespace, and the component names none; write namespace "+
				"into either", o.place, cluster.DisplayName(w.ref)))
			continue
		case w.GetNamespace() == "":
			w.SetNamespace(namespace)
		}
		w.ref = cluster.RefOf(w.Unstructured)
		if first, twice := places[identity(w.ref)]; twice {
			problems = append(problems, fmt.Errorf("%s: %s is there already, in %s; take one of them out", o.place,
				cluster.DisplayName(w.ref), first))
			continue
		}
		places[identity(w.ref)] = o.place
		s.label(w)
		made = append(made, w)
	}
	return made, joined(problems)
}

// label sets the labels that identify the owner of an object.
func (s *session) label(w *desired) {
	labels := w.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelInstall], labels[labelComponent] = s.deploy.InstallID, s.deploy.InstallComponent
	w.SetLabels(labels)
}

// unknownKind is the error for a kind that the server does not have and the
// manifest does not define.
type unknownKind struct{ ref api.ObjectRef }

func (u *unknownKind) Error() string {
	version := u.ref.Version
	if u.ref.Group != "" {
		version = u.ref.Group + "/" + version
	}
	return fmt.Sprintf("%s: the cluster has no kind %s of %s; correct apiVersion and kind, or deploy first what brings "+
		"its CustomResourceDefinition (dependencies)",
		cluster.DisplayName(u.ref), diff.EscapeText(u.ref.Kind), diff.EscapeText(version))
}

// namespaced reports whether a kind is namespaced, according to the server or else to the
// definitions in the manifest.
func (s *session) namespaced(ref api.ObjectRef, kinds map[api.ObjectRef]bool) (bool, error) {
	mapping, err := s.mapping(ref)
	if err == nil {
		return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
	}
	if !meta.IsNoMatchError(err) {
		return false, fmt.Errorf("list the kinds of the cluster: %w", cluster.Explain(err))
	}
	if namespaced, ours := kinds[api.ObjectRef{Group: ref.Group, Kind: ref.Kind}]; ours {
		return namespaced, nil
	}
	return false, &unknownKind{ref}
}

// refs returns the references of objects.
func refs(objects []*desired) []api.ObjectRef {
	made := make([]api.ObjectRef, len(objects))
	for i, w := range objects {
		made[i] = w.ref
	}
	return made
}
