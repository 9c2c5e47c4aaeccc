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
}

// decode links the types of a table. All types are elements of one slice, so
// that 1,200 of them take few allocations.
func decode(data []byte) (*decoded, error) {
	t, err := table.Read(data)
	if err != nil {
		return nil, err
	}
	d := &decoded{kubernetes: t.Kubernetes, types: make([]Type, len(t.Types)), named: map[string]*Type{}, kinds: t.Kinds}
	defaults := map[string]raw.Value{}
	for i := range t.Types {
		if err := d.fill(i, &t.Types[i], defaults); err != nil {
			return nil, err
		}
	}
	for i := range t.Types {
		if from := &t.Types[i]; from.Shape == 'r' {
			was := d.types[i].fallback
			d.types[i] = d.types[from.Elem]
			d.types[i].fallback = was
		}
	}
	return d, nil
}

// fill sets the fields of type i, except those that it inherits from the type that it refers to.
func (d *decoded) fill(i int, from *table.Type, defaults map[string]raw.Value) error {
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
	if from.Default == "" {
		return nil
	}
	v, ok := defaults[from.Default]
	if !ok {
		var err error
		if v, err = raw.Parse([]byte(from.Default)); err != nil {
			return err
		}
		defaults[from.Default] = v
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
