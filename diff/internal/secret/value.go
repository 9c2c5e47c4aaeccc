package secret

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// minNumber is how many digits a number has at least that is taken for a secret: shorter ones count something.
const minNumber = 4

// Value says that a value is a secret if its name is that of one: a text that is no reference, a
// number that is long enough, a list of such, or an object with one in its "value". Other objects
// say where a secret is, and a list of "secrets" is one of their names. Is answers like Name,
// perhaps from memory.
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

// Beside is the name that stands beside a "value" in an object: that of an environment variable, a
// parameter, a setting.
func Beside(object raw.Value) string {
	if name := raw.TextAt(object, "name"); name != "" {
		return name
	}
	return raw.TextAt(object, "key")
}
