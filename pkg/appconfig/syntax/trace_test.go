package syntax

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// piece is a part of a TOML string as written and as text, so that a test knows where each
// character is written.
type piece struct{ raw, text string }

func pieces(t *rapid.T, multi bool) []piece {
	choices := []piece{
		{"a", "a"}, {"é", "é"}, {"世", "世"}, {" ", " "}, {"{{", "{{"}, {`\n`, "\n"}, {`\t`, "\t"}, {`\"`, `"`}, {`\\`, `\`},
		{`\u00e9`, "é"}, {`\U0001F600`, "😀"}, {`\x41`, "A"},
	}
	if multi {
		choices = append(choices, piece{"\n", "\n"}, piece{"\\\n   ", ""}, piece{"x\\ \n\n \t", "x"}, piece{"'", "'"})
	}
	return rapid.SliceOf(rapid.SampledFrom(choices)).Draw(t, "pieces")
}

// Inside finds the position of every character, for any spelling, in any order.
func TestInsideFindsEveryCharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		multi := rapid.Bool().Draw(t, "multi")
		all := pieces(t, multi)
		begin, end := "\nkey = \"", "\"\n"
		if multi {
			begin, end = "\nkey = \"\"\"\n", "\"\"\"\n"
		}
		raw, text := begin, ""
		type character struct {
			offset       int // in the document
			line, column int // in the text
		}
		var characters []character
		for _, p := range all {
			if p.text != "" {
				before := text
				if strings.HasPrefix(p.raw, "x\\") {
					p.text = "x"
				}
				characters = append(characters,
					character{len(raw), 1 + strings.Count(before, "\n"),
						len(before) - strings.LastIndexByte(before, '\n')})
			}
			if p.raw == "\\\n   " || strings.HasPrefix(p.raw, "x\\") {
				// The next character must not be a blank, which would be joined too.
				p.raw, p.text = p.raw+"|", p.text+"|"
				if p.text == "|" {
					characters = append(characters,
						character{len(raw) + len(p.raw) - 1, 1 + strings.Count(text, "\n"),
							len(text) - strings.LastIndexByte(text, '\n')})
				}
			}
			raw, text = raw+p.raw, text+p.text
		}
		document := raw + end
		table, problem := Parse("f", []byte(document))
		if problem != nil {
			t.Fatalf("%q: %s", document, problem)
		}
		n := table.Get("key")
		if n.Value != text {
			t.Fatalf("%q is %q, want %q", document, n.Value, text)
		}
		trace := n.Trace()
		for _, c := range rapid.Permutation(characters).Draw(t, "order") {
			before := document[:c.offset]
			want := Position{"f", 1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n'), 0}
			if got := trace.Inside(c.line, c.column, 0); got != want {
				t.Fatalf("%q: %d:%d is at %+v, want %+v", document, c.line, c.column, got, want)
			}
		}
	})
}

// For any argument, Inside returns a position in the document.
func TestInsideIsInTheDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := "k = \"" +
			strings.ReplaceAll(rapid.StringMatching(`[a-z {}.é\\n]{0,20}`).Draw(t, "text"), `\`, `\\`) + "\""
		table, problem := Parse("f", []byte(document))
		if problem != nil {
			t.Fatal(problem)
		}
		table.Substitute(map[string]string{"a": rapid.String().Draw(t, "value")}, 1<<20)
		at := table.Get("k").Inside(rapid.Int().Draw(t, "line"), rapid.IntRange(-5, 100).Draw(t, "column"),
			rapid.IntRange(-1, 50).Draw(t, "width"))
		if at.Line != 1 || at.Column < 1 || at.Column+at.Width > len(document)+1 {
			t.Fatalf("%+v in %q", at, document)
		}
	})
}

func TestSubstitute(t *testing.T) {
	table, problem := Parse("f",
		[]byte("a = \"x {{.one}} y {{ .two }} z {{.three}} {{one}} {{.one\"\nb = ['{{.one}}', {c = '{{.loop}}'}]\nd = 1\n"))
	if problem != nil {
		t.Fatal(problem)
	}
	if _, ok := table.Substitute(map[string]string{"one": "1", "two": "a longer text", "loop": "{{.one}}"}, 100); !ok {
		t.Fatal("too long")
	}
	want := map[string]any{"a": "x 1 y a longer text z {{.three}} {{one}} {{.one",
		"b": []any{"1", map[string]any{"c": "{{.one}}"}}, "d": int64(1)}
	if diff := cmp.Diff(want, tree(table)); diff != "" {
		t.Error(diff)
	}
	text, n := want["a"].(string), table.Get("a")
	for _, word := range []string{"x ", " y ", " z", "three"} {
		got := n.Inside(1, strings.Index(text, word)+1, 1)
		if want := strings.Index(n.raw, word) + len("a = ") + 1; got.Column != want {
			t.Errorf("%q is at %d, want %d", word, got.Column, want)
		}
	}
	if got := n.Inside(1, strings.Index(text, "longer")+1, 1); got.Column != strings.Index(n.raw, "{{ .two")+len("a = ")+
		1 {
		t.Errorf("what was put in is at %d", got.Column)
	}
	table, _ = Parse("f", []byte("a = 1\nb = '{{.x}}{{.x}}'\n"))
	if at, ok := table.Substitute(map[string]string{"x": "12345"}, 9); ok || at.Line != 2 {
		t.Errorf("%+v, %t", at, ok)
	}
}

func TestOverlay(t *testing.T) {
	table, _ := Parse("one", []byte("a = 1\nb = {c = 1, d = 2}\ne = [1, 2]\n[[g]]\nx = 1\n"))
	other, _ := Parse("two", []byte("h = 1\nb = {d = 3, f = 4}\ne = [3]\n[[g]]\nx = 2\n"))
	before := tree(other)
	merged := table.Clone()
	merged.Extend(other, "g")
	merged.Extend(other, "nothing")
	merged.Overlay(other.Without("g"))
	want := map[string]any{
		"a": int64(1), "b": map[string]any{"c": int64(1), "d": int64(3), "f": int64(4)}, "e": []any{int64(3)}, "h": int64(1),
		"g": []any{map[string]any{"x": int64(1)}, map[string]any{"x": int64(2)}},
	}
	if diff := cmp.Diff(want, tree(merged)); diff != "" {
		t.Error(diff)
	}
	if at := merged.Position("b.d"); at.File != "two" || merged.Position("b.c").File != "one" ||
		merged.Position("g[1].x").File != "two" {
		t.Errorf("b.d is at %+v", at)
	}
	if diff := cmp.Diff(before, tree(other)); diff != "" {
		t.Error("the other table changed:", diff)
	}
	if names := merged.Names(); strings.Join(names, " ") != "a b e g h" {
		t.Errorf("names %v", names)
	}
	renamed := merged.Clone()
	renamed.Rename("a", "z")
	renamed.Rename("e", "h")
	if got := strings.Join(renamed.Names(), " "); got != "z b g h" || renamed.Get("h").Value != int64(1) ||
		merged.Get("a") == nil {
		t.Errorf("renamed: %s", got)
	}
}

// Get finds keys in large tables like in small ones.
func TestGet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,4}`), rapid.ID).Draw(t, "names")
		table := &Table{}
		for i, name := range names {
			table.add(name, &Node{Value: int64(i)})
		}
		for i, name := range names {
			if n := table.Get(name); n == nil || n.Value != int64(i) {
				t.Fatalf("%s is %v", name, n)
			}
			if n := table.Find(Join("", name)); n == nil || n.Value != int64(i) {
				t.Fatalf("%s is %v", name, n)
			}
		}
		if table.Get("none at all") != nil {
			t.Fatal("it has what it has not")
		}
	})
}

