package console

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

var header, rows = []string{"NAME", "STATUS", "WHY"}, [][]string{
	{"acme", "current", ""},
	{"a-longer-name", "behind", "its \x1b[31mcommit\x1b[0m\tis\nnew"},
}

// TestTable checks that a terminal gets columns under a header, that a pipe
// gets cells for cut -f, and that neither gets untrusted text unchanged.
func TestTable(t *testing.T) {
	for name, c := range map[string]struct {
		terminal bool
		want     string
	}{
		"on a terminal": {true,
			"NAME           STATUS   WHY\nacme           current\na-longer-name  behind   its  [31mcommit [0m is new\n"},
		"in a pipe": {false, "acme\tcurrent\t\na-longer-name\tbehind\tits  [31mcommit [0m is new\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			console := &Console{Out: &out, OutIsTerminal: c.terminal, Output: "table"}
			if err := console.List(rows, header, rows); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("printed\n%q, want\n%q", out.String(), c.want)
			}
		})
	}
}

// TestTableOfWideCharacters checks the alignment of characters that take two columns or none.
func TestTableOfWideCharacters(t *testing.T) {
	var out strings.Builder
	console := &Console{Out: &out, OutIsTerminal: true, Output: "table"}
	err := console.List(nil, []string{"NAME", "STATUS"},
		[][]string{{"日本語", "current"}, {"cafe\u0301", "behind"}, {"🚀", "new"}, {"日本語日本語", ""}})
	if err != nil {
		t.Fatal(err)
	}
	want := "NAME          STATUS\n日本語        current\ncafe\u0301          behind\n🚀            new\n日本語日本語\n"
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", out.String(), want)
	}
}

// TestTableOfNothing checks that an empty table is only its header on a terminal and
// nothing in a pipe, and that rows may be shorter than the header.
func TestTableOfNothing(t *testing.T) {
	var out strings.Builder
	console := &Console{Out: &out, OutIsTerminal: true}
	if err := console.Table(&out, header, nil); err != nil || out.String() != "NAME  STATUS  WHY\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	out.Reset()
	if err := console.Table(&out, []string{"A"}, [][]string{{"1", "2"}, {}}); err != nil ||
		out.String() != "A\n1  2\n\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	out.Reset()
	console.OutIsTerminal = false
	if err := console.Table(&out, header, nil); err != nil || out.String() != "" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

// TestFormats checks that each format of -o prints the same content, and that
// people is called for no other format.
func TestFormats(t *testing.T) {
	data := []map[string]any{{"name": "a<b", "version": 3.0}}
	for _, format := range Formats {
		t.Run(format, func(t *testing.T) {
			var out strings.Builder
			console := &Console{Out: &out, Output: format}
			if err := console.List(data, []string{"NAME", "VERSION"}, [][]string{{"a<b", "3"}}); err != nil {
				t.Fatal(err)
			}
			var got []map[string]any
			switch format {
			case "json":
				if err := json.Unmarshal([]byte(out.String()), &got); err != nil ||
					strings.Contains(out.String(), `\u003c`) {
					t.Errorf("%s: %v", out.String(), err)
				}
			case "yaml":
				if err := yaml.Unmarshal([]byte(out.String()), &got); err != nil {
					t.Error(err)
				}
			case "name":
				if out.String() != "a<b\n" {
					t.Errorf("printed %q", out.String())
				}
				return
			case "table":
				if out.String() != "a<b\t3\n" {
					t.Errorf("printed %q", out.String())
				}
				return
			}
			if len(got) != 1 || got[0]["name"] != "a<b" || got[0]["version"] != 3.0 {
				t.Errorf("read back %v", got)
			}
		})
	}
}

// TestNamesAreOneALine checks that a name is always one line, because the next command reads lines.
func TestNamesAreOneALine(t *testing.T) {
	var out strings.Builder
	console := &Console{Out: &out, Output: "name"}
	if err := console.List(nil, nil, [][]string{{"a\nb\x1b[2J", "x"}, {"c"}}); err != nil ||
		out.String() != "a b [2J\nc\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

// TestLine checks that no text can move the cursor, change the direction or
// hide text, and that printable text is unchanged.
func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ünïcode, 日本語, 🚀": "plain, ünïcode, 日本語, 🚀",
		"esc\x1b]0;title\x07":    "esc ]0;title ",
		"c1\u009b31m":            "c1 31m",
		"del\x7f":                "del ",
		"lines\r\n\u2028\u0085":  "lines    ",
		"txt.\u202eexe":          "txt. exe",
		"zero\u200bwidth":        "zero width",
		"invalid\xff":            "invalid\uFFFD",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// broken is a pipe whose reader has closed it.
type broken struct{}

var errGone = errors.New("gone")

func (broken) Write([]byte) (int, error) { return 0, errGone }

// TestAFailedWriteIsAnError checks that a failed write of a result is returned.
func TestAFailedWriteIsAnError(t *testing.T) {
	for _, format := range Formats {
		for _, terminal := range []bool{true, false} {
			console := &Console{Out: broken{}, Output: format, OutIsTerminal: terminal}
			if err := console.List(rows, header, rows); !errors.Is(err, errGone) {
				t.Errorf("-o %s, terminal %v: ended with %v", format, terminal, err)
			}
		}
	}
}

// TestResultOfPeople checks that the table format calls people and returns its error.
func TestResultOfPeople(t *testing.T) {
	for _, format := range []string{"", "table"} {
		console := &Console{Out: io.Discard, Output: format}
		if err := console.Result(nil,
			func(io.Writer) error { return exitcode.Usagef("no") }); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("-o %q ended with %v", format, err)
		}
	}
}

// TestMessagef checks that messages do not go to Out, so that a pipe contains only results, and that text of others in
// them cannot control the terminal.
func TestMessagef(t *testing.T) {
	var out, err strings.Builder
	(&Console{Out: &out, Err: &err}).Messagef("%d left\n  of %s", 3, "a\x1b]0;b\x07\rc")
	if out.String() != "" || err.String() != "3 left\n  of a ]0;b  c\n" {
		t.Errorf("out %q, err %q", out.String(), err.String())
	}
}

// TestShort checks the display form of digests.
func TestShort(t *testing.T) {
	for in, want := range map[string]string{"sha256:0123456789abcdef": "0123456789ab",
		"0123456789abcdef": "0123456789ab", "": "", "abc": "abc"} {
		if got := Short(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}
