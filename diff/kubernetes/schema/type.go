package schema

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Shape is what a value of a type is written as.
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

// ListKind says how the elements of a list are told apart.
type ListKind uint8

// The kinds of lists, as x-kubernetes-list-type has them. Unknown is what says nothing of it, and all that is no list.
const (
	Unknown ListKind = iota
	Atomic
	SetList
	MapList
)

// Format is what a scalar means beyond its text.
type Format uint8

// The formats. Plain strings are equal only when their texts are; IntOrString is a number, or a string with a percentage or a name; Bytes
// is base64.
const (
	Plain Format = iota
	Quantity
	IntOrString
	Duration
	Time
	Bytes
)

// Type is what is known of the value of one field. All methods work on nil, which is a value of which nothing is known. A Type is read-only
// and may be used by many goroutines.
type Type struct {
	shape    Shape
	list     ListKind
	format   Format
	preserve bool
	assigned bool
	nullable bool
	// emptyIsNone says that an empty value ("", 0, false, [], {}) and none are the same to the API server.
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

// Shape is what a value of the type is written as; Any when that is open or nothing is known.
func (t *Type) Shape() Shape {
	if t == nil {
		return Any
	}
	return t.shape
}

// Field is the type of a key: of a named field, or of any key of a map. It is nil when the schema has no such field.
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

// index is where a field is, or belongs.
func (t *Type) index(name string) (int, bool) {
	return slices.BinarySearchFunc(t.fields, name, func(f field, n string) int { return strings.Compare(f.name, n) })
}

// Elem is the type of the elements of a list or of the values of a map, nil for all else.
func (t *Type) Elem() *Type {
	if t == nil {
		return nil
	}
	return t.elem
}

// Known says that the API server would keep the key: it is a field of the schema, a key of a map, or unknown fields are preserved, or
// nothing is known of the type at all.
func (t *Type) Known(name string) bool {
	if t == nil || t.preserve || t.shape == Any || t.shape == Map {
		return true
	}
	_, ok := t.index(name)
	return ok
}

// Fields are the names of the type's own fields, sorted.
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

// List says how the elements of a list are told apart. A published key is no promise for a manifest that was never sent to a server: where
// an element lacks a key, or two elements have the same, the caller falls back to comparing by content.
func (t *Type) List() ListKind {
	if t == nil {
		return Unknown
	}
	return t.list
}

// Keys are the fields by which the elements of a MapList are told apart, in the published order. A key that an element leaves out counts
// with its default (protocol TCP): see Type.Default of the element's field. The result must not be changed.
func (t *Type) Keys() []string {
	if t == nil {
		return nil
	}
	return t.keys
}

// Format is what a scalar of the type means beyond its text.
func (t *Type) Format() Format {
	if t == nil {
		return Plain
	}
	return t.format
}

// KeepsNull says that the API server tells null at a key of an object from no such key. In a map of its own it makes the zero value of null.
// A field of its own that is null is not there. Of a custom resource it drops null only where the field has a default and is not nullable.
func (t *Type) KeepsNull(builtin bool, key string) bool {
	if t.Shape() == Map {
		return true
	}
	field := t.Field(key)
	_, falls := field.Default()
	return !builtin && (!falls || field.nullable)
}

// Zero is what the API server makes of null as a value of the type in a map of its own; null where it keeps that.
func (t *Type) Zero() raw.Value {
	switch {
	case t.Format() == Quantity:
		return raw.Of("0")
	case t.Shape() == String:
		return raw.Of("")
	}
	return raw.Value{}
}

// Preserve says that fields which the schema does not name are kept (x-kubernetes-preserve-unknown-fields).
func (t *Type) Preserve() bool { return t != nil && t.preserve }
