package schema

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema/internal/table"
)

func shapeNamed(letter byte) Shape {
	switch letter {
	case 'o', 'p':
		return Object
	case 'm':
		return Map
	case 'l':
		return List
	case 's':
		return String
	case 'i':
		return Integer
	case 'f':
		return Number
	case 'b':
		return Boolean
	}
	return Any
}

func listNamed(letter byte) ListKind {
	switch letter {
	case 'a':
		return Atomic
	case 's':
		return SetList
	case 'm':
		return MapList
	}
	return Unknown
}

func formatNamed(name string) Format {
	switch name {
	case "quantity":
		return Quantity
	case "int-or-string":
		return IntOrString
	case "duration":
		return Duration
	case "time":
		return Time
	case "bytes":
		return Bytes
	}
	return Plain
}

// decoded is the table with its types linked to each other.
type decoded struct {
	kubernetes string
	types      []Type
	named      map[string]*Type
	kinds      []table.Kind
	// defaults are the parsed defaults, by their JSON.
	defaults map[string]raw.Value
	// others are the types that are another one with another default.
	others []reference
}

// reference is the number of a type, and that of the type that it refers to.
type reference struct{ from, to int }

// decode links the types of a table. All types are elements of one slice, so
// that 1,200 of them take few allocations.
func decode(data []byte) (*decoded, error) {
	d := &decoded{named: make(map[string]*Type, usualNames), defaults: map[string]raw.Value{}}
	t, err := table.Read(data, d)
	if err != nil {
		return nil, err
	}
	for _, r := range d.others {
		was := d.types[r.from].fallback
		d.types[r.from] = d.types[r.to]
		d.types[r.from].fallback = was
	}
	d.kubernetes, d.kinds = t.Kubernetes, t.Kinds
	return d, nil
}

// usualNames is about how many types have a name.
const usualNames = 700

// Start allocates the types.
func (d *decoded) Start(types int) { d.types = make([]Type, types) }

// Type sets the fields of type i, except those that it inherits from the type that it refers to.
func (d *decoded) Type(i int, from *table.Type) error {
	to := &d.types[i]
	to.shape, to.preserve = shapeNamed(from.Shape), from.Shape == 'p' || from.Shape == 'a' && from.Format == ""
	to.emptyIsNone = from.Format == table.OmitEmpty
	to.list, to.keys, to.format = listNamed(from.List), from.Keys, formatNamed(from.Format)
	if from.Shape == 'm' || from.Shape == 'l' {
		to.elem, to.emptyIsNone = &d.types[from.Elem], true
	}
	if len(from.Fields) > 0 {
		to.fields = make([]field, len(from.Fields))
		for j, f := range from.Fields {
			to.fields[j] = field{f.Name, &d.types[f.Type]}
		}
	}
	if from.Name != "" {
		d.named[from.Name] = to
	}
	if from.Shape == 'r' {
		d.others = append(d.others, reference{i, from.Elem})
	}
	if from.Default == "" {
		return nil
	}
	v, ok := d.defaults[from.Default]
	if !ok {
		var err error
		if v, err = raw.Parse([]byte(from.Default)); err != nil {
			return err
		}
		d.defaults[from.Default] = v
	}
	to.fallback = fallback{value: v, has: true}
	return nil
}

// change calls set with the type at a path below a definition. A path of one step changes
// the definition wherever it is used; a longer one changes only the types below that
// definition, on copies: spec.containers[].resources is a step into a field, one into the
// elements of its list and one into a field of those. It reports whether the path exists.
func (d *decoded) change(of, path string, set func(*Type)) bool {
	t, ok := d.named[of]
	if !ok {
		return false
	}
	steps := strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")
	for i, step := range steps {
		at := t.child(step)
		if at == nil {
			return false
		}
		own := **at
		if i < len(steps)-1 {
			own.fields = slices.Clone(own.fields)
		}
		*at = &own
		t = *at
	}
	set(t)
	return true
}

// child returns where a type refers to the type of a field, or of its elements ([]).
func (t *Type) child(step string) **Type {
	if step == "[]" && t.elem != nil {
		return &t.elem
	}
	i, ok := t.index(step)
	if !ok {
		return nil
	}
	return &t.fields[i].typ
}
