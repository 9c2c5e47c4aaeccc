package helm

import (
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
