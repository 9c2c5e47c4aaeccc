package planpolicy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestMirroredImages checks that objects are denied whose images are not in the install's registry, also those of a
// repository with a similar address, and that the policy is not evaluated where there is no registry.
func TestMirroredImages(t *testing.T) {
	policies := []api.PolicySpec{{Name: api.MirroredImagesPolicy, Engine: api.BuiltIn}}
	object := func(name string, images ...string) map[string]any {
		var containers []any
		for _, i := range images {
			containers = append(containers, map[string]any{"image": i})
		}
		return map[string]any{"kind": "Pod", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"containers": containers}}
	}
	deny := func(object, image string) diff.PolicyMessage {
		return diff.PolicyMessage{Status: diff.PolicyDeny, Object: object,
			Text: "image " + image + " is not in the install's registry, registry.test/acme"}
	}
	in := Input{Registry: "registry.test/acme", Redact: func(s string) string { return s }}
	for _, c := range []struct {
		name    string
		objects []map[string]any
		want    []diff.PolicyMessage
	}{
		{"none", nil, nil},
		{"mirrored", []map[string]any{object("a", "registry.test/acme/org/app@sha256:1", "registry.test/acme/b:1")}, nil},
		{"public", []map[string]any{object("a", "registry.test/acme/b:1"), object("b", "redis:7", "redis:7", "nginx")},
			[]diff.PolicyMessage{deny("Pod b", "nginx"), deny("Pod b", "redis:7")}},
		{"similar", []map[string]any{object("a", "registry.test/acme-evil/b:1", "registry.test/acme:1")},
			[]diff.PolicyMessage{deny("Pod a", "registry.test/acme-evil/b:1"), deny("Pod a", "registry.test/acme:1")}},
	} {
		in.Objects = c.objects
		results := Evaluate(t.Context(), policies, in)
		if len(results) != 1 || results[0].Policy != api.MirroredImagesPolicy {
			t.Fatalf("%s: %v", c.name, results)
		}
		want := diff.NewPolicyResult(api.MirroredImagesPolicy, c.want)
		if d := cmp.Diff(want, results[0]); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	in.Registry = ""
	if got := Evaluate(t.Context(), policies, in); got[0].Result != diff.PolicyNotEvaluated {
		t.Errorf("without a registry: %v", got)
	}
	unknown := []api.PolicySpec{{Name: "from_the_future", Engine: api.BuiltIn}}
	if got := Evaluate(t.Context(), unknown, in); got[0].Result != diff.PolicyNotEvaluated {
		t.Errorf("a policy that the runner does not know: %v", got)
	}
}
