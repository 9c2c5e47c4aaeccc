// Package raw holds values that may be or hold a secret.
//
// It owns Value, which can be walked and compared but never printed, logged or
// marshaled, and the few functions that read its content. Only the packages below diff
// can import it, so a value leaves them only through a diff.Masker. diff.Raw is Value.
package raw

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"sort"
	"strconv"
)

// Value is a value as its source has it, which may be or hold a secret. Its shape can be
// walked and two values can be compared, but its leaves cannot be read outside this package:
// printing, logging and marshaling return a placeholder or an error. The zero Value is null.
type Value struct {
	// held returns nil, bool, json.Number, string, []any or map[string]any; a nil held means
	// nil. It is a function because package fmt prints unexported fields without calling
	// their methods, and follows pointers: it cannot print what a function captures.
	held func() any
}

func (r Value) v() any {
	if r.held == nil {
		return nil
	}
	return r.held()
}

const placeholder = "(raw value)"

// ErrSecret is the error of every attempt to encode a value that may be a secret.
var ErrSecret = errors.New("a raw value cannot be marshalled: show it through a masker")

// Parse reads exactly one JSON value and preserves the spelling of its numbers.
func Parse(data []byte) (Value, error) {
	var r Value
	if err := r.UnmarshalJSON(data); err != nil {
		return Value{}, err
	}
	return r, nil
}

// UnmarshalJSON reads any JSON value. The error names the position and never quotes the value.
func (r *Value) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("not a JSON value, at byte %d", dec.InputOffset())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one JSON value, at byte %d", dec.InputOffset())
	}
	*r = Of(v)
	return nil
}

// MarshalJSON always returns an error: a raw value is shown only through a Masker.
func (Value) MarshalJSON() ([]byte, error) { return nil, ErrSecret }

// MarshalText always returns an error, so that no other encoder takes the value for a string.
func (Value) MarshalText() ([]byte, error) { return nil, ErrSecret }

// GobEncode always returns an error.
func (Value) GobEncode() ([]byte, error) { return nil, ErrSecret }

// String returns a placeholder.
func (Value) String() string { return placeholder }

// GoString returns a placeholder.
func (Value) GoString() string { return placeholder }

// Format writes a placeholder for every verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, placeholder) }

// LogValue returns a placeholder.
func (Value) LogValue() slog.Value { return slog.StringValue(placeholder) }

// IsNull reports whether the value is null or was never set.
func (r Value) IsNull() bool { return r.v() == nil }

// IsTrue reports whether the value is the boolean true. Marks next to a
// value, such as Terraform's after_unknown, consist of it.
func (r Value) IsTrue() bool { b, ok := r.v().(bool); return ok && b }

// IsObject reports whether the value is an object with keys.
func (r Value) IsObject() bool { _, ok := r.v().(map[string]any); return ok }

// IsList reports whether the value is a list.
func (r Value) IsList() bool { _, ok := r.v().([]any); return ok }

// Keys returns the sorted keys of an object. A key may itself hold a secret:
// show it through Masker.Text.
func (r Value) Keys() []string {
	m, _ := r.v().(map[string]any)
	return keysOf(m)
}

func keysOf(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// Get returns the value at a key, and whether the key exists.
func (r Value) Get(key string) (Value, bool) {
	m, _ := r.v().(map[string]any)
	v, ok := m[key]
	return Of(v), ok
}

// Len returns the number of elements of a list, and 0 for any other value.
func (r Value) Len() int { l, _ := r.v().([]any); return len(l) }

// At returns element i of a list, or null when there is none.
func (r Value) At(i int) Value {
	l, _ := r.v().([]any)
	if i < 0 || i >= len(l) {
		return Value{}
	}
	return Of(l[i])
}

// Equal compares two values. Numbers are equal if their spelling is: the
// tools that write plans spell each number in one way.
func (r Value) Equal(other Value) bool { return equal(r.v(), other.v()) }

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// hashSeed makes hashes useless outside this process, so that they cannot be
// used to guess the content of a raw value. It is read-only after start.
var hashSeed = maphash.MakeSeed()

// Hash returns a hash that is the same for equal values, within this process only.
func (r Value) Hash() uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	hashInto(&h, r.v())
	return h.Sum64()
}

func hashInto(h *maphash.Hash, v any) {
	text := func(tag byte, s string) {
		var n [9]byte
		n[0] = tag
		binary.LittleEndian.PutUint64(n[1:], uint64(len(s)))
		h.Write(n[:])
		h.WriteString(s)
	}
	switch v := v.(type) {
	case nil:
		h.WriteByte('0')
	case bool:
		if v {
			h.WriteByte('t')
		} else {
			h.WriteByte('f')
		}
	case json.Number:
		text('n', string(v))
	case string:
		text('s', v)
	case []any:
		h.WriteByte('[')
		for _, e := range v {
			hashInto(h, e)
		}
		h.WriteByte(']')
	case map[string]any:
		h.WriteByte('{')
		for _, k := range keysOf(v) {
			text('k', k)
			hashInto(h, v[k])
		}
		h.WriteByte('}')
	}
}

// Of returns a value of nil, bool, json.Number, string, []any or
// map[string]any. It does not copy them, so they must no longer change.
func Of(v any) Value { return Value{func() any { return v }} }

// Reveal returns the content of a value, see Of. The caller must not change it.
func Reveal(r Value) any { return r.v() }

// Leaves calls visit with the text of every string and number in the value, and of
// every key (isKey), until visit returns false. Booleans and null hold no secret.
func Leaves(r Value, visit func(text string, isKey bool) bool) bool { return leaves(r.v(), visit) }

func leaves(v any, visit func(string, bool) bool) bool {
	switch v := v.(type) {
	case string:
		return visit(v, false)
	case json.Number:
		return visit(string(v), false)
	case []any:
		for _, e := range v {
			if !leaves(e, visit) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			if !visit(k, true) || !leaves(e, visit) {
				return false
			}
		}
	}
	return true
}

// TextAt returns the string at a key of an object, or an empty one if there is none.
func TextAt(object Value, key string) string {
	v, _ := object.Get(key)
	s, _ := Reveal(v).(string)
	return s
}

// Text returns the complete text of the value and the name of its type in
// JSON (string, number, bool, null, object or list): the content of a string,
// or compact JSON with sorted keys for all other types.
func Text(r Value) (text, kind string) {
	switch v := r.v().(type) {
	case nil:
		return "null", "null"
	case string:
		return v, "string"
	case bool:
		return strconv.FormatBool(v), "bool"
	case json.Number:
		return string(v), "number"
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	// Every value consists of what a JSON decoder returns, so it can be encoded again.
	_ = enc.Encode(r.v())
	kind = "list"
	if r.IsObject() {
		kind = "object"
	}
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), kind
}
