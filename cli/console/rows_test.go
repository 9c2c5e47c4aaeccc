package console

import (
	"strings"
	"testing"
)

// TestRowsComeInParts checks that the header is printed once, that columns never become
// narrower, and that a pipe gets plain lines.
func TestRowsComeInParts(t *testing.T) {
	for name, c := range map[string]struct {
		terminal bool
		want     string
	}{
		"on a terminal": {true, "NAME   STATUS\nacme   current\nglobex-inc  behind\nx           new\n"},
		"in a pipe":     {false, "acme\tcurrent\nglobex-inc\tbehind\nx\tnew\n"},
	} {
		var out strings.Builder
		rows := (&Console{Out: &out, OutIsTerminal: c.terminal, Width: 80}).Rows([]string{"NAME ", "STATUS"})
		for _, part := range [][][]string{{{"acme", "current"}}, {}, {{"globex-inc", "behind"}}, {{"x", "new"}}} {
			if err := rows.Print(part); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != c.want {
			t.Errorf("%s it is\n%q, want\n%q", name, out.String(), c.want)
		}
	}
}
