package schema

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Shape is the JSON form of the values of a type.
type Shape uint8

// The shapes. An Object has named fields, a Map keys of the author's choice.
const (
	Any Shape = iota
	Object
	Map
	List
	String
	Integer
	Number
	Boolean
)

// ListKind is how the elements of a list are identified.
type ListKind uint8

// The kinds of lists, as in x-kubernetes-list-type. Unknown is a list without
// that key, and every type that is no list.
const (
	Unknown ListKind = iota
	Atomic
	SetList
	MapList
)

// Format is the meaning of a scalar beyond its text.
type Format uint8

// The formats. Plain strings are equal only if their texts are; IntOrString
// is a number, or a string with a percentage or a name; Bytes is base64.
const (
	Plain Format = iota
	Quantity
	IntOrString
	Duration
	Time
	Bytes
)

// Type describes the value of one field. All methods accept nil, for a value
// without a known type. A Type is read-only and safe for concurrent use.
type Type struct {
	shape    Shape
	list     ListKind
	format   Format
	preserve bool
	assigned bool
	nullable bool
	// emptyIsNone means that the API server treats an empty value ("", 0,
	// false, [], {}) like an absent one.
	emptyIsNone bool
	keys        []string
	fields      []field // sorted by name
	elem        *Type
	fallback    fallback
}

type field struct {
	name string
	typ  *Type
}

// Shape returns the form of a value of the type; Any if every form is allowed
// or the type is unknown.
func (t *Type) Shape() Shape {
	if t == nil {
		return Any
	}
	return t.shape
}

// Field returns the type of a key: of a named field, or of any key of a map.
// It returns nil if the schema has no such field.
func (t *Type) Field(name string) *Type {
	if t == nil {
		return nil
	}
	if i, ok := t.index(name); ok {
		return t.fields[i].typ
	}
	if t.shape == Map {
		return t.elem
	}
	return nil
}

// index returns the position of a field, or where it would be inserted.
func (t *Type) index(name string) (int, bool) {
	return slices.BinarySearchFunc(t.fields, name, func(f field, n string) int { return strings.Compare(f.name, n) })
}

// Elem returns the type of the elements of a list or of the values of a map,
// and nil for all others.
func (t *Type) Elem() *Type {
	if t == nil {
		return nil
	}
	return t.elem
}

// Known reports whether the API server would keep the key: it is a field of the schema,
// a key of a map, unknown fields are preserved, or nothing is known about the type.
func (t *Type) Known(name string) bool {
	if t == nil || t.preserve || t.shape == Any || t.shape == Map {
		return true
	}
	_, ok := t.index(name)
	return ok
}

// Fields returns the names of the type's own fields, sorted.
func (t *Type) Fields() []string {
	if t == nil {
		return nil
	}
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.name
	}
	return names
}

// List returns how the elements of a list are identified. A manifest that was
// never sent to a server may violate the published keys: if an element lacks a
// key, or two elements have the same, the caller compares by content instead.
func (t *Type) List() ListKind {
	if t == nil {
		return Unknown
	}
	return t.list
}

// Keys returns the fields that identify the elements of a MapList, in the published
// order. A key that an element omits counts with its default (protocol TCP): see
// Type.Default of the element's field. The caller must not change the result.
func (t *Type) Keys() []string {
	if t == nil {
		return nil
	}
	return t.keys
}

// Format returns the meaning of a scalar of the type beyond its text.
func (t *Type) Format() Format {
	if t == nil {
		return Plain
	}
	return t.format
}

// KeepsNull reports whether the API server distinguishes null at a key of an
// object from an absent key. In a map of its own kinds it replaces null with the
// zero value. In a field of its own kinds it treats null as absent. In a custom
// resource it drops null only if the field has a default and is not nullable.
func (t *Type) KeepsNull(builtin bool, key string) bool {
	if t.Shape() == Map {
		return true
	}
	field := t.Field(key)
	_, falls := field.Default()
	return !builtin && (!falls || field.nullable)
}

// Zero returns what the API server stores for null as a value of the type in
// a map of its own kinds; null if it keeps null.
func (t *Type) Zero() raw.Value {
	switch {
	case t.Format() == Quantity:
		return raw.Of("0")
	case t.Shape() == String:
		return raw.Of("")
	}
	return raw.Value{}
}

// Preserve reports whether fields that the schema does not define are kept
// (x-kubernetes-preserve-unknown-fields).
func (t *Type) Preserve() bool { return t != nil && t.preserve }
