package kubernetes

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// schemas returns the types of the compared kinds: those of the API itself, and of
// the definitions in the input. Definitions are large, so it reads only those in
// whose group an object changes. If two sides define a kind, the desired one counts.
func schemas(jobs []job, sides ...*manifest.Set) (*schema.Set, []string, error) {
	builtin := schema.Builtin()
	wanted := wantedDefinitions(customGroups(jobs), sides)
	if len(wanted) == 0 {
		return builtin, nil, nil
	}
	definitions := make([]raw.Value, len(wanted))
	err := each(len(wanted), func() struct{} { return struct{}{} }, func(_ struct{}, i int) (err error) {
		definitions[i], err = wanted[i].Value()
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	set, notes := builtin.With(definitions)
	return set, notes, nil
}

// customGroups returns the groups of the custom resources that are compared.
func customGroups(jobs []job) map[string]bool {
	groups := map[string]bool{}
	for _, j := range jobs {
		if !definition(j.id) && schema.Builtin().Find(j.id.Group, j.version(), j.id.Kind) == nil {
			groups[j.id.Group] = true
		}
	}
	return groups
}

// wantedDefinitions returns the definitions of the given groups, each from
// the last side that has it.
func wantedDefinitions(groups map[string]bool, sides []*manifest.Set) []*manifest.Object {
	var out []*manifest.Object
	place := map[manifest.ID]int{}
	for _, side := range sides {
		if side == nil || len(groups) == 0 {
			continue
		}
		for _, o := range side.CustomResources() {
			// The name of a definition is PLURAL.GROUP.
			if _, group, _ := strings.Cut(o.ID.Name, "."); !groups[group] {
				continue
			}
			if i, known := place[o.ID]; known {
				out[i] = o
				continue
			}
			place[o.ID] = len(out)
			out = append(out, o)
		}
	}
	return out
}

func definition(id manifest.ID) bool {
	return id.Kind == "CustomResourceDefinition" && id.Group == "apiextensions.k8s.io"
}
