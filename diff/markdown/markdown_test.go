package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/markdown"
)

func render(t interface{ Fatal(...any) }, r *diff.Report, o markdown.Options) string {
	var b strings.Builder
	if err := markdown.Render(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(s string) diff.Shown { return diff.Shown{Text: s, Type: diff.TypeString} }

// TestLimit: a report of any size fits, its summary stays, and what was left out is counted.
func TestLimit(t *testing.T) {
	for _, n := range []int{1, 100, 400, 5000} {
		r := &diff.Report{Kind: "test", Applyable: true}
		for i := range n {
			r.Changes = append(r.Changes, diff.Change{
				Address: fmt.Sprintf("a.b[%05d]", i), Action: diff.Destroy, Risk: diff.RiskDestroy,
			}, diff.Change{
				Address: fmt.Sprintf("c.d[%05d]", i), Action: diff.Update, Risk: diff.RiskInPlace,
				Fields: []diff.FieldChange{{Path: "p", Before: text(strings.Repeat("x", 200)), After: text("y")}},
			})
		}
		r.Sort()
		r.Totals = r.Count()
		out := render(t, r, markdown.Options{})
		if len(out) > markdown.DefaultLimit {
			t.Errorf("%d changes: %d bytes", n, len(out))
		}
		if !strings.Contains(out, fmt.Sprintf("%d to update", n)) || !strings.Contains(out, fmt.Sprintf("%d to destroy", n)) {
			t.Errorf("%d changes: the summary is lost: %.200s", n, out)
		}
		headlines := strings.Count(out, "\n#### ")
		if left := 2*n - headlines; left > 0 && !strings.Contains(out, fmt.Sprintf("%d more changes not listed", left)) {
			t.Errorf("%d changes: %d are left out and not counted: %s", n, left, out[len(out)-200:])
		}
	}
}

// TestValuesStayInside: no value ends its fence or its code span, and prose carries no markup of its own.
func TestValuesStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evil := rapid.StringMatching("[`~\n<>@\\[\\]()!#*_a-c ]{0,30}")
		r := &diff.Report{Kind: "test", Applyable: true, Notes: []string{evil.Draw(t, "note")}, Changes: []diff.Change{{
			Address: "x" + evil.Draw(t, "address"), Action: diff.Update, Why: evil.Draw(t, "why"),
			Fields: []diff.FieldChange{{Path: "p" + evil.Draw(t, "path"), Before: text(evil.Draw(t, "before")), After: diff.Shown{Text: evil.Draw(t, "after"), Type: diff.TypeObject}}},
		}}}
		out := render(t, r, markdown.Options{})
		fence := ""
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
			switch {
			case fence == "" && strings.HasSuffix(line, "diff") && len(ticks) >= 3:
				fence = ticks
			case fence != "" && line == fence:
				fence = ""
			case fence != "" && len(ticks) >= len(fence):
				t.Fatalf("a fence is closed by a value:\n%s", out)
			case fence == "" && !strings.HasPrefix(line, "#### ") && strings.ContainsAny(line, "<@"):
				t.Fatalf("prose is not escaped: %q", line)
			}
		}
		if fence != "" {
			t.Fatalf("the fence stays open:\n%s", out)
		}
	})
}
