package kubernetes

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// readSchemas returns the types of the compared kinds: those of the API itself, and of
// the definitions in the input. Definitions are large, so it reads only those in
// whose group an object changes. If two sides define a kind, the desired one counts.
func (c *comparison) readSchemas(jobs []job, sides ...*manifest.Set) (*schema.Set, []string, error) {
	builtin := schema.Builtin()
	wanted, err := c.wantedDefinitions(customGroups(jobs), sides)
	if err != nil {
		return nil, nil, err
	}
	if len(wanted) == 0 {
		return builtin, nil, nil
	}
	definitions := make([]raw.Value, len(wanted))
	err = each(len(wanted), func() struct{} { return struct{}{} }, func(_ struct{}, i int) (err error) {
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
// the last side that has it. Against a cluster, those that are hooks do not count:
// a hook that does not run would decide what a report leaves out.
func (c *comparison) wantedDefinitions(groups map[string]bool, sides []*manifest.Set) ([]*manifest.Object, error) {
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
			switch hook, err := c.isHook(side, o); {
			case err != nil:
				return nil, err
			case hook:
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
	return out, nil
}

// isHook reports whether an object of a side is a hook, in a comparison against a cluster. What exists
// is no hook, even if a hook created it.
func (c *comparison) isHook(side *manifest.Set, o *manifest.Object) (bool, error) {
	if !c.options.ThreeWay || c.options.Plain || side == c.live {
		return false, nil
	}
	v, err := o.Value()
	return err == nil && roleOf(v) == hook, err
}

func definition(id manifest.ID) bool {
	return id.Kind == "CustomResourceDefinition" && id.Group == "apiextensions.k8s.io"
}
