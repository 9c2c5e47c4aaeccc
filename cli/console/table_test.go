package console

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/cli/exit"
)

var header, rows = []string{"NAME", "STATUS", "WHY"}, [][]string{
	{"acme", "current", ""},
	{"a-longer-name", "behind", "its \x1b[31mcommit\x1b[0m\tis\nnew"},
}

// TestTable: people get columns under a header, programs get cells that cut -f can take apart; neither gets what came from
// elsewhere raw.
func TestTable(t *testing.T) {
	for name, c := range map[string]struct {
		terminal bool
		want     string
	}{
		"on a terminal": {true, "NAME           STATUS   WHY\nacme           current\na-longer-name  behind   its  [31mcommit [0m is new\n"},
		"in a pipe":     {false, "acme\tcurrent\t\na-longer-name\tbehind\tits  [31mcommit [0m is new\n"},
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

// TestTableOfWideCharacters: columns stay columns where characters take two places on the screen, or none.
func TestTableOfWideCharacters(t *testing.T) {
	var out strings.Builder
	console := &Console{Out: &out, OutIsTerminal: true, Output: "table"}
	err := console.List(nil, []string{"NAME", "STATUS"}, [][]string{{"日本語", "current"}, {"cafe\u0301", "behind"}, {"🚀", "new"}, {"日本語日本語", ""}})
	if err != nil {
		t.Fatal(err)
	}
	want := "NAME          STATUS\n日本語        current\ncafe\u0301          behind\n🚀            new\n日本語日本語\n"
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", out.String(), want)
	}
}

// TestTableOfNothing is its header for people and nothing for programs; rows need not be as long as the header.
func TestTableOfNothing(t *testing.T) {
	var out strings.Builder
	console := &Console{Out: &out, OutIsTerminal: true}
	if err := console.Table(&out, header, nil); err != nil || out.String() != "NAME  STATUS  WHY\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	out.Reset()
	if err := console.Table(&out, []string{"A"}, [][]string{{"1", "2"}, {}}); err != nil || out.String() != "A\n1  2\n\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	out.Reset()
	console.OutIsTerminal = false
	if err := console.Table(&out, header, nil); err != nil || out.String() != "" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

// TestFormats: each format of -o says the same, and what people are shown is printed for no other.
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
				if err := json.Unmarshal([]byte(out.String()), &got); err != nil || strings.Contains(out.String(), `\u003c`) {
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

// TestNamesAreOneALine, whatever is in them: the next command reads lines.
func TestNamesAreOneALine(t *testing.T) {
	var out strings.Builder
	console := &Console{Out: &out, Output: "name"}
	if err := console.List(nil, nil, [][]string{{"a\nb\x1b[2J", "x"}, {"c"}}); err != nil || out.String() != "a b [2J\nc\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

// TestLine: nothing on a line moves the cursor, turns the direction or hides; what prints stays.
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

// broken is a pipe whose reader has gone.
type broken struct{}

var errGone = errors.New("gone")

func (broken) Write([]byte) (int, error) { return 0, errGone }

// TestAFailedWriteIsAnError: a result that nobody got is no success.
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

// TestResultOfPeople: what -o does not ask for is left to the command, and its error is the end.
func TestResultOfPeople(t *testing.T) {
	for _, format := range []string{"", "table"} {
		console := &Console{Out: io.Discard, Output: format}
		if err := console.Result(nil, func(io.Writer) error { return exit.Usagef("no") }); exit.CodeOf(err) != exit.Usage {
			t.Errorf("-o %q ended with %v", format, err)
		}
	}
}

// TestSayGoesToErr, so that a pipe holds results alone.
func TestSayGoesToErr(t *testing.T) {
	var out, err strings.Builder
	(&Console{Out: &out, Err: &err}).Say("%d left", 3)
	if out.String() != "" || err.String() != "3 left\n" {
		t.Errorf("out %q, err %q", out.String(), err.String())
	}
}

// TestShort is a digest as people say it.
func TestShort(t *testing.T) {
	for in, want := range map[string]string{"sha256:0123456789abcdef": "0123456789ab", "0123456789abcdef": "0123456789ab", "": "", "abc": "abc"} {
		if got := Short(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}
