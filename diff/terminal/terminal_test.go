package terminal_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

func render(t interface{ Fatal(...any) }, r *diff.Report, o terminal.Options) string {
	var b strings.Builder
	if err := terminal.Render(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeString} }

func report(changes ...diff.Change) *diff.Report {
	r := &diff.Report{Kind: "test", Changes: changes, Applyable: true}
	r.Totals = r.Count()
	return r
}

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wide holds texts that are hard to measure, and hostile texts that are dangerous to print.
var (
	wide    = rapid.StringMatching(`([a-z漢é "👋]|❤️|x\x{302}|🇩🇪){0,60}`)
	hostile = rapid.StringMatching("[a-c\x00-\x1f\x7f\u0080-\u009f\u200b\u202e\u2028\\[\\];]{0,12}")
)

// TestWidth checks that no line is wider than the screen, that color changes only the escape codes,
// and that a narrow screen shows all that a wide one shows.
func TestWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sample.Report(t, wide)
		o := terminal.Options{Width: rapid.IntRange(1, 180).Draw(t, "width"), All: rapid.Bool().Draw(t, "all"),
			Side: rapid.Bool().Draw(t, "side")}
		plain := render(t, r, o)
		for line := range strings.Lines(plain) {
			if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > max(o.Width, 40) {
				t.Fatalf("%d columns of %d: %q", w, o.Width, line)
			}
		}
		colored := o
		colored.Color = true
		if out := escape.ReplaceAllString(render(t, r, colored), ""); out != plain {
			t.Fatalf("colour changes the text:\n%s", cmp.Diff(plain, out))
		}
		if o.Side && o.Width >= 100 {
			return // TestSides covers this view
		}
		if d := cmp.Diff(anyOrder(render(t, r, terminal.Options{All: o.All})), anyOrder(plain)); d != "" {
			t.Fatalf("something is lost at %d columns:\n%s", o.Width, d)
		}
	})
}

// TestSides checks the side-by-side view: all of before is in the left half and all of after in the
// right half, in the order of the lines.
func TestSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := "b"+wide.Draw(t, "before"), "a"+wide.Draw(t, "after")
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) diff.Line {
			op := rapid.SampledFrom([]diff.LineOp{diff.LineSame, diff.LineRemoved, diff.LineAdded}).Draw(t, "op")
			return diff.Line{Op: op, Text: wide.Draw(t, "line")}
		}), 1, 9).Draw(t, "lines")
		r := report(diff.Change{Address: "x", Action: diff.Update, Fields: []diff.FieldChange{
			{Path: "p", Before: text(before), After: text(after)}, {Path: "q", Lines: lines},
		}})
		out := render(t, r, terminal.Options{Width: rapid.IntRange(100, 200).Draw(t, "width"), Side: true, All: true})
		var left, right strings.Builder
		for line := range strings.Lines(out) {
			if l, r, both := strings.Cut(line, " │"); both {
				left.WriteString(strings.TrimPrefix(l, "      p ")) // a wide value is below its name
				right.WriteString(r)
			}
		}
		wantLeft, wantRight := strconv.Quote(before), strconv.Quote(after)
		for _, l := range lines {
			if l.Op != diff.LineAdded {
				wantLeft += l.Text
			}
			if l.Op != diff.LineRemoved {
				wantRight += l.Text
			}
		}
		if d := cmp.Diff(letters(wantLeft), letters(left.String())); d != "" {
			t.Fatalf("the left half:\n%s\n%s", d, out)
		}
		if d := cmp.Diff(letters(wantRight), letters(right.String())); d != "" {
			t.Fatalf("the right half:\n%s\n%s", d, out)
		}
	})
}

// TestSidesNeedRoom checks that with fewer than 100 columns, and in text without a limit, the
// side-by-side view has no effect.
func TestSidesNeedRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, width := sample.Report(t, wide), rapid.IntRange(1, 99).Draw(t, "width")
		if d := cmp.Diff(render(t, r, terminal.Options{Width: width}), render(t, r,
			terminal.Options{Width: width, Side: true})); d != "" {
			t.Fatal(d)
		}
	})
}

// TestSidesOfALongName checks that a name that is wider than the column of its neighbors keeps the
// row within the width.
func TestSidesOfALongName(t *testing.T) {
	for length := range 100 {
		r := report(diff.Change{Address: "x", Action: diff.Update, Fields: []diff.FieldChange{
			{Path: strings.Repeat("n", length+1), Before: text("/v1/"), After: text("/v2/"), ForcesReplace: true,
				Regenerated: true},
			{Path: "q", Before: text("a"), After: text("b")},
		}})
		for line := range strings.Lines(render(t, r, terminal.Options{Width: 105, Side: true, All: true})) {
			if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > 105 {
				t.Errorf("%d columns: %q", w, line)
			}
		}
	}
}

// TestNothingHostileGoesOut checks that no control sequence in any text of a report reaches the
// terminal.
func TestNothingHostileGoesOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sample.Report(t, hostile)
		out := render(t, r, terminal.Options{
			All: rapid.Bool().Draw(t, "all"), Side: rapid.Bool().Draw(t, "side"),
			Width: rapid.SampledFrom([]int{0, 80, 140}).Draw(t, "width"), Hint: hostile.Draw(t, "hint"),
		})
		for _, c := range out {
			if c != '\n' && !strconv.IsPrint(c) {
				t.Fatalf("%U goes out:\n%q", c, out)
			}
		}
	})
}

