package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

func TestOutputsOfRunnersAreBounded(t *testing.T) {
	plain := func(name, value string) api.Output { return api.Output{Name: name, Value: json.RawMessage(value)} }
	sealed := api.Output{Name: "s", Sealed: seal.Sealed{KeyID: "key-1", Ciphertext: []byte("x")}, Hash: "hmac:0f"}
	unhashed, both := sealed, sealed
	unhashed.Hash = ""
	both.Value = json.RawMessage("1")
	var many []api.Output
	for i := range maxOutputs + 1 {
		many = append(many, plain(fmt.Sprint("o", i), "1"))
	}
	large := fmt.Sprintf("%q", strings.Repeat("x", maxOutputBytes))
	for _, c := range []struct {
		name  string
		given []api.Output
		wrong string // in the error; empty if accepted
	}{
		{"plain and sealed", []api.Output{plain("a", `{"b":[1,null,"x"]}`), sealed, plain("steps.probe.ms", "12")}, ""},
		{"a name that climbs", []api.Output{plain("../a", "1")}, "use letters"},
		{"twice", []api.Output{plain("a", "1"), plain("a", "2")}, "twice"},
		{"neither", []api.Output{{Name: "a"}}, "either plain or sealed"},
		{"both", []api.Output{both}, "either plain or sealed"},
		{"sealed without a hash", []api.Output{unhashed}, "no hash"},
		{"not JSON", []api.Output{plain("a", "{")}, "not JSON"},
		{"two values", []api.Output{plain("a", "1 2")}, "more than one"},
		{"NUL", []api.Output{plain("a", `"\u0000"`)}, "NUL"},
		{"a NUL that is only spelled", []api.Output{plain("a", `"\\u0000"`)}, ""},
		{"a number beyond all numbers", []api.Output{plain("a", "1e999999")}, "too large"},
		{"too many", many, "at most"},
		{"too large", []api.Output{plain("a", large)}, "larger than"},
		{"too large together", repeated(plain("o", large[:maxOutputBytes-10]+`"`), 17), "together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := checkOutputs(c.given)
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("got %v, want an error with %q", err, c.wrong)
			}
		})
	}
}

func repeated(o api.Output, n int) []api.Output {
	var all []api.Output
	for i := range n {
		o.Name = fmt.Sprint("o", i)
		all = append(all, o)
	}
	return all
}

// TestTheHashOfAnOutputIsTheRunners: the hash is keyed, so it is stored as it
// arrives, and sent back with the value.
func TestTheHashOfAnOutputIsTheRunners(t *testing.T) {
	for hash, good := range map[string]bool{"hmac:0a": true, "": true, "x": false, "hmac:0a\n": false,
		"hmac:" + strings.Repeat("a", 200): false} {
		kept, err := checkOutputs([]api.Output{{Name: "a", Value: json.RawMessage(`{"b": 1, "a": 2}`), Hash: hash}})
		if (err == nil) != good || good && kept[0].hash != hash {
			t.Errorf("%q is kept as %+v, %v", hash, kept, err)
		}
	}
}
