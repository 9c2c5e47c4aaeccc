package kubernetes

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// names tells by the name of a field that its value must not be shown: environment variables, settings in ConfigMaps and annotations, the
// fields of custom resources and of documents inside strings. It remembers what it has told; the zero value works, for one goroutine.
type names struct {
	seen map[string]bool
}

// secretField says that the value at a key is a secret, by the key, or by the name that stands beside a "value".
func (s *names) secretField(n node, key string) bool {
	before, _ := n.before.Get(key)
	after, _ := n.after.Get(key)
	return s.secretIn(n.typ, n.builtin, n.holds, n.before, key, before) || s.secretIn(n.typ, n.builtin, n.holds, n.after, key, after)
}

// secretIn says so of one side: value is that of key in parent, whose type is t. The API's own fields hold no secrets, whatever their names:
// there only the keys that the author chose count, and the values of environment variables and headers.
func (s *names) secretIn(t *schema.Type, builtin bool, holds holding, parent raw.Value, key string, value raw.Value) bool {
	if holds.secretAt(builtin, parent, key, value) || !builtin && secret.KeyPart(parent, key, value) {
		return true
	}
	name := key
	if key == "value" {
		name = secret.Beside(parent)
	}
	text, isText := raw.Reveal(value).(string)
	if _, header := secret.Header(name, text); header || isText && key == lastApplied || key == "auth" && secret.Basic(text) {
		return true
	}
	if key != "value" && builtin && t.Shape() == schema.Object {
		return false
	}
	return secret.Value(name, value, s.secret)
}

// lastApplied is the annotation in which kubectl keeps a copy of the whole object, with all that it holds.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secret says that a name is that of a secret.
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

// secretText says that a text holds a secret by its own form: a private key, a password inside an address, an option that sets one.
func secretText(text string) bool {
	_, option := optionSets(text)
	return option || secret.Form(text)
}

// optionSets is the secret that an argument of the form --NAME=VALUE sets.
func optionSets(arg string) (value string, ok bool) {
	if !strings.HasPrefix(arg, "-") {
		return "", false
	}
	name, value, found := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return value, found && secret.Text(name, value)
}

// optionValue says that an element of a list of arguments is what the option before it sets, and that this is a secret.
func optionValue(args raw.Value, i int) bool {
	option, ok := raw.Reveal(args.At(i - 1)).(string)
	if !ok || len(option) < 2 || option[0] != '-' || strings.Contains(option, "=") {
		return false
	}
	return secret.Value(strings.TrimLeft(option, "-"), args.At(i), secret.Name)
}

// secretParts are what to look for elsewhere of a text that secretText found: the secret itself, not what stands around it.
func secretParts(text string) []string {
	if value, ok := optionSets(text); ok {
		return []string{value}
	}
	return secret.Passwords(text)
}

// minTellingNumber is how many digits a number has at least that is looked for elsewhere: shorter ones are ports, years and counts, too.
const minTellingNumber = 6

// tellingPart is what to look for elsewhere of a value that is known to be secret by what is around it; empty for what says nothing.
func tellingPart(v raw.Value) string {
	text, kind := raw.Text(v)
	switch {
	case kind == "number" && len(text) < minTellingNumber || kind != "number" && kind != "string":
		return ""
	case !secret.Literal(text):
		return ""
	}
	if scheme, rest, ok := strings.Cut(text, " "); ok && (strings.EqualFold(scheme, "basic") || strings.EqualFold(scheme, "bearer")) {
		return strings.TrimSpace(rest)
	}
	return text
}

// sensitive calls found with every secret in a value that is known by its name or its form, until found returns false; with an empty text
// for what is secret and needs not be looked for elsewhere. Around says that what is around the value makes all of it secret.
func (s *names) sensitive(
	t *schema.Type, builtin, around bool, holds holding, v raw.Value, found func(text string) bool,
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
		return found(tellingPart(v))
	}
	text, isText := raw.Reveal(v).(string)
	if !isText || !secretText(text) {
		return true
	}
	for _, part := range append(secretParts(text), "") {
		if !found(part) {
			return false
		}
	}
	return true
}

// sensitiveKeys is sensitive for an object. Of one that is secret as a whole only its "value" is looked for elsewhere: what stands beside it
// are words.
func (s *names) sensitiveKeys(
	t *schema.Type, builtin, around bool, holds holding, v raw.Value, found func(text string) bool,
) bool {
	if around && !found("") {
		return false
	}
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		inner := around && k == "value" || s.secretIn(t, builtin, holds, v, k, child)
		below := holds.at(builtin, v, k, child)
		if below == secretData && !child.IsNull() && (!child.IsObject() || len(child.Keys()) > 0) {
			if !found("") || !copiesOf(k, child, found) {
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

// holds says that a value holds a secret that is known by its name or its form.
func (s *names) holds(t *schema.Type, builtin bool, holds holding, v raw.Value) bool {
	return !s.sensitive(t, builtin, false, holds, v, func(string) bool { return false })
}
