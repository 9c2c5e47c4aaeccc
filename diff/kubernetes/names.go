package kubernetes

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// names decides by the name of a field that its value must not be shown: environment variables,
// settings in ConfigMaps and annotations, the fields of custom resources and of documents
// inside strings. It caches its results; the zero value is ready to use, for one goroutine.
type names struct {
	seen map[string]bool
}

// secretField reports whether the value at a key is a secret, by the key or
// by the name next to a "value".
func (s *names) secretField(n node, key string) bool {
	before, _ := n.before.Get(key)
	after, _ := n.after.Get(key)
	return s.secretIn(n.typ, n.builtin, n.holds, n.before, key, before) ||
		s.secretIn(n.typ, n.builtin, n.holds, n.after, key, after)
}

// secretIn is like secretField for one side: value is that of key in parent, whose type is t. The
// API's own fields hold no secrets, regardless of their names: in them only the keys that the author
// chooses count, and the values of environment variables and headers.
func (s *names) secretIn(t *schema.Type, builtin bool, holds secretScope, parent raw.Value, key string,
	value raw.Value) bool {
	if holds.secretAt(builtin, parent, key, value) || !builtin && secret.KeyPart(parent, key, value) {
		return true
	}
	name := key
	if key == "value" {
		name = secret.Beside(parent)
	}
	text, isText := raw.String(value)
	if _, header := secret.Header(name, text); header || isText && key == lastApplied || key == "auth" &&
		secret.Basic(text) {
		return true
	}
	if key != "value" && builtin && t.Shape() == schema.Object {
		return false
	}
	return secret.Value(name, value, s.secret)
}

// lastApplied is the annotation in which kubectl stores a copy of the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secret reports whether a name is that of a secret.
func (s *names) secret(name string) bool {
	if s == nil || len(name) > 256 {
		return false
	}
	answer, ok := s.seen[name]
	if !ok {
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		answer = secret.Name(name)
		if len(s.seen) < maxRemembered {
			s.seen[name] = answer
		}
	}
	return answer
}

// maxRemembered bounds the memory of names for hostile input.
const maxRemembered = 10_000

// optionSets returns the secret that an argument of the form --NAME=VALUE sets.
func optionSets(arg string) (value string, ok bool) {
	if !strings.HasPrefix(arg, "-") {
		return "", false
	}
	name, value, found := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return value, found && secret.Text(name, value)
}

// optionValue reports whether an element of a list of arguments is a secret
// that the option before it sets.
func optionValue(args raw.Value, i int) bool {
	option, ok := raw.String(args.At(i - 1))
	if !ok || len(option) < 2 || option[0] != '-' || strings.Contains(option, "=") {
		return false
	}
	value, _ := raw.String(args.At(i))
	return secret.Option(option, value) || secret.Value(strings.TrimLeft(option, "-"), args.At(i), secret.Name)
}

// minTellingNumber is the smallest number of digits in a number that is
// masked elsewhere: shorter ones may be ports, years or counts.
const minTellingNumber = 6

// tellingPart returns the text to mask elsewhere for a value that its context
// marks as secret. It is empty for a value that is not distinctive.
func tellingPart(v raw.Value) string {
	text, kind := raw.Text(v)
	switch {
	case kind == "number" && len(text) < minTellingNumber || kind != "number" && kind != "string":
		return ""
	case !secret.Literal(text):
		return ""
	}
	if scheme, rest, ok := strings.Cut(text, " "); ok &&
		(strings.EqualFold(scheme, "basic") || strings.EqualFold(scheme, "bearer")) {
		return strings.TrimSpace(rest)
	}
	return text
}

// sensitive calls found with every secret in a value that is recognized by its name
// or its form, until found returns false. The text is empty for a secret that need
// not be masked elsewhere. Whole means that the secret is all of a text, not a part
// that can be cut out. Around means that the context makes all of the value secret.
func (s *names) sensitive(t *schema.Type, builtin, around bool, holds secretScope, v raw.Value, found foundSecret,
) bool {
	switch {
	case v.IsObject():
		return s.sensitiveKeys(t, builtin, around, holds, v, found)
	case v.IsList():
		for i := range v.Len() {
			if !s.sensitive(t.Elem(), builtin, around || optionValue(v, i), holds, v.At(i), found) {
				return false
			}
		}
		return true
	case around:
		return found(tellingPart(v), true)
	}
	text, _ := raw.String(v)
	if value, ok := optionSets(text); ok && !found(value, true) {
		return false
	}
	for _, part := range secret.Passwords(text) {
		if !found(part, false) {
			return false
		}
	}
	return true
}

// foundSecret is called with the text of a secret to mask elsewhere.
type foundSecret func(text string, whole bool) bool

// sensitiveKeys is like sensitive for an object. If the object is secret as a
// whole, only its "value" is masked elsewhere: the other fields are ordinary words.
func (s *names) sensitiveKeys(t *schema.Type, builtin, around bool, holds secretScope, v raw.Value,
	found foundSecret) bool {
	if around && !found("", true) {
		return false
	}
	for _, f := range v.Fields() {
		k, child := f.Key, f.Value
		inner := around && k == "value" || s.secretIn(t, builtin, holds, v, k, child)
		below := holds.at(builtin, v, k, child)
		if below == secretData && !child.IsNull() && (!child.IsObject() || len(child.Fields()) > 0) {
			if !found("", true) || !copiesOf(k, child, func(text string) bool { return found(text, true) }) {
				return false
			}
			continue
		}
		if !s.sensitive(t.Field(k), builtin, inner, below, child, found) {
			return false
		}
	}
	return true
}

// holds reports whether a value holds a secret that is recognized by its name, or by an option
// that sets it. Secrets recognized by their form are cut out of their texts, see redactSides.
func (s *names) holds(t *schema.Type, builtin bool, holds secretScope, v raw.Value) bool {
	return !s.sensitive(t, builtin, false, holds, v, func(_ string, whole bool) bool { return !whole })
}
