package terminal_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

func render(t interface{ Fatal(...any) }, r *diff.Report, o terminal.Options) string {
	var b strings.Builder
	if err := terminal.Render(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(s string) diff.Shown { return diff.Shown{Text: s, Type: diff.TypeString} }

func report(changes ...diff.Change) *diff.Report {
	r := &diff.Report{Kind: "test", Changes: changes, Applyable: true}
	r.Totals = r.Count()
	return r
}

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestWidth: no line is wider than the screen, colour changes nothing but colour, and everything that fits a wide screen is on a
// narrow one.
func TestWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`([a-z漢é "👋]|❤️|e\x{301}|🇩🇪){0,90}`)
		r := report(
			diff.Change{Address: "a" + word.Draw(t, "address"), Action: diff.Update, Why: word.Draw(t, "why"), Fields: []diff.FieldChange{
				{Path: word.Draw(t, "path"), Before: text(word.Draw(t, "before")), After: text(word.Draw(t, "after"))},
				{Path: "lines", Lines: []diff.Line{{Op: diff.LineAdded, Text: word.Draw(t, "line")}}},
			}},
		)
		width := rapid.IntRange(1, 120).Draw(t, "width")
		plain := render(t, r, terminal.Options{Width: width})
		for line := range strings.Lines(plain) {
			if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > max(width, 40) {
				t.Fatalf("%d columns of %d: %q", w, width, line)
			}
		}
		if colored := escape.ReplaceAllString(render(t, r, terminal.Options{Width: width, Color: true}), ""); colored != plain {
			t.Fatalf("colour changes the text:\n%s", cmp.Diff(plain, colored))
		}
		if d := cmp.Diff(letters(render(t, r, terminal.Options{})), letters(plain)); d != "" {
			t.Fatalf("something is lost at %d columns:\n%s", width, d)
		}
	})
}

// letters leaves out what wrapping, and a line for each side, add or take away.
func letters(s string) string {
	return strings.NewReplacer(" ", "", "\n", "", "→", "", "-", "", "+", "").Replace(s)
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
	r := report(diff.Change{Address: "a\x1b[1m", Action: diff.Destroy, Why: "\x1b", Fields: []diff.FieldChange{{Path: "\x1b", Before: text("\x1b"), After: text("\x9b")}}})
	r.Notes = []string{"\x1b]0;x\x07"}
	r.Folded = []diff.Fold{{Rule: "\x1b", What: "\x07s", Count: 2}}
	if out := render(t, r, terminal.Options{All: true}); strings.ContainsAny(out, "\x1b\x07\u009b") {
		t.Errorf("%q", out)
	}
}

// TestPage: the lines of a page are those of the whole rendering, a change stands where the page says, and unfolding every change is
// the same as asking for all at once.
func TestPage(t *testing.T) {
	unknown, absent := diff.Shown{Unknown: true}, diff.Shown{Absent: true}
	r := report(
		diff.Change{Address: "a", Action: diff.Create, Fields: []diff.FieldChange{{Path: "id", Before: absent, After: unknown}, {Path: "input", Before: absent, After: text("x")}}},
		diff.Change{Address: "b", Action: diff.Destroy, Fields: []diff.FieldChange{{Path: "id", Before: text("1"), After: absent}}},
		diff.Change{Address: "c", Action: diff.Update, Fields: []diff.FieldChange{{Path: "script", Lines: []diff.Line{{Op: diff.LineAdded, Text: "one"}, {Op: diff.LineRemoved, Text: "two"}}}}},
	)
	r.Outputs = []diff.Change{{Address: "output.o", Name: "o", Action: diff.Create, Fields: []diff.FieldChange{{Before: absent, After: text("y")}}}}
	r.Drift = []diff.Change{{Address: "d", Action: diff.Update}}
	rows := func(p *terminal.Page) string {
		var b strings.Builder
		for line := range p.Len() {
			for _, row := range p.Rows(line, 60) {
				b.WriteString(row.String() + "\n")
			}
		}
		return b.String()
	}
	p := terminal.NewPage(r, false)
	if d := cmp.Diff(render(t, r, terminal.Options{Width: 60}), rows(p)); d != "" {
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
	if d := cmp.Diff(all, rows(p)); d != "" {
		t.Errorf("unfolded one by one:\n%s", d)
	}
	p.UnfoldAll(false)
	p.UnfoldAll(true)
	if d := cmp.Diff(all, rows(p)); d != "" {
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
