package style

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"pgregory.net/rapid"
)

// reporter is the part of testing.TB that all kinds of tests here have.
type reporter interface {
	Helper()
	Errorf(format string, a ...any)
}

// check checks all guarantees of the package on a text.
func check(t reporter, text []byte) {
	t.Helper()
	got, err := Format(text)
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	before, invalid := decode(text)
	if err != nil {
		if invalid == nil && len(text) < 1000 && !strings.Contains(err.Error(), "nested") {
			t.Errorf("%q is TOML, and yet: %v", text, err)
		}
		return
	}
	if invalid != nil {
		t.Errorf("%q is formatted, but no TOML: %v", text, invalid)
		return
	}
	after, err := decode(got)
	if err != nil {
		t.Errorf("%q becomes %q, which is no TOML: %v", text, got, err)
		return
	}
	if !cmp.Equal(before, after, cmp.Comparer(sameFloat)) {
		t.Errorf("%q means something else than %q:\n%s", got, text, cmp.Diff(before, after))
	}
	if d := cmp.Diff(comments(text), comments(got)); d != "" {
		t.Errorf("%q has other comments than %q:\n%s", got, text, d)
	}
	if d := cmp.Diff(spellings(text), spellings(got)); d != "" {
		t.Errorf("%q is spelled otherwise than %q:\n%s", got, text, d)
	}
	if again, err := Format(got); err != nil || !bytes.Equal(again, got) {
		t.Errorf("%q becomes %q and then %q, %v", text, got, again, err)
	}
}

func decode(text []byte) (values map[string]any, err error) {
	err = toml.Unmarshal(text, &values)
	return values, err
}

// sameFloat treats NaN as equal to itself.
func sameFloat(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// comments returns the texts of all comments, as the TOML parser finds them.
func comments(text []byte) (all []string) {
	each(text, func(n *unstable.Node) {
		if n.Kind == unstable.Comment {
			all = append(all, strings.TrimSpace(strings.TrimPrefix(string(n.Data), "#")))
		}
	})
	return all
}

// spellings returns the keys and scalars of a text in order, as written.
func spellings(text []byte) (all []string) {
	each(text, func(n *unstable.Node) {
		switch n.Kind {
		case unstable.Comment, unstable.Array, unstable.InlineTable, unstable.KeyValue:
		default:
			all = append(all, n.Kind.String()+" "+string(text[n.Raw.Offset:n.Raw.Offset+n.Raw.Length])+" "+string(n.Data))
		}
	})
	return all
}

// each visits all nodes of a text in order, except that the comment after an expression comes
// first.
func each(text []byte, visit func(*unstable.Node)) {
	parser := unstable.Parser{KeepComments: true}
	parser.Reset(text)
	var walk func(n *unstable.Node)
	walk = func(n *unstable.Node) {
		visit(n)
		for i := n.Children(); i.Next(); {
			walk(i.Node())
		}
	}
	for parser.NextExpression() {
		n := parser.Expression()
		walk(n)
		if next := n.Next(); next != nil {
			walk(next)
		}
	}
}

// TestProperties checks the guarantees on random, badly formatted TOML.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := generator{t: t}
		text := g.document()
		if _, err := decode([]byte(text)); err != nil {
			t.Fatalf("the generator made %q: %v", text, err)
		}
		check(t, []byte(text))
	})
}

// generator writes TOML with any valid whitespace and comments between its tokens.
type generator struct {
	t    *rapid.T
	keys int
}

func (g *generator) oneOf(of ...string) string { return rapid.SampledFrom(of).Draw(g.t, "one of") }
func (g *generator) blank() string             { return g.oneOf("", "", " ", "\t", "   ") }
func (g *generator) times(n int) int           { return rapid.IntRange(0, n).Draw(g.t, "times") }

func (g *generator) comment() string {
	return g.oneOf("#", "# a", "#b c ", "#:schema x", "#!x", "##", "#  d", "#---", "#\t", "#é\"'[{", "#[x]", "#   ")
}

// lines returns blank lines and comments, which are valid between any two lines.
func (g *generator) lines() string {
	var b strings.Builder
	for range g.times(3) {
		b.WriteString(g.blank())
		if rapid.Bool().Draw(g.t, "comment") {
			b.WriteString(g.comment())
		}
		b.WriteString(g.oneOf("\n", "\r\n"))
	}
	return b.String()
}

