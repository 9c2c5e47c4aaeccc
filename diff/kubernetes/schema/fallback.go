package schema

import (
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// fallback is the API server's default for an omitted field.
type fallback struct {
	value raw.Value
	has   bool
	// in are the defaults that depend on sibling fields; the first that applies counts.
	in []func(parent raw.Value) (raw.Value, bool)
}

// Default returns the API server's default for the field, independently of the rest of the
// object. The zero values that are published for fields which are always written ("", 0, false,
// {}) count too: omitting such a field and writing its zero value are the same. The default of
// an object may be {} although its fields have defaults, too: see IsDefault.
func (t *Type) Default() (raw.Value, bool) {
	if t == nil {
		return raw.Value{}, false
	}
	return t.fallback.value, t.fallback.has
}

// DefaultIn is like Default for a field that is omitted in parent, whose other fields may decide:
// an image without a tag is always pulled, a Service's targetPort is its port, a Deployment has a
// rollingUpdate unless its strategy is Recreate. If no sibling decides, it returns Default.
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

// IsDefault reports whether v is what the API server stores for a field that parent
// omits: null, its default, an empty value without a meaning (see EmptyIsNone), or
// an object in which every field has its default. The caller passes a field that
// one side has (v) and the other omits; t is the type of the field, and parent the
// object that omits it (null if that is omitted as well). Parent must not be the
// object that has the field: the server's defaults in it hide what was specified.
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

// EmptyIsNone reports whether the server treats an empty value of the field like an
// absent one. This applies to "", 0 and false if the API's Go field is no pointer
// and omits zero values, and to empty lists and maps of the API's own kinds, since
// those are stored as protobuf messages. A custom resource keeps empty values.
func (t *Type) EmptyIsNone() bool { return t != nil && t.emptyIsNone }

func (t *Type) isEmpty(v raw.Value) bool {
	if !t.EmptyIsNone() {
		return false
	}
	text, isText := raw.String(v)
	digits, isNumber := raw.Number(v)
	switch {
	case isText:
		return text == ""
	case isNumber:
		return equalNumbers(digits, "0")
	case v.IsList():
		return v.Len() == 0
	case v.IsObject():
		return len(v.Fields()) == 0
	}
	return !v.IsNull() && !v.IsTrue()
}

// completed reports whether v equals value with the defaults of t's fields added.
func (t *Type) completed(v, value raw.Value) bool {
	for _, f := range v.Fields() {
		key, has := f.Key, f.Value
		given, ok := value.Get(key)
		if ok && !Equal(t.Field(key), has, given) || !ok && !t.Field(key).IsDefault(has, value) {
			return false
		}
	}
	return true
}
