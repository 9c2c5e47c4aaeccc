package raw

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// Of returns a value of nil, bool, json.Number, string, []any or map[string]any, in which parts can
// also be a Value. It copies lists and objects, and shares texts. Anything else has the value of its
// JSON; without one it is null.
func Of(v any) Value {
	switch v := v.(type) {
	case nil:
		return Value{}
	case Value:
		return v
	case bool:
		return OfBool(v)
	case json.Number:
		return OfNumber(string(v))
	case string:
		return OfText(v)
	case []any:
		out := make([]Value, len(v))
		for i, e := range v {
			out[i] = Of(e)
		}
		return OfList(out)
	case map[string]any:
		out := make([]Field, 0, len(v))
		for k, e := range v {
			out = append(out, Field{k, Of(e)})
		}
		r, _ := OfObject(out) // the keys of a map are different
		return r
	}
	data, err := json.Marshal(v)
	if err != nil {
		return Value{}
	}
	r, _ := Parse(data) // what was just written can be read
	return r
}

// Reveal returns a copy of a value: nil, bool, json.Number, string, []any or map[string]any.
func Reveal(r Value) any {
	switch r.kind() {
	case boolFalse, boolTrue:
		return r.IsTrue()
	case number:
		return json.Number(r.chars())
	case text:
		return r.chars()
	case list:
		out := make([]any, r.length())
		for i, e := range r.elements() {
			out[i] = Reveal(e)
		}
		return out
	case object:
		out := make(map[string]any, r.length())
		for _, f := range r.Fields() {
			out[f.Key] = Reveal(f.Value)
		}
		return out
	}
	return nil
}

// Text returns the complete text of the value and the name of its type in
// JSON (string, number, bool, null, object or list): the content of a string,
// or compact JSON with sorted keys for all other types.
func Text(r Value) (text, kind string) {
	switch r.kind() {
	case null:
		return "null", "null"
	case boolFalse, boolTrue:
		return strconv.FormatBool(r.IsTrue()), "bool"
	case number:
		return r.chars(), "number"
	case list:
		return jsonOf(r), "list"
	case object:
		return jsonOf(r), "object"
	}
	return r.chars(), "string"
}

func jsonOf(r Value) string {
	text := appendJSON(make([]byte, 0, jsonSize(r)), r)
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// jsonSize returns the number of bytes of a value's compact JSON, without those of rare escapes.
func jsonSize(r Value) int {
	n := len("false")
	switch r.kind() {
	case number, text:
		n = quotedSize(r.chars())
	case list:
		n = len("[]") + r.length()
		for _, e := range r.elements() {
			n += jsonSize(e)
		}
	case object:
		n = len("{}")
		for _, f := range r.Fields() {
			n += quotedSize(f.Key) + len(":,") + jsonSize(f.Value)
		}
	}
	return n
}

// quotedSize returns the number of bytes that appendQuoted appends, without those of rare escapes.
func quotedSize(s string) int {
	n := len(s) + len(`""`)
	for i := range len(s) {
		if c := s[i]; c == '"' || c == '\\' || c == '\n' || c == '\t' {
			n++
		}
	}
	return n
}

// appendJSON appends compact JSON.
func appendJSON(to []byte, r Value) []byte {
	switch r.kind() {
	case null:
		return append(to, "null"...)
	case boolFalse, boolTrue:
		return strconv.AppendBool(to, r.IsTrue())
	case number:
		return append(to, r.chars()...)
	case list:
		to = append(to, '[')
		for i, e := range r.elements() {
			if i > 0 {
				to = append(to, ',')
			}
			to = appendJSON(to, e)
		}
		return append(to, ']')
	case object:
		to = append(to, '{')
		for i, f := range r.Fields() {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(appendQuoted(to, f.Key), ':')
			to = appendJSON(to, f.Value)
		}
		return append(to, '}')
	}
	return appendQuoted(to, r.chars())
}

// appendQuoted appends a string as package encoding/json writes it without escapes for HTML. That
// package writes what follows the first byte that is neither printable ASCII nor one of the usual
// escapes.
func appendQuoted(to []byte, s string) []byte {
	to = append(to, '"')
	if isPlain(s) {
		return append(append(to, s...), '"')
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			to = append(to, '\\', c)
		case c == '\n':
			to = append(to, '\\', 'n')
		case c == '\t':
			to = append(to, '\\', 't')
		case c < ' ', c >= utf8.RuneSelf:
			return append(to, encoded(s[i:])[1:]...)
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}

// encoded returns a string as package encoding/json writes it without escapes for HTML.
func encoded(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
