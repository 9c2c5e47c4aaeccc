package schema

import (
	"encoding/json"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// fallback is what the API server takes for a field that is left out.
type fallback struct {
	value raw.Value
	has   bool
	// in are the defaults that hang on what stands beside the field; the first that answers counts.
	in []func(parent raw.Value) (raw.Value, bool)
}

// Default is what the API server takes where the field is left out, whatever else the object says. The zero values that are published for
// fields which are always written ("", 0, false, {}) count too: leaving such a field out and writing the zero value are the same. The default
// of an object may be {} although its fields have defaults of their own: see IsDefault.
func (t *Type) Default() (raw.Value, bool) {
	if t == nil {
		return raw.Value{}, false
	}
	return t.fallback.value, t.fallback.has
}

// DefaultIn is Default for a field that is left out of parent, whose other fields may decide: an image without a tag is always pulled, a
// Service's targetPort is its port, a Deployment has a rollingUpdate unless its strategy is Recreate. Where nothing beside it decides, it is
// Default.
func (t *Type) DefaultIn(parent raw.Value) (raw.Value, bool) {
	if t == nil {
		return raw.Value{}, false
	}
	for _, f := range t.fallback.in {
		if v, ok := f(parent); ok {
			return v, true
		}
	}
	return t.Default()
}

// IsDefault says that v is what the API server makes of a field that is left out of parent: null, its default, an empty value where that
// means nothing (see EmptyIsNone), or an object in which every field is what it would be if it were left out. The caller asks it for a field
// that one side has (v) and the other side leaves out; t is the type of the field, and parent the object that leaves it out (null where that
// is left out as well). It must not be the object that has it: what the server filled in there hides what was asked for.
func (t *Type) IsDefault(v, parent raw.Value) bool {
	if v.IsNull() || t.isEmpty(v) {
		return true
	}
	value, ok := t.DefaultIn(parent)
	if !ok {
		return false
	}
	if Equal(t, v, value) {
		return true
	}
	if !v.IsObject() || !value.IsObject() || t.shape != Object {
		return false
	}
	for _, key := range value.Keys() {
		if _, ok := v.Get(key); !ok {
			return false
		}
	}
	return t.completed(v, value)
}

// EmptyIsNone says that the server does not tell an empty value of the field from none. So it is with "", 0 and false where the API's Go type
// is no pointer and leaves out what is zero, and with empty lists and maps of the API's own kinds, since those are stored as protobuf
// messages. A custom resource keeps what it was given.
func (t *Type) EmptyIsNone() bool { return t != nil && t.emptyIsNone }

func (t *Type) isEmpty(v raw.Value) bool {
	if !t.EmptyIsNone() {
		return false
	}
	switch v := raw.Reveal(v).(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case json.Number:
		return equalNumbers(string(v), "0")
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// completed says that v is what the defaults of t's fields make of value.
func (t *Type) completed(v, value raw.Value) bool {
	for _, key := range v.Keys() {
		has, _ := v.Get(key)
		given, ok := value.Get(key)
		if ok && !Equal(t.Field(key), has, given) || !ok && !t.Field(key).IsDefault(has, value) {
			return false
		}
	}
	return true
}
