package excerpt

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestFormat checks that the mark is below the affected part for any text before it, and that long
// lines are cut around it.
func TestFormat(t *testing.T) {
	for name, c := range map[string]struct {
		line          string
		column, width int
		text, mark    string
	}{
		"a key":                  {`displayname = "x"`, 1, 11, `displayname = "x"`, "^^^^^^^^^^^"},
		"a value":                {`a = "x"`, 5, 3, `a = "x"`, "    ^^^"},
		"no width":               {`a = "x"`, 5, 0, `a = "x"`, "    ^"},
		"behind the end":         {`a =`, 4, 0, `a =`, "   ^"},
		"far behind the end":     {`a =`, 90, 5, `a =`, "   ^"},
		"before the beginning":   {`a =`, 0, 1, `a =`, "^"},
		"an empty line":          {``, 1, 0, ``, "^"},
		"wide characters before": {`größe = "日本" # x`, 20, 1, `größe = "日本" # x`, "               ^"},
		"wide characters in it":  {`a = "日本"`, 5, 8, `a = "日本"`, "    ^^^^^^"},
		"the middle of a rune":   {`ää`, 2, 1, `ää`, "^"},
		"a tab before":           {"\ta = 1", 2, 1, "    a = 1", "    ^"},
		"a tab within":           {"ab\tc", 4, 1, "ab  c", "    ^"},
		"control characters":     {"a\x1b[2J\u202eb", 9, 1, "a [2J b", "      ^"},
		"no text":                {"a\xffb", 3, 1, "a\ufffdb", "  ^"},
		"a combining character":  {"e\u0301x", 4, 1, "e\u0301x", " ^"},
		"cut behind":             {"key = " + strings.Repeat("x", 40), 1, 3, "key = xxxxxxxxxxxxx…", "^^^"},
		"cut before": {strings.Repeat("x", 40) + "KEY", 41, 3, "…xxxxxxxxxxxxxxxxKEY",
			strings.Repeat(" ", 17) + "^^^"},
		"cut on both sides": {strings.Repeat("x", 40) + "KEY" + strings.Repeat("y", 40), 41,
			3, "…xxxxxxKEYyyyyyyyyy…", "       ^^^"},
		"a mark that is cut": {strings.Repeat("x", 40) + strings.Repeat("K", 60), 41,
			60, "…xxxxxxKKKKKKKKKKKK…", "       ^^^^^^^^^^^^"},
		"just enough room": {strings.Repeat("x", 20), 20, 1, strings.Repeat("x", 20),
			strings.Repeat(" ", 19) + "^"},
		"very long before the end": {strings.Repeat("x", 100000) + "K", 100001, 1, "…" + strings.Repeat("x", 18) + "K",
			strings.Repeat(" ", 19) + "^"},
	} {
		t.Run(name, func(t *testing.T) {
			l := Format(c.line, c.column, c.width, 20)
			mark := strings.Repeat(" ", l.MarkStart) + strings.Repeat("^", l.MarkWidth)
			if l.Text != c.text || mark != c.mark {
				t.Errorf("shows\n%q\n%q, want\n%q\n%q", l.Text, mark, c.text, c.mark)
			}
		})
	}
}

// TestFits checks for any line that it fits into the width, contains nothing that controls a
// terminal, and contains the start of the mark or ends right before it.
func TestFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := string(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			line = rapid.StringN(0, 200, -1).Draw(t, "line")
		}
		room := rapid.IntRange(minWidth, 120).Draw(t, "room")
		l := Format(line, rapid.IntRange(-3, 300).Draw(t, "column"), rapid.IntRange(-3, 300).Draw(t, "width"), room)
		switch wide := ansi.StringWidth(l.Text); {
		case wide > room:
			t.Fatalf("%q is %d columns wide, for %d", l.Text, wide, room)
		case l.MarkStart < 0 || l.MarkStart > room || l.MarkWidth < 1 || l.MarkStart+l.MarkWidth > room+1:
			t.Fatalf("the mark is at %d, %d wide, below %q", l.MarkStart, l.MarkWidth, l.Text)
		case strings.ContainsFunc(l.Text, func(r rune) bool { return r < ' ' || r == 0x7f }):
			t.Fatalf("%q has control characters", l.Text)
		}
	})
}

// TestALongLineCostsLittle checks that the work does not grow with the distance of the mark from the
// start: a minified file is one line, and each of its problems shows it.
func TestALongLineCostsLittle(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	testtime.CheckCPUCost(t, 100, func() {
		for column := 1; column < len(line); column += len(line) / 10 {
			Format(line, column, 3, 80)
		}
	})
}
