package cluster

import (
	"encoding/base64"

	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// FieldManager is the author of what runners write to objects, as the API server records it in
// their managed fields.
const FieldManager = "nuon-runner"

// IsImmutableField reports whether an API server's message means that a field
// cannot be changed in place.
func IsImmutableField(message string) bool { return immutable.MatchString(message) }

// minSecret is the shortest value of a Secret, in bytes, that is masked everywhere.
// A shorter one would mask half of the log.
const minSecret = 6

// AddSecretValues adds the values of an object to the known secrets if it is a Secret,
// so that messages of the server that quote them are masked.
func AddSecretValues(object map[string]any, known *values.Secrets) {
	if object["apiVersion"] != "v1" || object["kind"] != "Secret" {
		return
	}
	texts, _ := object["stringData"].(map[string]any)
	for _, value := range texts {
		if text, ok := value.(string); ok {
			addSecretText(text, known)
		}
	}
	data, _ := object["data"].(map[string]any)
	for _, value := range data {
		text, ok := value.(string)
		if !ok {
			continue
		}
		addSecretText(text, known)
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
			addSecretText(string(plain), known)
		}
	}
}

func addSecretText(text string, known *values.Secrets) {
	if len(text) >= minSecret {
		known.Add(text)
	}
}