// Find returns the value for the path that Join made.
func TestJoinAndFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "keys")
		root := &Table{}
		in, path := root, ""
		for i, key := range keys {
			if !utf8.ValidString(key) {
				t.Skip("no key of a document")
			}
			below := &Table{}
			if items := rapid.IntRange(0, 2).Draw(t, "items"); items > 0 {
				list := []*Node{{Value: &Table{}}, {Value: &Table{}}}[:items]
				list[items-1].Value = below
				in.add(key, &Node{Value: list})
				path = JoinIndex(Join(path, key), items-1)
			} else {
				in.add(key, &Node{Value: below})
				path = Join(path, key)
			}
			below.At.Line = i + 1
			in = below
		}
		if n := root.Find(path); n.Table() != in {
			t.Fatalf("%s leads to %v", path, n)
		}
	})
}

// TestLineEndsMeanNothing: a file with CRLF has the same values at the same positions.
func TestLineEndsMeanNothing(t *testing.T) {
	if table, _ := Parse("f", []byte(`a = "one\r\ntwo"`)); table.Get("a").Value != "one\r\ntwo" {
		t.Error("what is written with escapes is what is meant")
	}
	for _, text := range []string{"a = \"\"\"\none\ntwo \\\n  three\n\"\"\"\n", "a = '''\none\ntwo \\n\nthree'''\n"} {
		plain, wrong := Parse("f", []byte(text))
		crlf, wrongToo := Parse("f", []byte(strings.ReplaceAll(text, "\n", "\r\n")))
		if wrong != nil || wrongToo != nil {
			t.Fatal(wrong, wrongToo)
		}
		if plain.Get("a").Value != crlf.Get("a").Value {
			t.Errorf("%q is %q", text, crlf.Get("a").Value)
		}
		for line := 1; line < 4; line++ {
			for column := 1; column < 6; column++ {
				if got, want := crlf.Get("a").Inside(line, column, 1), plain.Get("a").Inside(line, column,
					1); got.Line != want.Line || got.Column != want.Column {
					t.Errorf("%q: %d:%d is at %v, want %v", text, line, column, got, want)
				}
			}
		}
	}
}
