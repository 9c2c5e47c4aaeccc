package diff_test

import (
	"os"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
)

// TestWordsAreDescribed checks that docs/diff.md explains every sign, section
// and risk that a report can show.
func TestWordsAreDescribed(t *testing.T) {
	raw, err := os.ReadFile("../docs/diff.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	var words []string
	for _, a := range []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Destroy, diff.Move, diff.Import,
		diff.Forget, diff.Read} {
		words = append(words, "| `"+diff.Change{Action: a}.Symbol()+"` |")
	}
	words = append(words, "| `"+diff.Change{Action: diff.Replace, Order: diff.CreateFirst}.Symbol()+"` |")
	one := []diff.Change{{Address: "a"}}
	all := diff.Report{Changes: one, Outputs: one, Hooks: one, Tests: one, Kept: one, Drift: one, Deferred: one,
		Checks: []diff.Check{{Address: "a", Status: diff.CheckFail}}}
	for _, s := range all.Sections() {
		if s.Title != "" {
			words = append(words, "| "+s.Title+" |")
		}
	}
	for r := diff.RiskNone; r <= diff.RiskDestroy; r++ {
		words = append(words, "`"+r.Label()+"`")
	}
	for _, w := range words {
		if !strings.Contains(page, w) {
			t.Errorf("docs/diff.md does not explain %s", w)
		}
	}
}
