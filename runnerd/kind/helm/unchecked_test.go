package helm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
)

// TestUnchecked: a reason that many objects share is reported once, other reasons at each object.
func TestUnchecked(t *testing.T) {
	const many, few = "its namespace shop is created by this change", "its definition (CRD) is created by this change"
	answers := []helmsdk.DryRunResult{{Ref: api.ObjectRef{Kind: "ConfigMap", Name: "checked"}}}
	for _, name := range []string{"a", "b", "c"} {
		answers = append(answers, helmsdk.DryRunResult{Ref: api.ObjectRef{Kind: "ConfigMap", Name: name}, Unchecked: many})
	}
	for _, name := range []string{"d", "e"} {
		answers = append(answers, helmsdk.DryRunResult{Ref: api.ObjectRef{Kind: "Web", Name: name}, Unchecked: few})
	}
	if got, want := uncheckedNotes(answers), []string{"Not checked by the server: 3 objects, of each because " + many +
		"."}; !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
	found := findings(answers, "web", "shop")
	for _, name := range []string{"d", "e"} {
		if len(found[manifest.ID{Kind: "Web", Name: name}]) != 1 {
			t.Errorf("%s has no finding: %v", name, found)
		}
	}
	if len(found) != 2 {
		t.Errorf("findings of %d objects: %v", len(found), found)
	}
}

// TestReviewed: policies read the objects in crds/ that the change creates, of any kind, and the hooks that run when
// the release is deleted, besides the objects for which the server was asked.
func TestReviewed(t *testing.T) {
	object := func(name string) string { return "kind: Pod\nmetadata: {name: " + name + "}\n" }
	hook := func(name string, events ...string) helmsdk.Hook {
		return helmsdk.Hook{Events: events, Manifest: object(name)}
	}
	q := reportInput{decision: helmsdk.Decision{Action: helmsdk.ActionInstall}, rendered: &helmsdk.Rendered{
		CRDs: []helmsdk.CRD{{State: helmsdk.CRDMissing, Manifest: object("new")},
			{State: helmsdk.CRDDiffers, Manifest: object("old")}},
		Hooks: []helmsdk.Hook{hook("asked", "pre-install", "pre-delete"), hook("goodbye", "post-delete"),
			hook("tested", "test"), hook("upgraded", "pre-upgrade")}}}
	answers := []helmsdk.DryRunResult{{Rendered: []byte(`{"metadata":{"name":"sent"}}`)}, {Live: []byte(`{}`)},
		{Rendered: []byte(`{}`), Desired: []byte(`{"metadata":{"name":"stored"}}`)}}
	objects, err := reviewedObjects(answers, q)
	var names []string
	for _, o := range objects {
		metadata, _ := o["metadata"].(map[string]any)
		names = append(names, fmt.Sprint(metadata["name"]))
	}
	if want := []string{"sent", "stored", "new", "goodbye"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("policies read %q, %v, want %q", names, err, want)
	}
}
