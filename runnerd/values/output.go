package values

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// SealOutput returns one output in the form that may leave the runner: sealed when it is sensitive
// or contains a secret, otherwise plain. Its keyed hash can be computed only by a holder
// of the install key, for this producer and name. value is JSON.
func SealOutput(producer Producer, name string, value []byte, sensitive bool, key seal.Identity,
	secret func(string) bool) (api.Output, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return api.Output{}, fmt.Errorf("output %s is not JSON", name)
	}
	plain, context := compact.Bytes(), producer.context(name)
	if !sensitive && !containsSecret(plain, secret) {
		return api.Output{Name: name, Value: plain, Hash: plainOutputHash(context, plain, key)}, nil
	}
	sealed, err := key.Recipient().Seal(context, plain)
	if err != nil {
		return api.Output{}, fmt.Errorf("seal output %s: %w", name, err)
	}
	return api.Output{Name: name, Sealed: sealed, Hash: context.Hash(key, plain)}, nil
}

// plainOutputHash returns the keyed hash of a plain output's canonical text. It returns ""
// for a value without a canonical text, one with a number that does not fit a double,
// so that the value is never authentic.
func plainOutputHash(context seal.Context, plain []byte, key seal.Identity) string {
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return ""
	}
	text, err := canonicalJSON(value)
	if err != nil {
		return ""
	}
	return context.Hash(key, text)
}

// containsSecret checks the JSON and each unescaped text in it.
func containsSecret(value []byte, secret func(string) bool) bool {
	if secret(string(value)) {
		return true
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return false // the end: the value was compacted before, so it is valid JSON
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

// MaxOutputBytes is the largest value or ciphertext of an output that the control plane stores.
const MaxOutputBytes = 256 << 10

// ManifestOutput returns the output manifest: all that was applied, as text, sealed. If the control
// plane would not store it, ManifestOutput warns and returns none, because such a text is of no use in
// a template and must not fail the deploy of, for example, a chart of large CRDs.
func ManifestOutput(producer Producer, text string, key seal.Identity,
	warn func(string, ...any)) ([]api.Output, error) {
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("write the output manifest: %w", err)
	}
	output, err := SealOutput(producer, "manifest", encoded, true, key, nil)
	if err != nil {
		return nil, err
	}
	if size := len(output.Sealed.Ciphertext); size > MaxOutputBytes {
		warn("the output manifest is left out: sealed it has %d bytes, and an output at most %d", size, MaxOutputBytes)
		return nil, nil
	}
	return []api.Output{output}, nil
}
