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
	// ours is the manager that owns most of what is wanted: the one that applies it.
	ours string
}

type manager struct {
	name   string
	fields raw.Value
	// elements are those of the lists in fields.
	elements *selections
}

// ownersOf reads the managers of live. What manages a subresource other than scale writes nothing that a manifest sets.
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

// covered counts the fields of a set that a value has, too. Elements of lists do not count: they are named by what they hold.
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

// of is who else owns the field at a path; empty where it is nobody, or the applier owns it, too.
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

// byOurs says that the applier owns the field at a path.
func (o *owners) byOurs(p tree.Path) bool {
	return slices.ContainsFunc(o.managers, func(m manager) bool { return m.name == o.ours && m.owns(p) })
}

// owns says that a manager's set of fields holds the one at a path, or all of a value around it.
func (m *manager) owns(p tree.Path) bool {
	fields := m.fields
	for i, s := range p {
		if s.Into != "" || s.IsIndex {
			// A manager owns a string or an atomic list as a whole.
			return len(fields.Keys()) == 0
		}
		below, ok := fields.Get("f:" + s.Key)
		if s.IsSelect {
			below, ok = m.elements.managed(p[:i], fields, s)
		}
		if !ok {
			return false
		}
		fields = below
	}
	return true
}
