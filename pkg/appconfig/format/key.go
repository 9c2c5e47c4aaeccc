package format

import (
	"reflect"
	"slices"
	"strings"
)

// ValueType is what the value of a key must look like.
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
	Table     ValueType = "table"   // a table with keys of its own
	Tables    ValueType = "tables"  // an array of such tables
	MergedMap ValueType = "merged"  // a table of strings, or an array of such tables
	AnyValue  ValueType = "any"
)

// Describe say to people what such a value is.
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

// Key is what the format says about one key: one field of a struct of this package, as data.
type Key struct {
	Name        string            `json:"name"`        // the key itself
	Path        string            `json:"path"`        // with the keys above it, such as steps.env_vars
	Description string            `json:"description"` // from the field's comment: whole sentences
	Type        ValueType         `json:"type"`
	Required    bool              `json:"required,omitempty"`
	Values      []string          `json:"values,omitempty"`     // allowed values; nil: any
	Suggested   []string          `json:"known,omitempty"`      // likewise, but package appconfig says what another value means
	OldValues   map[string]string `json:"old_values,omitempty"` // older spellings of values, to the current one
	Default     string            `json:"default,omitempty"`
	Example     string            `json:"example,omitempty"`
	Format      string            `json:"format,omitempty"` // duration, cron, regexp, url or json; empty: any text
	Template    bool              `json:"template,omitempty"`
	File        bool              `json:"file,omitempty"`      // a reference may stand for the text
	Unordered   bool              `json:"unordered,omitempty"` // the order of the elements means nothing
	SortedBy    string            `json:"sorted_by,omitempty"` // likewise, of tables: the key that tells them apart
	NoEffectYet bool              `json:"idle,omitempty"`      // accepted, no effect yet
	OldNames    []string          `json:"old_names,omitempty"`
	Unsupported bool              `json:"stray,omitempty"` // no key of the format, but people write it
	Removed     bool              `json:"gone,omitempty"`  // no key of the format any more
	Hint        string            `json:"hint,omitempty"`  // what to write instead of a stray or gone key
	Keys        []Key             `json:"keys,omitempty"`  // of a table or tables, in the order of the fields
	Index       []int             `json:"-"`               // of the field in the struct above it, as reflect.Value.FieldByIndex wants it
}

// keysOf are the keys of the struct t, whose own path is above. Keys of embedded structs are among them, where the struct is embedded.
// What is not a struct has none.
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

// valueType is what a field of type t holds, and the struct that a table, or the tables, below it are; nil for all else.
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
