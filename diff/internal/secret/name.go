// Package secret tells by names and by forms what must not be shown although nobody marks it: the value of an environment variable that is
// called DB_PASSWORD, a private key, the password inside an address.
//
// It owns the words and the forms, knows nothing of where a text stands, and masks nothing itself. The packages under diff that read one
// kind of input ask it. It says no where it cannot know.
package secret

import "strings"

// words in a name say that it is that of a secret, unless its end is one of plainEnds: then it says where the secret is, or how long it
// lives. Both are compared in lower case, without separators.
var (
	words = []string{
		"password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "accesskey", "credential", "signingkey", "encryptionkey",
		"masterkey", "authkey", "connectionstring",
	}
	plainEnds = []string{
		"file", "path", "dir", "name", "names", "ref", "refs", "ttl", "expiry", "expiration", "expires", "enabled", "disabled", "url", "uri",
		"endpoint", "host", "port", "length", "size", "type", "header", "method", "policy", "duration", "seconds", "minutes", "hours", "days",
		"lifetime", "audience", "issuer", "class", "mode", "algorithm", "alg", "count", "limit", "rotation", "interval", "namespace", "version",
		"provider", "store", "tokens", "required", "rotate", "bucket", "selector", "arn", "format", "fromsecret",
	}
)

// maxName is how many bytes the name of a secret has at most.
const maxName = 256

// Name says that a name is that of a secret. One with a colon is the key of a condition in a policy (token.actions.example.com:sub), which
// says who may do something, and must be read.
func Name(name string) bool {
	if len(name) > maxName || strings.Contains(name, ":") {
		return false
	}
	// The part of an annotation before the slash is whose it is.
	lower := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	plain := strings.Map(separator, lower)
	if strings.HasSuffix(plain, "pwd") || plain == "pass" || strings.HasSuffix(lower, "_pass") {
		return true
	}
	for _, end := range plainEnds {
		if strings.HasSuffix(plain, end) {
			return false
		}
	}
	for _, word := range words {
		if strings.Contains(plain, word) {
			return true
		}
	}
	return false
}

func separator(r rune) rune {
	if r == '_' || r == '-' || r == '.' || r == ' ' {
		return -1
	}
	return r
}

// Literal says that a text is a value and no reference to one ($(OTHER), ${OTHER}, {{ template }}) and no switch.
func Literal(text string) bool {
	text = strings.TrimSpace(text)
	switch text {
	case "", "true", "false", "null", "none":
		return false
	}
	return !strings.HasPrefix(text, "$(") && !strings.HasPrefix(text, "${") && !strings.HasPrefix(text, "{{")
}
