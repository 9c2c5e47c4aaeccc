package risk

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	kubequantity "k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// roleRule is a rule of a role as the API has it.
type roleRule struct {
	APIGroups       []string `json:"apiGroups,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	Verbs           []string `json:"verbs"`
	ResourceNames   []string `json:"resourceNames,omitempty"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
}

// roleRequest is a request as Kubernetes authorizes it: of a resource, or of a path.
type roleRequest struct{ group, resource, verb, name, path string }

// allows reports whether a rule allows a request, by the rules of Kubernetes.
// Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
func (r roleRule) allows(q roleRequest) bool {
	has := func(list []string, text string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, text)
	}
	if !has(r.Verbs, q.verb) {
		return false
	}
	if q.path != "" {
		return slices.ContainsFunc(r.NonResourceURLs, func(url string) bool {
			prefix, open := strings.CutSuffix(url, "*")
			return url == q.path || open && strings.HasPrefix(q.path, prefix)
		})
	}
	_, sub, _ := strings.Cut(q.resource, "/")
	return has(r.APIGroups, q.group) &&
		(has(r.Resources, q.resource) || sub != "" && slices.Contains(r.Resources, "*/"+sub)) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, q.name))
}

func roleRules() *rapid.Generator[[]roleRule] {
	some := func(of ...string) *rapid.Generator[[]string] {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, 2, rapid.ID)
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) roleRule {
		r := roleRule{Verbs: some("get", "create", "delete", "*").Draw(t, "verbs")}
		if rapid.IntRange(0, 4).Draw(t, "of paths") == 0 {
			r.NonResourceURLs = some("*", "/healthz", "/metrics/*", "/metrics*", "/metrics").Draw(t, "paths")
			return r
		}
		r.APIGroups = some("", "apps", "*").Draw(t, "groups")
		r.Resources = some("pods", "pods/log", "secrets", "deployments", "*/log", "*").Draw(t, "resources")
		if rapid.IntRange(0, 2).Draw(t, "of names") == 0 {
			r.ResourceNames = some("a", "b", "", "*").Draw(t, "names")
		}
		return r
	}), 0, 3)
}

// roleRequests returns requests of all kinds, also such that no rule names.
func roleRequests() []roleRequest {
	var all []roleRequest
	for _, verb := range []string{"get", "create", "delete", "patch"} {
		for _, path := range []string{"/healthz", "/metrics", "/metrics/x", "/other"} {
			all = append(all, roleRequest{verb: verb, path: path})
		}
		for _, group := range []string{"", "apps", "batch"} {
			for _, resource := range []string{"pods", "pods/log", "secrets", "deployments", "jobs/log"} {
				for _, name := range []string{"", "a", "b", "*"} {
					all = append(all, roleRequest{group: group, resource: resource, verb: verb, name: name})
				}
			}
		}
	}
	return all
}

// TestRoleWidensNeverMisses checks that a role that newly allows a request widens, that a role with fewer rules does
// not, and that gains are described.
func TestRoleWidensNeverMisses(t *testing.T) {
	all := roleRequests()
	role := func(t *rapid.T, rules []roleRule) raw.Value {
		encoded, err := json.Marshal(map[string]any{"kind": "ClusterRole", "rules": rules})
		if err != nil {
			t.Fatal(err)
		}
		v, err := raw.Parse(encoded)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	allows := func(rules []roleRule, q roleRequest) bool {
		return slices.ContainsFunc(rules, func(r roleRule) bool { return r.allows(q) })
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := roleRules().Draw(t, "before"), roleRules().Draw(t, "after")
		was, is := role(t, before), role(t, after)
		wider := roleWidens(was, is)
		gains := roleGains(subjectView{kind: "ClusterRole", before: was, after: is})
		for _, q := range all {
			if allows(after, q) && !allows(before, q) && (!wider || q.path == "" && len(gains) == 0) {
				t.Fatalf("%+v is newly allowed: widens %t, gains %q", q, wider, gains)
			}
		}
		if roleWidens(is, is) {
			t.Fatalf("the same widens: %+v", after)
		}
		fewer := role(t, after[:rapid.IntRange(0, len(after)).Draw(t, "fewer")])
		if roleWidens(is, fewer) {
			t.Fatalf("less widens: %+v", fewer)
		}
	})
}

// TestQuantitiesAreThoseOfKubernetes compares quantities as Kubernetes compares them, but for those that it rounds up
// to 1n or down to its largest.
func TestQuantitiesAreThoseOfKubernetes(t *testing.T) {
	units := rapid.SampledFrom([]string{"", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
		"e3", "E2", "e-2", "K", "ki", "mi", "i", "B", "e", " "})
	numbers := rapid.SampledFrom([]string{"0", "1", "2", "-1", "+3", "999", "1000", "1024", "1025", "0.5", "1.", ".5",
		"00.10", "1.1.1"})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string { return numbers.Draw(t, label) + units.Draw(t, label+"'s unit") }
		a, b := draw("a"), draw("b")
		x, errX := kubequantity.ParseQuantity(a)
		y, errY := kubequantity.ParseQuantity(b)
		if x.Value() == math.MaxInt64 || y.Value() == math.MaxInt64 {
			return
		}
		want := errX == nil && errY == nil && x.Cmp(y) < 0
		if got := less(raw.Of(a), raw.Of(b)); got != want {
			t.Fatalf("%q < %q: %t; Kubernetes: %t (%v, %v)", a, b, got, want, errX, errY)
		}
	})
}
