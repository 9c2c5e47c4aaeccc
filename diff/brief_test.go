package diff_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
)

// TestBrief checks that counts of zero are omitted.
func TestBrief(t *testing.T) {
	for _, c := range []struct {
		totals             diff.Totals
		words, brief, loss string
	}{
		{diff.Totals{Unchanged: 9, Outputs: 1}, "", "", ""},
		{diff.Totals{Create: 1, Update: 2}, "1 to create, 2 to update", "+1 ~2", ""},
		{diff.Totals{Replace: 3, Destroy: 4, Move: 1}, "3 to replace, 4 to destroy, 1 to move", "±3 -4",
			"destroys 4 and replaces 3"},
		{diff.Totals{Replace: 1}, "1 to replace", "±1", "replaces 1"},
	} {
		if words, brief, loss := c.totals.Text(), c.totals.Brief(), c.totals.LossSummary(); words != c.words ||
			brief != c.brief ||
			loss != c.loss {
			t.Errorf("%+v: %q, %q, %q", c.totals, words, brief, loss)
		}
	}
}
