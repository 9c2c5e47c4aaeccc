package values

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Output gives one output as it may leave: sealed with a keyed hash when it is sensitive or holds a secret, else plain with its
// digest. value is JSON; owner keeps the hashes of one component or action apart from another's.
func Output(name string, value []byte, sensitive bool, owner string, key seal.Identity, secret func(string) bool) (api.Output, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return api.Output{}, fmt.Errorf("output %s is not JSON", name)
	}
	plain := compact.Bytes()
	if !sensitive && !holdsSecret(plain, secret) {
		return api.Output{Name: name, Value: plain, Hash: artifact.Digest(plain)}, nil
	}
	sealed, err := key.Recipient().Seal(plain)
	if err != nil {
		return api.Output{}, fmt.Errorf("seal output %s: %w", name, err)
	}
	return api.Output{Name: name, Sealed: sealed, Hash: key.Hash("output/"+owner+"/"+name, plain)}, nil
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
