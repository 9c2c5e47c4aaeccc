package manifest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// written is a YAML value that a test writes.
type written struct {
	// head is after the colon or dash; lines follow it, indented deeper than
	// the block by their own spaces.
	head  string
	lines []string
	// keys are those of a mapping; without them, several children are a list.
	keys     []string
	children []*written
	// indent is how much deeper the children are, and comment what is on a line before the block.
	indent  int
	comment string
}

func (t *written) clone() *written {
	c := *t
	c.keys, c.lines, c.children = slices.Clone(t.keys), slices.Clone(t.lines), nil
	for _, child := range t.children {
		c.children = append(c.children, child.clone())
	}
	return &c
}

// write appends the value of a block that starts at column; with inline, directly after a dash.
func (t *written) write(b *strings.Builder, column int, inline bool) {
	pad := strings.Repeat(" ", column)
	for i, child := range t.children {
		if !inline || i > 0 {
			b.WriteString(child.comment)
			b.WriteString(pad)
		}
		head := "-"
		if t.keys != nil {
			head = t.keys[i] + ":"
		}
		b.WriteString(head)
		if child.head != "" {
			b.WriteString(" " + child.head)
		}
		at := column + child.indent
		if t.keys == nil && len(child.children) > 0 && child.indent > 0 {
			// The first child is after the dash.
			b.WriteString(strings.Repeat(" ", child.indent-1))
			child.write(b, at, true)
			continue
		}
		b.WriteString("\n")
		for _, l := range child.lines {
			if l == "" {
				b.WriteString("\n")
				continue
			}
			b.WriteString(pad + l + "\n")
		}
		if len(child.children) > 0 {
			child.write(b, at, false)
		}
	}
}

var plainTexts = []string{"text", "two words", "it's", "say \"hi\"", "a#b", "x", "1", "0644", "0x1F", "1_000", "1.0",
	"1e3", ".5", "-3", "+12", "yes", "on", "N", "null", "~", "true", "2001-01-01", "12:30:45", "80:80", "http://a.b/c",
	"-1", "-a", "a,b", "[", "08", "0b11", "0o17", ".inf",
	"123456789012345678901234567890", "a]", "é", "%", "1.2.3", "1e400", "*", "a &b"}

var quotedTexts = []string{"''", `""`, "'it''s'", `"a \" b"`, `"x: y"`, "'# no'", `"\u00e9\n"`, "'a' # comment",
	`"{"`, "'- a'"}

var flowTexts = []string{"{}", "[]", "[a, b]", "{a: 1, b: 'x]'}", `[{name: "a, }"}, it's]`, "[80, yes] # c",
	"{a: }", `{"a":1}`, "[ ]", `["", "*", 'get']`, "[a,b/c,d.e-f_g]", "[ true, null , NULL, Off]", "[a, 1]", "[a,]",
	`["a\tb", "x"]`, "['it''s', b]", "[a: b, c]", `["a": b]`, "[a b, c]", "[a, b]# c", "[a, b] # c]", "[a, *b]",
	"[.inf, a]", "[e5, 0x1f]", "[é, b]", `["a#b", "c #d"]`}

var keyTexts = []string{"a", "b", "c", "name", "some-key", "a.b/c", "'q'", `"k"`, "80", "yes", "with space", "a#b",
	"it's", "key\"", "x y ",
	"é", "-x", "1.5"}

func genScalar(t *rapid.T) *written {
	switch rapid.IntRange(0, 9).Draw(t, "style") {
	case 0, 1, 2:
		return &written{head: rapid.SampledFrom(plainTexts).Draw(t, "plain")}
	case 3:
		return &written{head: rapid.SampledFrom(quotedTexts).Draw(t, "quoted")}
	case 4:
		return &written{head: rapid.SampledFrom(flowTexts).Draw(t, "flow")}
	case 5: // plain, multi-line
		return &written{head: "begin",
			lines: genLines(t, []string{"  more", "    - deeper", " 'quote", "", "  {a", "   # comment", "  it's \"x"})}
	case 6: // quoted, over lines
		quote := rapid.SampledFrom([]string{"'", `"`}).Draw(t, "quote")
		lines := genLines(t, []string{"  more", "key: value", "", "   - a", "# no comment", "    x"})
		return &written{head: quote + "begin", lines: append(lines, "  end"+quote)}
	case 7: // brackets, over lines
		if rapid.IntRange(0, 5).Draw(t, "rare") > 0 {
			return &written{head: "x"}
		}
		return &written{head: "[a,", lines: []string{" b]"}}
	case 8:
		return &written{}
	}
	header := rapid.SampledFrom([]string{"|", ">", "|-", ">+", "|+", "|2", ">2-", "|1", "| # comment"}).Draw(t, "header")
	pad := rapid.SampledFrom([]string{"  ", "   ", " "}).Draw(t, "pad")
	lines := genLines(t, []string{"text", "key: value", "- a", "", " deeper", "# text", "'quote", "---", "{", "",
		"&a *b !c"})
	for i := range lines {
		if lines[i] != "" {
			lines[i] = pad + lines[i]
		}
	}
	return &written{head: header, lines: lines}
}

