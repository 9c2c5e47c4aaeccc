package action

import (
	"encoding/json"
	"testing"
)

// FuzzOutputs checks that reading any output file ends with an error or with
// outputs that can be encoded.
func FuzzOutputs(f *testing.F) {
	f.Add([]byte("a=b\n{\"c\": {\"d\": 1e400}}\n"))
	f.Add([]byte("{\n \"a\": [1, 2]\n}\n"))
	f.Add([]byte("=x\n"))
	f.Add([]byte("a\x00\xff=\xfe\n[1]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		made, err := parseOutputs(content)
		if err != nil {
			if made != nil {
				t.Fatal("both outputs and an error")
			}
			return
		}
		if _, err := json.Marshal(made); err != nil {
			t.Fatal(err)
		}
	})
}
