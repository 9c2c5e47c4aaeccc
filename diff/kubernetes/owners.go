package kubernetes

import (
	"encoding/json"
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
		o.managers = append(o.managers, manager{name: name, fields: fields})
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
		if !owns(m.fields, p) {
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
	return slices.ContainsFunc(o.managers, func(m manager) bool { return m.name == o.ours && owns(m.fields, p) })
}

// owns says that a set of fields holds the one at a path, or all of a value around it.
func owns(fields raw.Value, p tree.Path) bool {
	for _, s := range p {
		if s.Into != "" || s.IsIndex {
			// A manager owns a string or an atomic list as a whole.
			return len(fields.Keys()) == 0
		}
		below, ok := fields.Get("f:" + s.Key)
		if s.IsSelect {
			below, ok = selectedFields(fields, s)
		}
		if !ok {
			return false
		}
		fields = below
	}
	return true
}

// selectedFields are those of the element that a step selects: "k:" and its keys as JSON, or "v:" and its value.
func selectedFields(fields raw.Value, s tree.Step) (raw.Value, bool) {
	if len(fields.Keys()) == 0 {
		return fields, true
	}
	for _, k := range fields.Keys() {
		if plain, ok := strings.CutPrefix(k, "v:"); ok && len(s.By) == 0 {
			var v any
			if json.Unmarshal([]byte(plain), &v) == nil && v == any(s.Select) {
				return fields.Get(k)
			}
		}
		object, ok := strings.CutPrefix(k, "k:")
		if !ok || len(s.By) == 0 {
			continue
		}
		element, err := raw.Parse([]byte(object))
		if err != nil {
			continue
		}
		if name, ok := keyName(element, nil, s.By); ok && name == s.Select {
			return fields.Get(k)
		}
	}
	return raw.Value{}, false
}
