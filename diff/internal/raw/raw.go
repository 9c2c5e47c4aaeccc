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
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Value is a value as its source has it, which may be or hold a secret. Its shape can be
// walked and two values can be compared, but its leaves cannot be read outside this package:
// printing, logging and marshaling return a placeholder or an error. The zero Value is null.
//
// A value never changes. It takes 16 bytes and shares the bytes of its texts, so that the many values
// of a large manifest take about as much memory as its text.
type Value struct {
	_ [0]func() // no ==, which would compare addresses
	// content points to the bytes of a text, the elements of a list or the fields of an object.
	// Package fmt prints unexported fields without calling their methods, and follows pointers,
	// but not those of package unsafe.
	content unsafe.Pointer
	// shape is the kind, in the highest byte, and the length, see newShape.
	shape uint64
}

// Field is an entry of an object.
type Field struct {
	Key   string
	Value Value
}

type kind uint8

const (
	null kind = iota
	boolFalse
	boolTrue
	number
	text
	list
	object
)

const kindBits = 56

// lengthMask makes the lengths of values useless outside this process, for the case that a struct
// with a Value is printed. It is read-only after start.
var lengthMask = maphash.Bytes(maphash.MakeSeed(), nil) >> (64 - kindBits)

func newShape(k kind, length int) uint64 { return uint64(k)<<kindBits | uint64(length) ^ lengthMask }

func (r Value) kind() kind { return kind(r.shape >> kindBits) }

func (r Value) length() int { return int(r.shape&(1<<kindBits-1) ^ lengthMask) }

// chars returns the characters of a text or a number.
func (r Value) chars() string { return unsafe.String((*byte)(r.content), r.length()) }

// elements returns the elements of a list.
func (r Value) elements() []Value { return unsafe.Slice((*Value)(r.content), r.length()) }

// Fields returns the entries of an object, sorted by key, and none of any other value. The caller
// must not change them. A key may itself hold a secret: show it through Masker.Text.
func (r Value) Fields() []Field {
	if r.kind() != object {
		return nil
	}
	return unsafe.Slice((*Field)(r.content), r.length())
}

// Null returns null.
func Null() Value { return Value{} }

// OfText returns a string.
func OfText(s string) Value {
	return Value{content: unsafe.Pointer(unsafe.StringData(s)), shape: newShape(text, len(s))}
}

// OfNumber returns a number, which must be valid JSON.
func OfNumber(digits string) Value {
	return Value{content: unsafe.Pointer(unsafe.StringData(digits)), shape: newShape(number, len(digits))}
}

// OfBool returns a boolean.
func OfBool(b bool) Value {
	if b {
		return Value{shape: newShape(boolTrue, 0)}
	}
	return Value{shape: newShape(boolFalse, 0)}
}

// OfList returns a list. Its elements must no longer change.
func OfList(elements []Value) Value {
	return Value{content: unsafe.Pointer(unsafe.SliceData(elements)), shape: newShape(list, len(elements))}
}

// OfObject returns an object. It sorts the fields, which must no longer change. It returns not ok if
// a key is repeated.
func OfObject(fields []Field) (v Value, ok bool) {
	if !slices.IsSortedFunc(fields, byKey) {
		slices.SortStableFunc(fields, byKey)
	}
	for i := range fields[min(1, len(fields)):] {
		if fields[i].Key == fields[i+1].Key {
			return Value{}, false
		}
	}
	return sorted(fields), true
}

func byKey(a, b Field) int { return strings.Compare(a.Key, b.Key) }

// sorted returns an object of fields that are sorted by their keys, which are different.
func sorted(fields []Field) Value {
	return Value{content: unsafe.Pointer(unsafe.SliceData(fields)), shape: newShape(object, len(fields))}
}

// With returns an object with another value at a key.
func (r Value) With(key string, v Value) Value {
	fields := r.Fields()
	i, found := find(fields, key)
	out := make([]Field, 0, len(fields)+1)
	out = append(append(out, fields[:i]...), Field{key, v})
	if found {
		i++
	}
	return sorted(append(out, fields[i:]...))
}

// Without returns an object without a key.
func (r Value) Without(key string) Value {
	fields := r.Fields()
	i, found := find(fields, key)
	if !found {
		return r
	}
	return sorted(slices.Concat(fields[:i], fields[i+1:]))
}

