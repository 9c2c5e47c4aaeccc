package terminal_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// long returns a report of n changes with a text of 20 changed lines each, and of n more changes in
// folded fields only.
func long(n int) *diff.Report {
	var lines []diff.Line
	for range 10 {
		lines = append(lines, diff.Line{Op: diff.LineRemoved, Text: "one line of a script"},
			diff.Line{Op: diff.LineAdded, Text: "another line of it"})
	}
	r := &diff.Report{Kind: diff.KindKubernetes, Applyable: true}
	for i := range n {
		r.Changes = append(r.Changes, sample.Object("shop", "ConfigMap", fmt.Sprintf("c%05d", i), diff.Update,
			diff.FieldChange{Path: "data.script", Lines: lines},
			diff.FieldChange{Path: "data.color", Before: text("blue"), After: text(fmt.Sprint("green ", i))}))
		r.Changes = append(r.Changes, sample.Object("shop", "Service", fmt.Sprintf("s%05d", i), diff.Update,
			diff.FieldChange{Path: "metadata.labels.chart", Before: text("1"), After: text("2"), Fold: "chart label"}))
	}
	r.Sort()
	r.Totals = r.Count()
	return r
}

// TestCostFollowsWhatIsSeen checks that opening a page of 10,000 folded changes lays nothing out,
// and that a screen of it costs the same as a screen of a short page, also side by side.
func TestCostFollowsWhatIsSeen(t *testing.T) {
	short, huge := long(40), long(10_000)
	for _, o := range []terminal.PageOptions{{}, {Side: true}, {All: true, Side: true}} {
		open := testing.AllocsPerRun(1, func() { terminal.NewPage(huge, o) })
		if open > 2_000 {
			t.Errorf("%+v: opening a page of 20,000 changes makes %.0f allocations", o, open)
		}
		screen := func(p *terminal.Page) float64 {
			return testing.AllocsPerRun(5, func() {
				for line := max(p.Len()-45, 0); line < p.Len(); line++ {
					p.Rows(line, 140)
				}
			})
		}
		few, many := screen(terminal.NewPage(short, o)), screen(terminal.NewPage(huge, o))
		if many > few*1.2 {
			t.Errorf("%+v: the end of a long page makes %.0f allocations, that of a short one %.0f", o, many, few)
		}
	}
}

// BenchmarkOpen measures the time to open a page of 20,000 changes.
func BenchmarkOpen(b *testing.B) {
	r := long(10_000)
	b.ReportAllocs()
	for b.Loop() {
		terminal.NewPage(r, terminal.PageOptions{Side: true})
	}
}

// BenchmarkScreen measures a side-by-side screen in the middle of the page.
func BenchmarkScreen(b *testing.B) {
	p := terminal.NewPage(long(10_000), terminal.PageOptions{Side: true})
	for b.Loop() {
		for line := p.Len() / 2; line < p.Len()/2+45; line++ {
			p.Rows(line, 140)
		}
	}
}

// BenchmarkRender measures 10,000 changes with a text of 20 lines each, in color, and 10,000 folded
// ones.
func BenchmarkRender(b *testing.B) {
	r := long(10_000)
	for b.Loop() {
		if err := terminal.Render(io.Discard, r, terminal.Options{Color: true, Width: 100}); err != nil {
			b.Fatal(err)
		}
	}
}
