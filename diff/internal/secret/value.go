package secret

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// minNumber is the smallest number of digits in a number that counts as a
// secret: shorter ones are counts.
const minNumber = 4

// Value reports whether a value with the name of a secret is one: a text that is no
// reference, a number that is long enough, a list with one of these, or an object
// with one in its "value". Other objects describe where a secret is stored, and a
// list named "secrets" lists names of them. Is answers like Name, and may be cached.
func Value(name string, v raw.Value, is func(name string) bool) bool {
	switch {
	case v.IsNull():
		return false
	case v.IsObject():
		inner, ok := v.Get("value")
		return ok && !inner.IsObject() && Value(name, inner, is)
	case v.IsList():
		if strings.HasSuffix(strings.ToLower(name), "secrets") {
			return false
		}
		if !is(name) {
			name = strings.TrimSuffix(name, "s")
		}
		if v.Len() == 0 || !is(name) {
			return false
		}
		for i := range v.Len() {
			if e := v.At(i); !e.IsList() && Value(name, e, is) {
				return true
			}
		}
		return false
	}
	text, kind := raw.Text(v)
	if !is(name) {
		return kind == "string" && weakName(name) && Random(text)
	}
	return kind == "number" && len(text) >= minNumber || kind == "string" && isSecretText(name, text)
}

// Beside returns the name next to a "value" in an object: that of an
// environment variable, a parameter, a setting.
func Beside(object raw.Value) string {
	if name := raw.TextAt(object, "name"); name != "" {
		return name
	}
	return raw.TextAt(object, "key")
}
