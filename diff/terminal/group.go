package terminal

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// This file prints what the paths of a change share once, as a heading above the fields.

// A heading is worth its row if it saves more than leastSaved bytes. Names longer than maxName do not push values to the right.
const (
	leastSaved = 20
	maxName    = 36
)

// group is fields of a change with the same heading above them.
type group struct {
	change *diff.Change
	fields []int32
	// skip is how much of their paths the headings above say, and from, which is not less, how much is known to be the same.
	skip, from int
	depth      int32
}

func (g *group) path(i int) string { return g.change.Fields[g.fields[i]].Path }

// putGroup lists fields, with headings where several share the beginning of their paths, or are parts of an element that is new or goes.
func (p *Page) putGroup(at line, g group) {
	start := len(p.lines)
	for i := 0; i < len(g.fields); {
		n, shared := g.run(i)
		element, parts := g.element(i)
		switch {
		case parts > 0 && (n == 1 || shared >= element):
			n, shared = parts, element
			p.putHeading(at, &g, i, shared)
			p.putGroup(at, group{g.change, g.fields[i : i+n], shared, shared, g.depth + 1})
		case n == 1:
			at.skip, at.depth = int32(g.skip), g.depth
			p.putField(at, int(g.fields[i]), &g.change.Fields[g.fields[i]])
		case (n-1)*(shared-g.skip) > 2*n+len(indent)+leastSaved:
			p.putHeading(at, &g, i, shared)
			p.putGroup(at, group{g.change, g.fields[i : i+n], shared, shared, g.depth + 1})
		default:
			p.putGroup(at, group{g.change, g.fields[i : i+n], g.skip, shared, g.depth})
		}
		i += n
	}
	p.align(&g, start)
}

func (p *Page) putHeading(at line, g *group, i, shared int) {
	at.kind, at.field, at.skip, at.end, at.depth = lineGroup, g.fields[i], int32(g.skip), int32(shared), g.depth
	p.lines = append(p.lines, at)
}

// align gives the fields of a group, which are listed from start on, one column for their values.
func (p *Page) align(g *group, start int) {
	column := 0
	for i := start; i < len(p.lines); i++ {
		if l := &p.lines[i]; l.kind == lineField && l.depth == g.depth {
			if name := len(relative(g.change.Fields[l.field].Path, int(l.skip))); name <= maxName {
				column = max(column, name)
			}
		}
	}
	for i := start; i < len(p.lines); i++ {
		if l := &p.lines[i]; l.kind == lineField && l.depth == g.depth {
			l.column = int32(column)
		}
	}
}

// run is how many fields from i on share more of their paths than is known, and how much all of them share.
func (g *group) run(i int) (n, shared int) {
	for n = 1; i+n < len(g.fields); n++ {
		same := diff.SharedSteps(g.path(i), g.path(i+n), g.from)
		if same <= g.from {
			break
		}
		if n == 1 || same < shared {
			shared = same
		}
	}
	return n, shared
}

// element is how long the path of the element is that field i is a part of, and how many fields from i on are; none if the headings above
// say it, or the field is the element.
func (g *group) element(i int) (length, parts int) {
	e := elementOf(&g.change.Fields[g.fields[i]])
	if e == nil || len(e.Path) <= g.skip || len(g.path(i)) == len(e.Path) {
		return 0, 0
	}
	for i+parts < len(g.fields) {
		if other := elementOf(&g.change.Fields[g.fields[i+parts]]); other == nil || other.Path != e.Path || other.Change != e.Change {
			break
		}
		parts++
	}
	return len(e.Path), parts
}

// elementOf is the element of a field, if its path is in the field's.
func elementOf(f *diff.FieldChange) *diff.Element {
	if f.Element == nil || !strings.HasPrefix(f.Path, f.Element.Path) {
		return nil
	}
	return f.Element
}

// relative is the part of a path that the headings above it do not say.
func relative(path string, skip int) string {
	if skip == 0 || skip >= len(path) {
		return path
	}
	return strings.TrimLeft(path[skip:], ". ")
}

// heading is what the fields below it share. It says of an element that it is new or goes.
func (p *Page) heading(l line, width int) []Row {
	f := &p.changeOf(l).Fields[l.field]
	sign := signOf(f, int(l.skip), int(l.end))
	text := Span{Text: diff.Neutral(relative(f.Path[:l.end], int(l.skip)))}
	if sign.Text == "" {
		return Wrap(width, deeper(l), text)
	}
	return Wrap(width, deeper(l), sign, text, Span{"  " + string(f.Element.Change), Faint})
}

// signOf is the sign of an element that is new or goes, if its path ends between two places of the field's.
func signOf(f *diff.FieldChange, from, to int) Span {
	e := elementOf(f)
	switch {
	case e == nil || len(e.Path) <= from || len(e.Path) > to:
		return Span{}
	case e.Change == diff.ElementRemoved:
		return Span{"- ", Before}
	}
	return Span{"+ ", Create}
}

// deeper is the indent of a line.
func deeper(l line) string { return indent + strings.Repeat("  ", int(l.depth)) }