func genLines(t *rapid.T, from []string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(from), 0, 5).Draw(t, "lines")
}

func genTree(t *rapid.T, depth int) *written {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth <= 0 || kind < 3 {
		return withComment(t, genScalar(t))
	}
	if kind == 3 {
		return withComment(t, genList(t, depth))
	}
	return withComment(t, genMapping(t, depth))
}

func withComment(t *rapid.T, n *written) *written {
	if rapid.IntRange(0, 9).Draw(t, "commented") == 0 {
		n.comment = rapid.SampledFrom([]string{"# at the margin\n", "\n", "      # deep: er\n", "  \n"}).Draw(t, "comment")
	}
	return n
}

func genMapping(t *rapid.T, depth int) *written {
	n := &written{indent: rapid.IntRange(1, 4).Draw(t, "indent")}
	n.keys = rapid.SliceOfNDistinct(rapid.SampledFrom(keyTexts), 1, 6, rapid.ID[string]).Draw(t, "keys")
	for range n.keys {
		n.children = append(n.children, genTree(t, depth-1))
	}
	return n
}

func genList(t *rapid.T, depth int) *written {
	n := &written{indent: rapid.SampledFrom([]int{0, 0, 1, 2, 4}).Draw(t, "indent")}
	named := rapid.Bool().Draw(t, "named")
	for i := range rapid.IntRange(1, 4).Draw(t, "length") {
		child := genTree(t, depth-1)
		if named {
			child = genMapping(t, depth-1)
			child.indent = 2
			child.keys[0], child.children[0] = "name", &written{head: fmt.Sprint("n", i)}
			if j := slices.Index(child.keys[1:], "name"); j >= 0 {
				child.keys[j+1] = "other"
			}
		}
		if len(child.children) > 0 {
			child.indent = max(child.indent, 2)
		}
		n.children = append(n.children, child)
	}
	return n
}

// genDocument draws a document with a mapping at its root.
func genDocument(t *rapid.T) *written {
	n := &written{keys: []string{"apiVersion", "kind", "metadata"}, children: []*written{
		{head: "v1"}, {head: "Thing"}, {indent: 2, keys: []string{"name"}, children: []*written{{head: "thing"}}}}}
	for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
		n.keys = append(n.keys, fmt.Sprint("part", i))
		n.children = append(n.children, genTree(t, 4))
	}
	return n
}

func (t *written) text() []byte {
	var b strings.Builder
	t.write(&b, 0, false)
	return []byte(b.String())
}

// change changes one value in the document.
func (t *written) change(r *rapid.T) {
	if len(t.children) == 0 {
		c := genScalar(r)
		t.head, t.lines = c.head, c.lines
		return
	}
	i := rapid.IntRange(0, len(t.children)-1).Draw(r, "child")
	what := rapid.IntRange(0, 9).Draw(r, "change")
	switch {
	case what == 0 && len(t.children) > 1:
		t.children = slices.Delete(t.children, i, i+1)
		if t.keys != nil {
			t.keys = slices.Delete(t.keys, i, i+1)
		}
	case what == 1 && t.keys == nil:
		t.children = slices.Insert(t.children, i, t.children[len(t.children)-1].clone())
	case what == 2:
		j := rapid.IntRange(0, len(t.children)-1).Draw(r, "other")
		t.children[i], t.children[j] = t.children[j], t.children[i]
		if t.keys != nil {
			t.keys[i], t.keys[j] = t.keys[j], t.keys[i]
		}
	case what == 3 && t.keys != nil:
		if key := rapid.SampledFrom(keyTexts).Draw(r, "key"); !slices.Contains(t.keys, key) && t.keys[i] != "name" {
			t.keys[i] = key
		}
	default:
		t.children[i].change(r)
	}
}
