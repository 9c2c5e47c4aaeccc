package values

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Output returns one output as it may leave: sealed when it is sensitive or holds a secret, else plain, with a keyed hash that only
// a holder of the install key can make for this producer and name. value is JSON.
func Output(from Producer, name string, value []byte, sensitive bool, key seal.Identity, secret func(string) bool) (api.Output, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return api.Output{}, fmt.Errorf("output %s is not JSON", name)
	}
	plain, context := compact.Bytes(), from.context(name)
	if !sensitive && !holdsSecret(plain, secret) {
		return api.Output{Name: name, Value: plain, Hash: hashPlain(context, plain, key)}, nil
	}
	sealed, err := key.Recipient().Seal(context, plain)
	if err != nil {
		return api.Output{}, fmt.Errorf("seal output %s: %w", name, err)
	}
	return api.Output{Name: name, Sealed: sealed, Hash: context.Hash(key, plain)}, nil
}

// hashPlain returns the keyed hash of a plain output, by its canonical text. It is empty, so that the value is never authentic, for a
// value that has no such text: one with a number that no double can hold.
func hashPlain(context seal.Context, plain []byte, key seal.Identity) string {
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return ""
	}
	text, err := canonical(value)
	if err != nil {
		return ""
	}
	return context.Hash(key, text)
}

// holdsSecret looks at the JSON and at each text in it, where nothing is escaped.
func holdsSecret(value []byte, secret func(string) bool) bool {
	if secret(string(value)) {
		return true
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return false // the end: the value was compacted before, so it is whole
		}
		switch token := token.(type) {
		case string:
			if secret(token) {
				return true
			}
		case json.Number:
			if secret(token.String()) {
				return true
			}
		}
	}
}
