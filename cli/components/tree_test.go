package components

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestTree checks the place of each component, also of one that depends on several, and that circular
// dependencies end.
func TestTree(t *testing.T) {
	component := func(name string, needs ...string) api.Component { return api.Component{Name: name, DependsOn: needs} }
	for name, c := range map[string]struct {
		all  []api.Component
		want []string
	}{
		"none": {nil, nil},
		"chain": {[]api.Component{component("web", "db"), component("db", "network"), component("network")},
			[]string{"network", "└─ db", "   └─ web"}},
		"diamond": {[]api.Component{component("api", "db", "cache"), component("cache", "network"),
			component("db", "network"), component("logs"), component("network"), component("web", "api", "network")},
			[]string{"logs", "network", "├─ cache", "│  └─ api also db", "│     └─ web also network", "└─ db"}},
		"circle": {[]api.Component{component("a", "b"), component("b", "a"), component("c")},
			[]string{"c", "a also b", "b also a"}},
		"itself and unknown": {[]api.Component{component("a", "a"), component("b", "gone")},
			[]string{"b also gone", "a also a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range Tree(c.all) {
				line := n.Prefix + n.Name
				if len(n.Also) > 0 {
					line += " also " + strings.Join(n.Also, " ")
				}
				got = append(got, line)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}
