package kubernetes

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// owners are the field managers of a live object, from its metadata.managedFields.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/
type owners struct {
	managers []manager
	// ours is the manager that owns most of the desired fields: the applier.
	ours string
}

type manager struct {
	name   string
	fields raw.Value
	// elements are those of the lists in fields.
	elements *selections
}

// ownersOf reads the managers of live. It ignores managers of subresources
// other than scale, which write no field of a manifest.
func ownersOf(live, wanted raw.Value) owners {
	var o owners
	metadata, _ := live.Get("metadata")
	entries, _ := metadata.Get("managedFields")
	for i := range min(entries.Len(), maxManagers) {
		e := entries.At(i)
		name, sub := raw.TextAt(e, "manager"), raw.TextAt(e, "subresource")
		fields, ok := e.Get("fieldsV1")
		if !ok || name == "" || sub != "" && sub != "scale" {
			continue
		}
		o.managers = append(o.managers, manager{name: name, fields: fields, elements: &selections{}})
	}
	slices.SortStableFunc(o.managers, func(a, b manager) int { return strings.Compare(a.name, b.name) })
	most := 0
	for _, m := range o.managers {
		if n := covered(m.fields, wanted, maxDepth); n > most {
			o.ours, most = m.name, n
		}
	}
	return o
}

const maxManagers = 100

// covered counts the fields of a set that a value also has. Elements of lists
// do not count: they are identified by their content.
func covered(fields, v raw.Value, depth int) int {
	n := 0
	for _, k := range fields.Keys() {
		name, ok := strings.CutPrefix(k, "f:")
		child, has := v.Get(name)
		if !ok || !has || depth == 0 {
			continue
		}
		below, _ := fields.Get(k)
		n += 1 + covered(below, child, depth-1)
	}
	return n
}

// of returns the other owner of the field at a path. It is empty if there is
// none, or if the applier also owns the field.
func (o *owners) of(p tree.Path) string {
	var others []string
	for _, m := range o.managers {
		if !m.owns(p) {
			continue
		}
		if m.name == o.ours {
			return ""
		}
		if !slices.Contains(others, m.name) {
			others = append(others, m.name)
		}
	}
	return strings.Join(others, ", ")
}

// byOurs reports whether the applier owns the field at a path.
func (o *owners) byOurs(p tree.Path) bool {
	return slices.ContainsFunc(o.managers, func(m manager) bool { return m.name == o.ours && m.owns(p) })
}

// owns reports whether a manager's set of fields includes the one at a path,
// or the whole value around it.
func (m *manager) owns(p tree.Path) bool {
	fields := m.fields
	for i, s := range p {
		if s.Into() != "" || s.IsIndex {
			// A manager owns a string or an atomic list as a whole.
			return len(fields.Keys()) == 0
		}
		below, ok := fields.Get("f:" + s.Key)
		if s.IsSelect {
			below, ok = m.elements.managed(p[:i], fields, *s)
		}
		if !ok {
			return false
		}
		fields = below
	}
	return true
}