// find returns the position of a key.
func find(fields []Field, key string) (int, bool) {
	if len(fields) <= 8 {
		for i := range fields {
			if fields[i].Key >= key {
				return i, fields[i].Key == key
			}
		}
		return len(fields), false
	}
	return slices.BinarySearchFunc(fields, key, func(f Field, key string) int { return strings.Compare(f.Key, key) })
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
	if v, ok := parseShort(data); ok {
		*r = v
		return nil
	}
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

// parseShort reads the most frequent values, for which a decoder is expensive: words, short numbers
// and strings without escapes.
func parseShort(data []byte) (Value, bool) {
	switch string(data) {
	case "":
		return Value{}, false
	case "null":
		return Null(), true
	case "true", "false":
		return OfBool(data[0] == 't'), true
	case "{}":
		return OfObject(nil)
	case "[]":
		return OfList(nil), true
	}
	last := len(data) - 1
	if data[0] == '"' && last > 0 && data[last] == '"' && isPlain(data[1:last]) {
		return OfText(string(data[1:last])), true
	}
	isNumber := data[0] != '0' || last == 0
	for _, c := range data {
		isNumber = isNumber && '0' <= c && c <= '9'
	}
	return OfNumber(string(data)), isNumber
}

// isPlain reports whether characters are the same in JSON as in the string that they are.
func isPlain[T string | []byte](chars T) bool {
	for i := range len(chars) {
		if c := chars[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
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
func (r Value) IsNull() bool { return r.kind() == null }

// IsTrue reports whether the value is the boolean true. Marks next to a
// value, such as Terraform's after_unknown, consist of it.
func (r Value) IsTrue() bool { return r.kind() == boolTrue }

// IsObject reports whether the value is an object with keys.
func (r Value) IsObject() bool { return r.kind() == object }

// IsList reports whether the value is a list.
func (r Value) IsList() bool { return r.kind() == list }

// Keys returns the sorted keys of an object. A key may itself hold a secret:
// show it through Masker.Text.
func (r Value) Keys() []string {
	fields := r.Fields()
	keys := make([]string, len(fields))
	for i := range fields {
		keys[i] = fields[i].Key
	}
	return keys
}

// Get returns the value at a key, and whether the key exists.
func (r Value) Get(key string) (Value, bool) {
	fields := r.Fields()
	i, ok := find(fields, key)
	if !ok {
		return Value{}, false
	}
	return fields[i].Value, true
}

// Len returns the number of elements of a list, and 0 for any other value.
func (r Value) Len() int {
	if r.kind() != list {
		return 0
	}
	return r.length()
}

// At returns element i of a list, or null when there is none.
func (r Value) At(i int) Value {
	if i < 0 || i >= r.Len() {
		return Value{}
	}
	return r.elements()[i]
}

// Equal compares two values. Numbers are equal if their spelling is: the
// tools that write plans spell each number in one way.
func (r Value) Equal(other Value) bool {
	if r.shape != other.shape {
		return false
	}
	if r.content == other.content {
		return true
	}
	switch r.kind() {
	case number, text:
		return r.chars() == other.chars()
	case list:
		return slices.EqualFunc(r.elements(), other.elements(), Value.Equal)
	case object:
		return slices.EqualFunc(r.Fields(), other.Fields(), func(a, b Field) bool {
			return a.Key == b.Key && a.Value.Equal(b.Value)
		})
	}
	return true
}

// hashSeed makes hashes useless outside this process, so that they cannot be
// used to guess the content of a raw value. It is read-only after start.
var hashSeed = maphash.MakeSeed()

// Hash returns a hash that is the same for equal values, within this process only.
func (r Value) Hash() uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	r.hashInto(&h)
	return h.Sum64()
}

func (r Value) hashInto(h *maphash.Hash) {
	k := r.kind()
	_ = h.WriteByte(byte(k)) // it never fails
	switch k {
	case number, text:
		hashText(h, r.chars())
	case list:
		hashLength(h, r.length())
		for _, e := range r.elements() {
			e.hashInto(h)
		}
	case object:
		hashLength(h, r.length())
		for _, f := range r.Fields() {
			hashText(h, f.Key)
			f.Value.hashInto(h)
		}
	}
}

func hashText(h *maphash.Hash, s string) {
	hashLength(h, len(s))
	_, _ = h.WriteString(s) // it never fails
}

func hashLength(h *maphash.Hash, n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	_, _ = h.Write(b[:]) // it never fails
}

// Leaves calls visit with the text of every string and number in the value, and of
// every key (isKey), until visit returns false. Booleans and null hold no secret.
func Leaves(r Value, visit func(text string, isKey bool) bool) bool {
	switch r.kind() {
	case number, text:
		return visit(r.chars(), false)
	case list:
		for _, e := range r.elements() {
			if !Leaves(e, visit) {
				return false
			}
		}
	case object:
		for _, f := range r.Fields() {
			if !visit(f.Key, true) || !Leaves(f.Value, visit) {
				return false
			}
		}
	}
	return true
}

// Map returns the value with each string replaced by the result of change.
func Map(r Value, change func(text string) string) Value {
	switch r.kind() {
	case text:
		return OfText(change(r.chars()))
	case list:
		out := make([]Value, r.length())
		for i, e := range r.elements() {
			out[i] = Map(e, change)
		}
		return OfList(out)
	case object:
		out := make([]Field, r.length())
		for i, f := range r.Fields() {
			out[i] = Field{f.Key, Map(f.Value, change)}
		}
		return sorted(out)
	}
	return r
}

// String returns the content of a string. It returns not ok for any other value.
func String(r Value) (s string, ok bool) {
	if r.kind() != text {
		return "", false
	}
	return r.chars(), true
}

// Number returns the digits of a number. It returns not ok for any other value.
func Number(r Value) (digits string, ok bool) {
	if r.kind() != number {
		return "", false
	}
	return r.chars(), true
}

// IsScalar reports whether the value is no list and no object.
func (r Value) IsScalar() bool { return r.kind() < list }

// TextAt returns the string at a key of an object, or an empty one if there is none.
func TextAt(object Value, key string) string {
	v, _ := object.Get(key)
	s, _ := String(v)
	return s
}
