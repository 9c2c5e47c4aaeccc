package diff

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
)

// Raw is a value as its source has it, which may be or hold a secret. Its shape can be walked and two of them can be compared,
// but its leaves cannot be read outside this package: printing, logging and marshalling give a placeholder or an error. The zero
// Raw is null.
type Raw struct {
	// v is nil, bool, json.Number, string, []any or map[string]any.
	v any
}

const rawPlaceholder = "(raw value)"

var errRaw = errors.New("a raw value cannot be marshalled: show it through a masker")

// ParseRaw reads exactly one JSON value, with its numbers as they are written.
func ParseRaw(data []byte) (Raw, error) {
	var r Raw
	if err := r.UnmarshalJSON(data); err != nil {
		return Raw{}, err
	}
	return r, nil
}

// UnmarshalJSON reads any JSON value. The error says where it went wrong and never quotes the value.
func (r *Raw) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("not a JSON value, at byte %d", dec.InputOffset())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one JSON value, at byte %d", dec.InputOffset())
	}
	r.v = v
	return nil
}

// MarshalJSON always fails: a raw value leaves only through a Masker.
func (Raw) MarshalJSON() ([]byte, error) { return nil, errRaw }

// MarshalText always fails, so that no other encoder takes it for a string.
func (Raw) MarshalText() ([]byte, error) { return nil, errRaw }

// GobEncode always fails.
func (Raw) GobEncode() ([]byte, error) { return nil, errRaw }

// String is a placeholder.
func (Raw) String() string { return rawPlaceholder }

// GoString is a placeholder.
func (Raw) GoString() string { return rawPlaceholder }

// Format writes a placeholder for every verb.
func (Raw) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, rawPlaceholder) }

// LogValue is a placeholder.
func (Raw) LogValue() slog.Value { return slog.StringValue(rawPlaceholder) }

// IsNull says that the value is null or was never set.
func (r Raw) IsNull() bool { return r.v == nil }

// IsTrue says that the value is the boolean true. Marks that lie beside a value, such as Terraform's after_unknown, are made of
// it.
func (r Raw) IsTrue() bool { b, ok := r.v.(bool); return ok && b }

// IsObject says that the value has keys.
func (r Raw) IsObject() bool { _, ok := r.v.(map[string]any); return ok }

// IsList says that the value has elements by number.
func (r Raw) IsList() bool { _, ok := r.v.([]any); return ok }

// Keys are the sorted keys of an object. A key may itself hold a secret: show it through Masker.Text.
func (r Raw) Keys() []string {
	m, _ := r.v.(map[string]any)
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// Get is the value at a key, and whether the key is there.
func (r Raw) Get(key string) (Raw, bool) {
	m, _ := r.v.(map[string]any)
	v, ok := m[key]
	return Raw{v}, ok
}

// Len is the number of elements of a list, and 0 for all else.
func (r Raw) Len() int { l, _ := r.v.([]any); return len(l) }

// At is the element i of a list, or null when there is none.
func (r Raw) At(i int) Raw {
	l, _ := r.v.([]any)
	if i < 0 || i >= len(l) {
		return Raw{}
	}
	return Raw{l[i]}
}

// Equal compares two values. Numbers are equal when they are written alike: the tools that write plans write each number in one
// way.
func (r Raw) Equal(other Raw) bool { return equal(r.v, other.v) }

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

// hashSeed makes hashes useless outside this process: they must not become a way to guess what a raw value holds. It is read-only
// after start.
var hashSeed = maphash.MakeSeed()

// Hash is equal for equal values, within this process only.
func (r Raw) Hash() uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	hashInto(&h, r.v)
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
		for _, k := range (Raw{v}).Keys() {
			text('k', k)
			hashInto(h, v[k])
		}
		h.WriteByte('}')
	}
}

// leaves calls visit with the text of every string and number in the value, and of every key (isKey), until visit returns false.
// Booleans and null hold no secret.
func (r Raw) leaves(visit func(text string, isKey bool) bool) bool { return leaves(r.v, visit) }

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

// text is the complete text of the value and its type: the content of a string, compact JSON with sorted keys for all else.
func (r Raw) text() (string, ValueType) {
	switch v := r.v.(type) {
	case nil:
		return "null", TypeNull
	case string:
		return v, TypeString
	case bool:
		return fmt.Sprint(v), TypeBool
	case json.Number:
		return string(v), TypeNumber
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	// Every value comes from a JSON decoder, so it can be encoded again.
	_ = enc.Encode(r.v)
	t := TypeList
	if r.IsObject() {
		t = TypeObject
	}
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), t
}
