package console

import (
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	prose := "because the artifact changed: build 2 of web"
	for name, c := range map[string]struct {
		console Console
		text    string
		indent  int
		want    string
	}{
		"between words": {Console{OutIsTerminal: true, Width: 30}, prose, 2,
			"because the artifact changed:\n  build 2 of web"},
		"it fits": {Console{OutIsTerminal: true, Width: 44}, prose, 2, prose},
		"a pipe":  {Console{Width: 30}, prose, 2, prose},
		"no room": {Console{OutIsTerminal: true, Width: 25}, prose, 2, prose},
		"its own indent": {Console{OutIsTerminal: true, Width: 30}, "    " + prose, 4,
			"    because the artifact\n    changed: build 2 of web"},
		"a long word": {Console{OutIsTerminal: true, Width: 24}, "a " + strings.Repeat("x", 40) + " b", 0,
			"a\n" + strings.Repeat("x", 40) + "\nb"},
		"wide characters":  {Console{OutIsTerminal: true, Width: 24}, "日本語日本語 日本語日本語", 0, "日本語日本語\n日本語日本語"},
		"nothing but text": {Console{OutIsTerminal: true, Width: 24}, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.console.Wrap(c.text, c.indent); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestATableFitsItsTerminal checks that the last column is wrapped within its
// column, and that no word is lost.
func TestATableFitsItsTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z語]{1,9}`), 1, 40).Draw(t, "words")
		width := rapid.IntRange(1, 90).Draw(t, "width")
		var out strings.Builder
		c := &Console{OutIsTerminal: true, Width: width}
		if err := c.Table(&out, []string{"NAME", "WHY"},
			[][]string{{"acme", strings.Join(words, " ")}, {"globex", "ok"}}); err != nil {
			t.Fatal(err)
		}
		column := strings.Index(out.String(), "WHY")
		var found []string
		for line := range strings.Lines(out.String()) {
			if wide := lipgloss.Width(strings.TrimRight(line, "\n")); width-column >= minWrapped && wide > width {
				t.Fatalf("a line is %d columns wide:\n%s", wide, out.String())
			}
			if !strings.HasPrefix(line, "NAME") && !strings.HasPrefix(line, "globex") {
				found = append(found, strings.Fields(strings.TrimPrefix(line, "acme"))...)
			}
		}
		if got, want := strings.Join(found, " "), strings.Join(words, " "); got != want {
			t.Fatalf("it says %q, want %q", got, want)
		}
	})
}
