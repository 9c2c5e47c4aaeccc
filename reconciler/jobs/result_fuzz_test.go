package jobs

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// FuzzResult checks that any result from a runner is refused, or becomes one that Postgres can
// store, within the limits and unchanged by another cleaning.
func FuzzResult(f *testing.F) {
	f.Add(
		[]byte(
			`{"status":"succeeded","plan":{"applyable":true,"report":{"a":"\u0000","b":1e400},"report_digest":"d"}}`,
		),
	)
	f.Add([]byte(`{"status":"failed","error":"` + strings.Repeat("x\u0000", 9000) + `"}`))
	f.Add(
		[]byte(`{"status":"succeeded","apply":{"outputs":[{"name":"n","value":{"deep":[[[[1.0000000000000000000001]]]]}}]}}`),
	)
	f.Add([]byte(`{"status":"lost","action":{"outputs":{"a":-0}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var result api.JobResult
		if json.Unmarshal(body, &result) != nil {
			return
		}
		clean, err := cleanResult(result)
		if err != nil {
			return
		}
		raw, err := json.Marshal(clean)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `\u0000`) && !strings.Contains(string(raw), `\\u0000`) || !utf8.Valid(raw) ||
			len(clean.Error) > maxError+len("…") {
			t.Fatalf("%s is kept", raw)
		}
		again, err := cleanResult(clean)
		if err != nil {
			t.Fatalf("cleaned, it is refused: %v\n%s", err, raw)
		}
		if twice, err := json.Marshal(again); err != nil ||
			len(clean.Error) <= maxError && string(twice) != string(raw) {
			t.Fatalf("%s became %s, %v", raw, twice, err)
		}
	})
}
