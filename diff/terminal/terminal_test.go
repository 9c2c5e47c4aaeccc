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
		word := rapid.StringMatching(`[a-z漢é "]{0,90}`)
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

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the terminal is gone") }

func TestWriterErrors(t *testing.T) {
	if err := terminal.Render(failing{}, report(), terminal.Options{}); err == nil {
		t.Error("no error")
	}
}
