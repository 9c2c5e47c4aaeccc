package interactive

import (
	"os"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestTheDocsShowTheScreens compares docs/terminal.md with the key map, with what the palette opens
// and with a frame of the home screen; -update rewrites them.
func TestTheDocsShowTheScreens(t *testing.T) {
	const file = "../../docs/terminal.md"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var keys, opens strings.Builder
	for _, g := range newKeys().groups() {
		keys.WriteString("| " + g.Title + " | |\n|---|---|\n")
		for _, k := range g.Keys {
			keys.WriteString("| `" + strings.Join(strings.Fields(k.Help().Key), "` `") + "` | " + k.Help().Desc + " |\n")
		}
		keys.WriteString("\n")
	}
	opens.WriteString("| line | opens |\n|---|---|\n")
	for _, l := range lines {
		opens.WriteString("| `" + l.Name + "` | " + l.About + " |\n")
	}
	opens.WriteString("\n")
	home := newStage(t, plainTheme, 80, 24, newPlane(t)).screen()
	var frame strings.Builder
	frame.WriteString("```\n")
	for line := range strings.SplitSeq(home, "\n") {
		frame.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	frame.WriteString("```\n\n")
	want := between(t, string(raw), "keys", keys.String())
	want = between(t, between(t, want, "lines", opens.String()), "frame", frame.String())
	golden.Check(t, file, want)
}

// between replaces the text between the marks of a name.
func between(t *testing.T, text, name, with string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, _ := strings.Cut(text, begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("there is no place for the %s", name)
	}
	return before + begin + "\n" + with + end + after
}