func (g *generator) end() string {
	return g.blank() + g.oneOf("", "", g.comment()) + g.oneOf("\n", "\n", "\r\n")
}

// key returns a unique key.
func (g *generator) key() string {
	g.keys++
	key := fmt.Sprintf(g.oneOf("k%d", "%d", "\"q.%d\"", "'=%d#'", "a-_%d", strings.Repeat("long", 11)+"%d",
		"\"é%d\\u00e9\""), g.keys)
	if rapid.Bool().Draw(g.t, "dotted") {
		g.keys++
		key += g.blank() + "." + g.blank() + fmt.Sprintf(g.oneOf("%d", "d%d", "\"\\\"%d\""), g.keys)
	}
	return key
}

func (g *generator) document() string {
	var b strings.Builder
	b.WriteString(g.lines())
	for range g.times(8) {
		switch g.times(5) {
		case 0:
			b.WriteString(g.blank() + "[" + g.blank() + g.key() + g.blank() + "]" + g.end())
		case 1:
			b.WriteString(g.blank() + "[[" + g.blank() + g.key() + g.blank() + "]]" + g.end())
		default:
			b.WriteString(g.pair(2) + g.end())
		}
		b.WriteString(g.lines())
	}
	return strings.TrimRight(b.String(), g.oneOf("\r\n", ""))
}

func (g *generator) pair(depth int) string {
	return g.blank() + g.key() + g.blank() + "=" + g.blank() + g.value(depth)
}

func (g *generator) value(depth int) string {
	kind := g.times(5)
	switch {
	case depth == 0 || kind > 1:
		return g.scalar()
	case kind == 0:
		return g.brackets("[", "]", func() string { return g.value(depth - 1) })
	default:
		return g.brackets("{", "}", func() string { return g.pair(depth - 1) })
	}
}

func (g *generator) scalar() string {
	return g.oneOf("1", "-0", "0xDead_beef", "1_000", "1e5", "6.626e-34", "+inf", "-nan", "true", "false", "0o7", "0b1",
		"2026-01-02", "07:32:00", "2026-01-02 07:32:00", "2026-01-02T07:32:00.5-07:00", "2026-01-02 07:32:00Z",
		`""`, `"a # b"`, `"\"\\"`, `'#'`, `''`, `"é[{=,"`, "\"\"\"\n a \n\t\r\n#\n\"\"\"", "\"\"\"\\\"\"\"\"\"",
		"\"\"\"a\\\n   b\"\"\"", "'''\n'' \n\\'''", "''''x'''", "\"\"\"one line\"\"\"",
		`"`+strings.Repeat("x", 50)+`"`)
}

// brackets returns an array or an inline table in any layout.
func (g *generator) brackets(opened, closed string, element func() string) string {
	gap := func() string {
		if g.times(2) > 0 {
			return g.blank()
		}
		return g.blank() + g.oneOf("", g.comment()) + "\n" + g.lines()
	}
	var b strings.Builder
	b.WriteString(opened)
	n := g.times(4)
	for i := range n {
		b.WriteString(gap() + element() + gap())
		if i < n-1 || rapid.Bool().Draw(g.t, "comma at the end") {
			b.WriteString(",")
		}
	}
	b.WriteString(gap() + closed)
	return b.String()
}

// FuzzFormat: for any bytes, Format either returns an error or meets the guarantees.
func FuzzFormat(f *testing.F) {
	for _, text := range tomlBelow(f, filepath.Join("..", "..", "..", "examples")) {
		f.Add(text)
	}
	for _, text := range []string{"a=[#x\n1#y\n,#z\n]#", "a={#x\nb=1,}", "a=[[\n{b=\"\"\"\n\"\"\"}]]",
		"a.'b'.\"c\"=1979-05-27 07:32:00", "[[a]]#\n[[a.b]]\r\n", "\ufeff#\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { check(t, text) })
}

// TestCheckCanFail: the comparison functions detect a violation of each guarantee.
func TestCheckCanFail(t *testing.T) {
	if reflect.DeepEqual(comments([]byte("a = [ # x\n]")), comments([]byte("a = []"))) {
		t.Error("a comment may be lost")
	}
	if reflect.DeepEqual(spellings([]byte("a = 0x1")), spellings([]byte("a = 1"))) {
		t.Error("a number may be spelled otherwise")
	}
}
