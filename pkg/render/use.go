package render

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"text/template/parse"
)

// Use is one place where a text names a value below .nuon.
type Use struct {
	Path    Path   // canonical path that is read; if keys follow that are not literal, only the literal part
	Written string // the expression as written, such as .nuon.install.inputs.cidr, $x.cidr or .cidr inside a with
	Line    int    // in the text, from 1
	Column  int    // in bytes, from 1
	Width   int    // length in bytes of the expression on that line
	Printed bool   // true if the value is only printed here
}

// span is a range of bytes in the text.
type span struct{ start, end int }

// use is a Use without its line and column, which are computed later.
type use struct {
	path    Path
	at      span
	printed bool
}

// Uses returns the places where the template names what it reads, in the order of the text. Their
// paths are those of [Template.Refs], without the ones that are read only because they are part of
// another. One value may have many places, and one place can have several paths: `$x.id` does, if
// $x can be one of two values.
func (t *Template) Uses() []Use { return t.uses }

// sortedUses returns the uses in order and without duplicates. A use is marked as printed only if the
// value has no other use at the same place.
func (a *analysis) sortedUses() []Use {
	slices.SortFunc(a.uses, func(x, y use) int {
		order := cmp.Or(cmp.Compare(x.at.start, y.at.start), cmp.Compare(x.at.end, y.at.end),
			slices.Compare(x.path, y.path))
		if order == 0 && x.printed != y.printed {
			order = 1
			if y.printed {
				order = -1
			}
		}
		return order
	})
	unique := slices.CompactFunc(a.uses, func(x, y use) bool { return x.at == y.at && slices.Equal(x.path, y.path) })
	uses := make([]Use, len(unique))
	for i, u := range unique {
		uses[i] = a.lines.place(u.at)
		uses[i].Path, uses[i].Printed = u.path, u.printed
	}
	return uses
}

// textLines maps offsets of a text to lines.
type textLines struct {
	text   string
	starts []int // offset at which each line starts
}

func linesOf(text string) textLines {
	lines := textLines{text: text, starts: make([]int, 1, 1+strings.Count(text, "\n"))}
	for i := 0; ; {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			return lines
		}
		i += n + 1
		lines.starts = append(lines.starts, i)
	}
}

// place returns the line and column of a span. The width of an expression that spans several lines
// is that of its first line.
func (l textLines) place(at span) Use {
	line := sort.SearchInts(l.starts, at.start+1)
	written := l.text[at.start:at.end]
	first, _, _ := strings.Cut(written, "\n")
	return Use{Written: written, Line: line, Column: at.start - l.starts[line-1] + 1,
		Width: len(strings.TrimSuffix(first, "\r"))}
}

// offset is the inverse of place. It returns -1 for a line outside of the text.
func (l textLines) offset(line, column int) int {
	if line < 1 || line > len(l.starts) {
		return -1
	}
	return l.starts[line-1] + column - 1
}

// span returns the range of a node in the text. For a chain the parser reports the position after
// its first key; span returns its start.
func (a *analysis) span(node parse.Node) span {
	at := min(int(node.Position()), len(a.text))
	switch node := node.(type) {
	case *parse.FieldNode:
		at -= suffixLength(a.text[:at], "."+node.Ident[0])
		return a.reach(at, chainWidth(node.Ident))
	case *parse.VariableNode:
		at -= suffixLength(a.text[:at], node.Ident[0])
		return a.reach(at, chainWidth(node.Ident)-1)
	case *parse.ChainNode:
		end := at + chainWidth(node.Field)
		at = a.opening(int(node.Node.Position()))
		return a.reach(at, end-at)
	case *parse.IdentifierNode:
		return a.reach(at, len(node.Ident))
	case *parse.PipeNode:
		return a.reach(at, max(a.last(node)-at, 1))
	}
	return a.reach(at, 1)
}

// last returns the end of the last word of a pipeline, or an earlier offset if the exact end is
// costly to determine.
func (a *analysis) last(pipe *parse.PipeNode) int {
	cmd := pipe.Cmds[len(pipe.Cmds)-1]
	node := cmd.Args[len(cmd.Args)-1]
	if _, deeper := node.(*parse.PipeNode); deeper {
		return int(node.Position())
	}
	return a.span(node).end
}

// opening returns the offset of the parenthesis before a pipeline.
func (a *analysis) opening(at int) int {
	before := strings.TrimRight(a.text[:min(at, len(a.text))], " \t\r\n")
	return len(before) - suffixLength(before, "(")
}

func (a *analysis) reach(start, width int) span {
	return span{start: start, end: min(start+width, len(a.text))}
}

// chainWidth returns the length of the keys in bytes, with a dot before each.
func chainWidth(keys []string) int {
	width := 0
	for _, key := range keys {
		width += 1 + len(key)
	}
	return width
}

func suffixLength(text, suffix string) int {
	if strings.HasSuffix(text, suffix) {
		return len(suffix)
	}
	return 0
}
