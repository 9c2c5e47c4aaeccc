package kubernetes

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// schemas are the types of the kinds that are compared: those of the API itself, and of the definitions in the input. They are large, so only
// those are read whose group an object that changes belongs to. Where two sides define a kind, the wanted one counts.
func schemas(jobs []job, sides ...*manifest.Set) (*schema.Set, []string, error) {
	builtin := schema.Builtin()
	groups := map[string]bool{}
	for _, j := range jobs {
		if !definition(j.id) && builtin.Find(j.id.Group, j.version(), j.id.Kind) == nil {
			groups[j.id.Group] = true
		}
	}
	var definitions []raw.Value
	for _, side := range sides {
		if side == nil || len(groups) == 0 {
			continue
		}
		for _, o := range side.CustomResources() {
			// The name of a definition is PLURAL.GROUP.
			if _, group, _ := strings.Cut(o.ID.Name, "."); !groups[group] {
				continue
			}
			v, err := o.Value()
			if err != nil {
				return nil, nil, err
			}
			definitions = append(definitions, v)
		}
	}
	if len(definitions) == 0 {
		return builtin, nil, nil
	}
	set, notes := builtin.With(definitions)
	return set, notes, nil
}

func definition(id manifest.ID) bool {
	return id.Kind == "CustomResourceDefinition" && id.Group == "apiextensions.k8s.io"
}
