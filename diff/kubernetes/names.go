package kubernetes

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
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
	return s.secretIn(n.typ, n.builtin, n.before, key, before) || s.secretIn(n.typ, n.builtin, n.after, key, after)
}

// secretIn says so of one side: value is that of key in parent, whose type is t. The API's own fields hold no secrets, whatever their names:
// there only the keys that the author chose count, and the values of environment variables.
func (s *names) secretIn(t *schema.Type, builtin bool, parent raw.Value, key string, value raw.Value) bool {
	text, ok := raw.Reveal(value).(string)
	if !ok {
		return false
	}
	if key == lastApplied {
		return true
	}
	if key == "value" {
		beside, _ := parent.Get("name")
		name, ok := raw.Reveal(beside).(string)
		return ok && s.secret(name) && literal(text)
	}
	if builtin && t.Shape() == schema.Object {
		return false
	}
	return s.secret(key) && literal(text)
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
		answer = secretName(name)
		if len(s.seen) < maxRemembered {
			s.seen[name] = answer
		}
	}
	return answer
}

// maxRemembered bounds the memory of names for hostile input.
const maxRemembered = 10_000

// secretWords in a name say that it is that of a secret, unless its end is one of plainEnds: then it says where the secret is, or how long it
// lives. Both are compared in lower case, without separators.
var (
	secretWords = []string{
		"password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "accesskey", "credential", "signingkey", "encryptionkey",
		"masterkey", "authkey", "connectionstring",
	}
	plainEnds = []string{
		"file", "path", "dir", "name", "names", "ref", "refs", "ttl", "expiry", "expiration", "expires", "enabled", "disabled", "url", "uri",
		"endpoint", "host", "port", "length", "size", "type", "header", "method", "policy", "duration", "seconds", "minutes", "hours", "days",
		"lifetime", "audience", "issuer", "class", "mode", "algorithm", "alg", "count", "limit", "rotation", "interval", "namespace", "version",
		"provider", "store", "tokens", "required", "rotate", "bucket", "selector", "format", "fromsecret",
	}
)

func secretName(name string) bool {
	// The part of an annotation before the slash is whose it is.
	plain := separators.Replace(strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]))
	if strings.HasSuffix(plain, "pwd") || plain == "pass" || strings.HasSuffix(strings.ToLower(name), "_pass") {
		return true
	}
	for _, end := range plainEnds {
		if strings.HasSuffix(plain, end) {
			return false
		}
	}
	for _, word := range secretWords {
		if strings.Contains(plain, word) {
			return true
		}
	}
	return false
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// literal says that a text is a value and no reference to one: $(OTHER), ${OTHER}, {{ template }}, <placeholder>, or a switch.
func literal(text string) bool {
	text = strings.TrimSpace(text)
	switch text {
	case "", "true", "false", "null", "none":
		return false
	}
	return !strings.HasPrefix(text, "$(") && !strings.HasPrefix(text, "${") && !strings.HasPrefix(text, "{{")
}

// secretText says that a text holds a secret by its own form: a private key, a password inside an address, an option that sets one.
func secretText(text string) bool {
	if strings.Contains(text, "PRIVATE KEY-----") {
		return true
	}
	if strings.Contains(text, "://") && strings.Contains(text, "@") && passwordInURL.MatchString(text) {
		return true
	}
	if strings.HasPrefix(text, "-") {
		name, value, found := strings.Cut(strings.TrimLeft(text, "-"), "=")
		return found && secretName(name) && literal(value)
	}
	return false
}

// passwordInURL finds SCHEME://USER:PASSWORD@, where the password is no reference to a variable.
var passwordInURL = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"']*:[^\s/@"'$({<][^\s/@"']*@`)

// optionValue says that an element of a list of arguments is what the option before it sets, and that this is a secret.
func optionValue(args raw.Value, i int) bool {
	option, ok := raw.Reveal(args.At(i - 1)).(string)
	value, isText := raw.Reveal(args.At(i)).(string)
	return ok && isText && len(option) > 1 && option[0] == '-' && !strings.Contains(option, "=") && secretName(strings.TrimLeft(option, "-")) && literal(value)
}

// secretParts are what to look for elsewhere of a text that secretText found: the secret itself, not what stands around it.
func secretParts(text string) []string {
	if strings.HasPrefix(text, "-") {
		if name, value, found := strings.Cut(strings.TrimLeft(text, "-"), "="); found && secretName(name) {
			return []string{value}
		}
	}
	var out []string
	for _, found := range passwordInURL.FindAllString(text, 16) {
		rest := found[strings.Index(found, "://")+3:]
		_, password, _ := strings.Cut(strings.TrimSuffix(rest, "@"), ":")
		out = append(out, password)
		if plain, err := url.PathUnescape(password); err == nil && plain != password {
			out = append(out, plain)
		}
	}
	return out
}

// sensitive calls found with every secret in a value that is known by its name or its form, until found returns false. Around says that
// what is around the value makes all of it secret.
func (s *names) sensitive(t *schema.Type, builtin, around bool, v raw.Value, found func(text string) bool) bool {
	switch {
	case v.IsObject():
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if !s.sensitive(t.Field(k), builtin, around || s.secretIn(t, builtin, v, k, child), child, found) {
				return false
			}
		}
	case v.IsList():
		for i := range v.Len() {
			if !s.sensitive(t.Elem(), builtin, around || optionValue(v, i), v.At(i), found) {
				return false
			}
		}
	default:
		text, isText := raw.Reveal(v).(string)
		switch {
		case around:
			text, _ = raw.Text(v)
			return found(text)
		case isText && secretText(text):
			for _, part := range append(secretParts(text), "") {
				if !found(part) {
					return false
				}
			}
		}
	}
	return true
}

// holds says that a value holds a secret that is known by its name or its form.
func (s *names) holds(t *schema.Type, builtin bool, v raw.Value) bool {
	return !s.sensitive(t, builtin, false, v, func(string) bool { return false })
}

// mentions says that a text may hold a secret by a name or its form: a quick look before a long one.
func (s *names) mentions(text string) bool {
	lower := strings.ToLower(text)
	for _, stem := range []string{"pass", "pwd", "secret", "token", "key", "cred", "conn", "://"} {
		if strings.Contains(lower, stem) {
			return true
		}
	}
	return false
}
