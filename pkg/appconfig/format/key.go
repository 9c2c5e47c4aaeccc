package format

import (
	"reflect"
	"slices"
	"strings"
)

// ValueType is the type of a key's value.
type ValueType string

// The types of values.
const (
	String    ValueType = "string"
	Bool      ValueType = "bool"
	Number    ValueType = "number"  // a whole number
	Strings   ValueType = "strings" // an array of strings
	Map       ValueType = "map"     // a table of strings
	Flags     ValueType = "flags"   // a table of bools
	TypedMap  ValueType = "scalars" // a table of scalars, which keep their types
	Table     ValueType = "table"   // a table with its own keys
	Tables    ValueType = "tables"  // an array of such tables
	MergedMap ValueType = "merged"  // a table of strings, or an array of such tables
	AnyValue  ValueType = "any"
)

// Describe returns the name of the type for messages and docs.
func (t ValueType) Describe() string {
	switch t {
	case String:
		return "text"
	case Bool:
		return "true or false"
	case Number:
		return "whole number"
	case Strings:
		return "array of texts"
	case Map:
		return "table of texts"
	case Flags:
		return "table of true or false"
	case TypedMap:
		return "table of texts, numbers and true or false"
	case Tables:
		return "array of tables"
	case MergedMap:
		return "table of texts, or an array of them"
	case AnyValue:
		return "anything"
	}
	return string(t)
}

// Key describes one key of the format: one field of a struct of this package.
type Key struct {
	Name        string            `json:"name"`        // the key itself
	Path        string            `json:"path"`        // the key with those above it, such as steps.env_vars
	Description string            `json:"description"` // complete sentences, from the field's comment
	Type        ValueType         `json:"type"`
	Required    bool              `json:"required,omitempty"`
	Values      []string          `json:"values,omitempty"`     // allowed values; nil: any
	Suggested   []string          `json:"known,omitempty"`      // known values; package appconfig reports others
	OldValues   map[string]string `json:"old_values,omitempty"` // maps older spellings of values to the current ones
	Default     string            `json:"default,omitempty"`
	Example     string            `json:"example,omitempty"`
	Format      string            `json:"format,omitempty"` // duration, cron, regexp, url or json; empty: any text
	Template    bool              `json:"template,omitempty"`
	File        bool              `json:"file,omitempty"`      // the value may be a reference to a file
	Unordered   bool              `json:"unordered,omitempty"` // the order of the elements is irrelevant
	SortedBy    string            `json:"sorted_by,omitempty"` // for unordered tables: the key that identifies an element
	NoEffectYet bool              `json:"idle,omitempty"`      // accepted, no effect yet
	OldNames    []string          `json:"old_names,omitempty"`
	Unsupported bool              `json:"stray,omitempty"` // not a key of the format, but in common use
	Removed     bool              `json:"gone,omitempty"`  // not a key of the format any more
	Hint        string            `json:"hint,omitempty"`  // what to write instead of an unsupported or removed key
	Keys        []Key             `json:"keys,omitempty"`  // the keys of a table or tables, in the order of the fields
	Index       []int             `json:"-"`               // the index of the field in its struct, for reflect.Value.FieldByIndex
}

// keysOf returns the keys of the struct t at the path above, including those of embedded structs.
// It returns nil for other types.
func keysOf(t reflect.Type, above []string) []Key {
	if t.Kind() != reflect.Struct {
		return nil
	}
	keys := []Key{}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			for _, k := range keysOf(field.Type, above) {
				k.Index = append([]int{i}, k.Index...)
				keys = append(keys, k)
			}
			continue
		}
		keys = append(keys, keyOf(t, field, above))
	}
	return keys
}

func keyOf(t reflect.Type, field reflect.StructField, above []string) Key {
	name := field.Tag.Get("toml")
	path := append(slices.Clone(above), name)
	k := Key{
		Name: name, Path: strings.Join(path, "."), Description: describe(t.Name() + "." + field.Name),
		Example: field.Tag.Get("example"), Hint: field.Tag.Get("hint"), Index: []int{field.Index[0]},
	}
	k.readConfig(field.Tag.Get("config"))
	k.OldValues = oldValues(field.Tag.Get("values"))
	elem := reflect.Type(nil)
	k.Type, elem = valueType(field.Type)
	k.Unsupported, k.Removed = field.Type == reflect.TypeFor[Unsupported](), field.Type == reflect.TypeFor[Removed]()
	if elem != nil {
		k.Keys = keysOf(elem, path)
		if k.Description == "" {
			k.Description = describe(elem.Name())
		}
	}
	return k
}

// valueType returns the type of the value of a field of type t and, for tables, the struct of the
// table.
func valueType(t reflect.Type) (ValueType, reflect.Type) {
	switch t {
	case reflect.TypeFor[Unsupported](), reflect.TypeFor[Removed](), reflect.TypeFor[Any]():
		return AnyValue, nil
	case reflect.TypeFor[Values]():
		return MergedMap, nil
	case reflect.TypeFor[Scalars]():
		return TypedMap, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return valueType(t.Elem())
	case reflect.String:
		return String, nil
	case reflect.Bool:
		return Bool, nil
	case reflect.Int:
		return Number, nil
	case reflect.Struct:
		return Table, t
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return Tables, t.Elem()
		}
		return Strings, nil
	case reflect.Map:
		if t.Elem().Kind() == reflect.Bool {
			return Flags, nil
		}
		return Map, nil
	}
	return AnyValue, nil
}
