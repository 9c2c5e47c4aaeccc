package jobenv

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minLeaf is the minimum length of a text inside a JSON credential that is masked separately;
// shorter ones are words such as "service_account".
const minLeaf = 16

// Secrets returns the values of a job process's environment that must not be shown in a log:
// the credentials (by name) among the identity's variables, all variables that the owner named,
// and the passwords in proxy addresses.
func Secrets(environ []string) [][]byte {
	named := passedNames(environ)
	var made [][]byte
	for _, entry := range pick(environ, func(name string) bool {
		return slices.Contains(named, name) || isIdentity(name) && isCredential(name)
	}) {
		_, value, _ := strings.Cut(entry, "=")
		made = append(made, []byte(value))
		var parts map[string]any
		if json.Unmarshal([]byte(value), &parts) != nil {
			continue
		}
		for _, part := range parts {
			if text, ok := part.(string); ok && len(text) >= minLeaf {
				made = append(made, []byte(text))
			}
		}
	}
	return append(made, proxyPasswords(environ)...)
}

// proxyPasswords returns the passwords in proxy addresses, as written and
// with escapes resolved.
func proxyPasswords(environ []string) [][]byte {
	var made [][]byte
	for _, entry := range pick(environ, func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name),
			"_proxy")
	}) {
		_, value, _ := strings.Cut(entry, "=")
		at := strings.LastIndex(value, "@")
		if at < 0 {
			continue
		}
		// The text before the colon of the login is the scheme, if any, and the user.
		written := value[:at]
		written = written[strings.Index(written, "://")+1:]
		_, written, _ = strings.Cut(strings.TrimPrefix(written, "//"), ":")
		made = append(made, []byte(written))
		if meant, err := url.PathUnescape(written); err == nil && meant != written {
			made = append(made, []byte(meant))
		}
	}
	return made
}

// isCredential reports whether a variable's name suggests a credential, as opposed to the
// path or address of one.
func isCredential(name string) bool {
	for _, ending := range []string{"_FILE", "_PATH", "_URI", "_URL", "_DIR"} {
		if strings.HasSuffix(name, ending) {
			return false
		}
	}
	if name == "GOOGLE_APPLICATION_CREDENTIALS" {
		return false // a path
	}
	return slices.ContainsFunc([]string{"SECRET", "TOKEN", "PASSWORD", "KEY", "CREDENTIAL", "HEADER", "CERTIFICATE"},
		func(word string) bool {
			return strings.Contains(name, word)
		})
}
