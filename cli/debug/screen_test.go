package debug

import (
	"bytes"
	"strings"
	"testing"
)

// TestScreen checks that a program in a pod can draw on the screen, and can do nothing else with the terminal, however
// its output is cut into pieces.
func TestScreen(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain text": {"$ ls\r\na\tb\b\a", "$ ls\r\na\tb\b\a"},
		"colors":     {"\x1b[1;31mred\x1b[m \x1b[38:2:1:2:3mx", "\x1b[1;31mred\x1b[m \x1b[38:2:1:2:3mx"},
		"cursor": {"\x1b[2J\x1b[H\x1b[10;5H\x1b7\x1b8\x1b[?25l\x1b[6n\x1b[2 q",
			"\x1b[2J\x1b[H\x1b[10;5H\x1b7\x1b8\x1b[?25l\x1b[6n\x1b[2 q"},
		"another screen":    {"\x1b[?1049h\x1b(0qqq\x1b(B", "\x1b[?1049h\x1b(0qqq\x1b(B"},
		"characters":        {"é €🙂", "é €🙂"},
		"a title":           {"a\x1b]0;title\x07b\x1b]2;title\x1b\\c", "abc"},
		"a clipboard":       {"a\x1b]52;c;cm0gLXJmIH4=\x07b", "ab"},
		"a link":            {"\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\", "text"},
		"a device string":   {"a\x1bP$qm\x1b\\b\x1b_x\x1b\\c\x1b^y\x1b\\d\x1bXz\x1b\\e", "abcde"},
		"a report of title": {"a\x1b[21tb\x1b[8;1;1tc", "abc"},
		"a printer":         {"a\x1b[5ib\x1b[?5ic", "abc"},
		"keys and strings":  {"a\x1b[0;\"rm -rf\"pb", "am -rf\"pb"},
		"a full reset":      {"a\x1bcb", "ab"},
		"eight bits":        {"a\u009b31mb\u009d0;title\u009cc\x9bd", "a31mb0;titlec\ufffdd"},
		"shifts and NUL":    {"a\x00\x0e\x0f\x7f\x05b", "ab"},
		"a long sequence":   {"a\x1b[" + strings.Repeat("1;", 5000) + "mb", "ab"},
		"a string in one":   {"a\x1b]0;x\x1b[31mred", "a\x1b[31mred"},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(c.in); size++ {
				var out bytes.Buffer
				s := &screen{to: &out}
				for rest := []byte(c.in); len(rest) > 0; rest = rest[min(size, len(rest)):] {
					if _, err := s.Write(rest[:min(size, len(rest))]); err != nil {
						t.Fatal(err)
					}
				}
				if out.String() != c.want {
					t.Fatalf("in pieces of %d: %q, want %q", size, out.String(), c.want)
				}
			}
		})
	}
}

// FuzzScreen checks that no output makes a terminal take a string, or control characters of eight bits.
func FuzzScreen(f *testing.F) {
	f.Add([]byte("\x1b]0;a\x07\x1b[31m\xc2\x9b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		s := &screen{to: &out}
		_, _ = s.Write(text)
		for _, bad := range []string{"\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1bc", "\u009b", "\u009d", "\x00"} {
			if strings.Contains(out.String(), bad) {
				t.Fatalf("%q became %q", text, out.String())
			}
		}
	})
}
