package console

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// hostile writes to the clipboard, conceals text, starts an 8-bit sequence, reverses the direction, and has
// invisible characters inside and outside of the basic plane.
const hostile = "a\x1b]52;c;ZXZpbA==\a\x1b[8mb\x1b[30mc\u009b8md\u202ee\u200bf\x7fg\r\U000e0041h\u2028i\ufeffj\u00a0k\u0085"

// TestHostileOutput checks that no format prints a character of a hostile text that a terminal would obey or hide,
// and that JSON and YAML keep the text: as a plain value, as one with spaces at its ends, as one of several lines and
// as a key.
func TestHostileOutput(t *testing.T) {
	data := map[string]any{
		"name": hostile, hostile: "x", "list": []any{hostile, " " + hostile + " ", hostile + "\n\n" + hostile + "\n"},
		"long": strings.Repeat(hostile+" word ", 30), "number": 1.5, "text": "no", "ok": true, "none": nil,
		"lines": "one\n\ttwo\nthree\n", "empty": map[string]any{},
	}
	decode := map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(b []byte, into any) error { return yaml.Unmarshal(b, into) },
	}
	for _, format := range Formats {
		for _, terminal := range []bool{true, false} {
			var out strings.Builder
			c := &Console{Out: &out, Output: format, OutIsTerminal: terminal, Color: terminal}
			err := c.Result(data, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "\x1b[1;31mname\x1b[0m\t%s\n", hostile)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			seen := out.String()
			if terminal && format == "table" {
				seen = strings.TrimPrefix(seen, "\x1b[1;31mname\x1b[0m")
			}
			for _, r := range seen {
				control := r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
				if hidden := r != '\n' && r != '\t' && !strconv.IsPrint(r); control || hidden && (terminal || format != "table") {
					t.Errorf("-o %s, terminal %v: %q in %q", format, terminal, r, out.String())
					break
				}
			}
			if decode[format] == nil {
				continue
			}
			var got map[string]any
			if err := decode[format]([]byte(out.String()), &got); err != nil {
				t.Errorf("-o %s: %v in %s", format, err, out.String())
			}
			if d := cmp.Diff(data, got); d != "" {
				t.Errorf("-o %s does not keep the values:\n%s", format, d)
			}
		}
	}
}

// TestPrint checks what text for people keeps: the product's colors where there is color, and in a pipe
// the invisible characters that a file may have.
func TestPrint(t *testing.T) {
	const text = "\x1b[1;7;33ma\x1b[0m\t\u200bb\x1b[8mc\xff\r\n"
	for want, c := range map[string]*Console{
		"\x1b[1;7;33ma\x1b[0m\t b [8mc\ufffd \n": {OutIsTerminal: true, Color: true},
		" [1;7;33ma [0m\t b [8mc\ufffd \n":       {OutIsTerminal: true},
		" [1;7;33ma [0m\t\u200bb [8mc\ufffd \n":  {},
	} {
		var out strings.Builder
		c.Out = &out
		if err := c.Print(func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}); err != nil || out.String() != want {
			t.Errorf("printed %q, %v, want %q", out.String(), err, want)
		}
	}
}
