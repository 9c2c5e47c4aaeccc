package ambient

import (
	"encoding/json"
	"slices"
	"strings"
)

// minLeaf is the least length of a text inside a credential in JSON that counts by itself; shorter ones are words such as
// "service_account".
const minLeaf = 16

// Secrets gives the values of a job process's environment that must not be shown in a log: of the identity's variables those that
// are credentials by their name, and of those that the owner named all.
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