// TestPageInvariants checks that Head and ChangeAt agree, that lines equal those of the whole rendering,
// and that turning an option on and off again restores the page.
func TestPageInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sample.Report(t, wide)
		width := rapid.IntRange(40, 160).Draw(t, "width")
		p := terminal.NewPage(r, terminal.PageOptions{})
		folded := rows(p, width)
		p.SetSide(true)
		for i := range p.Changes() {
			if p.Unfold(i, true); !p.Unfolded(i) {
				t.Fatalf("change %d stays folded", i)
			}
			if change, ok := p.ChangeAt(p.Head(i)); !ok || change != i {
				t.Fatalf("change %d begins where %d is", i, change)
			}
		}
		if d := cmp.Diff(render(t, r, terminal.Options{Width: width, All: true, Side: true}), rows(p, width)); d != "" {
			t.Fatalf("unfolded one by one:\n%s", d)
		}
		p.UnfoldAll(true)
		p.SetSide(false)
		if d := cmp.Diff(render(t, r, terminal.Options{Width: width, All: true}), rows(p, width)); d != "" {
			t.Fatalf("unfolded:\n%s", d)
		}
		p.UnfoldAll(false)
		if d := cmp.Diff(folded, rows(p, width)); d != "" {
			t.Fatalf("folded again:\n%s", d)
		}
	})
}

func rows(p *terminal.Page, width int) string {
	var b strings.Builder
	for line := range p.Len() {
		for _, row := range p.Rows(line, width) {
			b.WriteString(row.String() + "\n")
		}
	}
	return b.String()
}

// anyOrder sorts the letters. With one line per side, a text about both sides comes first.
func anyOrder(s string) string {
	all := []rune(letters(s))
	slices.Sort(all)
	return string(all)
}

// letters removes what wrapping, and one line per side, add or remove.
func letters(s string) string {
	s = strings.NewReplacer(" ", "", "\n", "", "→", "", "-", "", "+", "").Replace(s)
	return strings.ReplaceAll(s, "(none)", "") // the missing side
}

func TestDestructionIsRed(t *testing.T) {
	const red = "\x1b[1;31m"
	for action, want := range map[diff.Action]bool{
		diff.Destroy: true, diff.Replace: true, diff.Create: false, diff.Update: false, diff.Move: false, diff.Forget: false,
	} {
		out := render(t, report(diff.Change{Address: "a", Action: action}), terminal.Options{Color: true})
		if got := strings.Contains(out, red); got != want {
			t.Errorf("%s: red %t, want %t:\n%q", action, got, want, out)
		}
		if first := strings.SplitN(out, "\n", 2)[0]; strings.Contains(first, red) != want {
			t.Errorf("%s: the counts: %q", action, first)
		}
	}
}

func TestPlainHasNoEscapes(t *testing.T) {
	r := report(diff.Change{Address: "a\x1b[1m", Action: diff.Destroy, Why: "\x1b",
		Fields: []diff.FieldChange{{Path: "\x1b", Before: text("\x1b"), After: text("\x9b")}}})
	r.Notes = []string{"\x1b]0;x\x07"}
	r.Folded = []diff.Fold{{Rule: "\x1b", What: "\x07s", Count: 2}}
	if out := render(t, r, terminal.Options{All: true}); strings.ContainsAny(out, "\x1b\x07\u009b") {
		t.Errorf("%q", out)
	}
}

// TestPage checks that the lines of a page equal those of the whole rendering, that changes start at
// their heads, and that unfolding every change equals the option All.
func TestPage(t *testing.T) {
	unknown, absent := diff.ShownValue{Unknown: true}, diff.ShownValue{Absent: true}
	r := report(
		diff.Change{Address: "a", Action: diff.Create,
			Fields: []diff.FieldChange{{Path: "id", Before: absent, After: unknown},
				{Path: "input", Before: absent, After: text("x")}}},
		diff.Change{Address: "b", Action: diff.Destroy,
			Fields: []diff.FieldChange{{Path: "id", Before: text("1"), After: absent}}},
		diff.Change{Address: "c", Action: diff.Update,
			Fields: []diff.FieldChange{{Path: "script",
				Lines: []diff.Line{{Op: diff.LineAdded, Text: "one"}, {Op: diff.LineRemoved, Text: "two"}}}}},
	)
	r.Outputs = []diff.Change{{Address: "output.o", Name: "o", Action: diff.Create,
		Fields: []diff.FieldChange{{Before: absent, After: text("y")}}}}
	r.Drift = []diff.Change{{Address: "d", Action: diff.Update}}
	p := terminal.NewPage(r, terminal.PageOptions{})
	if d := cmp.Diff(render(t, r, terminal.Options{Width: 60}), rows(p, 60)); d != "" {
		t.Errorf("folded:\n%s", d)
	}
	for change, title := range []string{"a", "b", "c", "output o", "d"} {
		head := p.Head(change)
		if got, ok := p.ChangeAt(head); !ok || got != change || !strings.Contains(p.Text(head), " "+title) {
			t.Errorf("change %d is %d at line %d: %q", change, got, head, p.Text(head))
		}
		p.Unfold(change, true)
	}
	all := render(t, r, terminal.Options{Width: 60, All: true})
	if d := cmp.Diff(all, rows(p, 60)); d != "" {
		t.Errorf("unfolded one by one:\n%s", d)
	}
	p.UnfoldAll(false)
	p.UnfoldAll(true)
	if d := cmp.Diff(all, rows(p, 60)); d != "" {
		t.Errorf("unfolded:\n%s", d)
	}
	if _, ok := p.ChangeAt(0); ok {
		t.Error("the counts belong to a change")
	}
	for change, want := range []bool{true, true, false, false, false} {
		if p.Folds(change) != want {
			t.Errorf("change %d folds: %t", change, !want)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the terminal is gone") }

func TestWriterErrors(t *testing.T) {
	if err := terminal.Render(failing{}, report(), terminal.Options{}); err == nil {
		t.Error("no error")
	}
}
