package ambient

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minLeaf is the least length of a text inside a credential in JSON that counts by itself; shorter ones are words such as
// "service_account".
const minLeaf = 16

// Secrets gives the values of a job process's environment that must not be shown in a log: of the identity's variables those that
// are credentials by their name, of those that the owner named all, and the passwords in the addresses of proxies.
func Secrets(environ []string) [][]byte {
	named := namedIn(environ)
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

// proxyPasswords gives what the addresses of proxies tell of how to log in there, as it stands in the address and as it is meant.
func proxyPasswords(environ []string) [][]byte {
	var made [][]byte
	for _, entry := range pick(environ, func(name string) bool { return strings.HasSuffix(strings.ToLower(name), "_proxy") }) {
		_, value, _ := strings.Cut(entry, "=")
		at := strings.LastIndex(value, "@")
		if at < 0 {
			continue
		}
		// What is before the colon of the login is the scheme, if there is one, and the user.
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

// isCredential tells by the name whether a variable has a credential, and not where one lies.
func isCredential(name string) bool {
	for _, ending := range []string{"_FILE", "_PATH", "_URI", "_URL", "_DIR"} {
		if strings.HasSuffix(name, ending) {
			return false
		}
	}
	if name == "GOOGLE_APPLICATION_CREDENTIALS" {
		return false // a path
	}
	return slices.ContainsFunc([]string{"SECRET", "TOKEN", "PASSWORD", "KEY", "CREDENTIAL", "HEADER", "CERTIFICATE"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}
