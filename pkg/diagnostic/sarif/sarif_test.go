package sarif

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

func found() diagnostic.Diagnostics {
	return diagnostic.Diagnostics{
		{File: "apps/web/metadata.toml", Line: 2, Column: 1, Width: 11, Severity: diagnostic.Error, Rule: "unknown-key",
			Message: `unknown key "displayname"`, Hint: `did you mean "display_name"?`},
		{File: "apps/web/a b:ä.toml", Line: 3, Column: 9, Width: 6, Severity: diagnostic.Warning, Rule: "idle",
			Message: "accepted, no effect yet: labels"},
		{File: "apps/web/a b:ä.toml", Line: 7, Column: 1, Severity: diagnostic.Warning, Rule: "idle",
			Message: "accepted, no effect yet: labels"},
		{File: "x.toml", Line: 0, Column: 0, Severity: diagnostic.Error, Rule: "new",
			Message: "a rule that is in no list"},
	}
}

func log() Log {
	tool := Tool{"nuon", "1.2.3", []Rule{{Name: "idle", Summary: "Nothing acts on it yet.", Warns: true},
		{Name: "unknown-key", Summary: "Keys are those of the format."}}}
	return New(tool, found(), func(i int) (string, bool) { return `größe = "äöü" # three`, i == 1 })
}

// TestGolden checks the log in the form that hosts read.
func TestGolden(t *testing.T) {
	got, err := json.MarshalIndent(log(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/golden.sarif.json"
	golden.Check(t, file, string(got)+"\n")
}

// TestFingerprints checks that fingerprints do not change when lines move, and that they are
// unique.
func TestFingerprints(t *testing.T) {
	moved := found()
	for i := range moved {
		moved[i].Line += 10
	}
	before, after := log().Runs[0].Results, New(Tool{}, moved, nil).Runs[0].Results
	all := map[string]bool{}
	for i := range before {
		all[before[i].Fingerprints[fingerprint]] = true
		if before[i].Fingerprints[fingerprint] != after[i].Fingerprints[fingerprint] {
			t.Errorf("%s is not known again", before[i].Message.Text)
		}
	}
	if len(all) != len(before) {
		t.Errorf("%d results have %d fingerprints", len(before), len(all))
	}
}

// TestNothingFound checks that a log without results has an empty list, from which a host concludes
// that earlier results are fixed.
func TestNothingFound(t *testing.T) {
	got, err := json.Marshal(New(Tool{Name: "nuon"}, nil, nil))
	if err != nil || !strings.Contains(string(got), `"results":[]`) || !strings.Contains(string(got), `"rules":[]`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestCharacters(t *testing.T) {
	for _, c := range []struct {
		line         string
		column, want int
	}{{"abc", 1, 1}, {"abc", 3, 3}, {"abc", 4, 4}, {"abc", 6, 6}, {"äbc", 3, 2}, {"äbc", 5, 4}, {"", 1, 1},
		{"日本", 7, 3}, {"日本", 9, 5}} {
		if got := characters(c.line, c.column); got != c.want {
			t.Errorf("column %d of %q is character %d, want %d", c.column, c.line, got, c.want)
		}
	}
}
