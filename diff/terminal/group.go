package terminal

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// This file prints what the paths of a change share once, as a heading above the fields.

// maxName is how long a name may be that pushes values to the right.
const maxName = 36

// putFields lists the fields in shown, with headings. What several of them say is listed once, unless the change is unfolded.
func (p *Page) putFields(at line, c *diff.Change, all bool) {
	fields := p.shown
	var others map[int32]string
	if !all {
		fields, others = c.Repeats(fields)
	}
	p.outline = c.Outline(p.outline[:0], fields)
	if len(p.outline) > 0 {
		p.putRows(at, c, p.outline, others)
	}
}

// putRows lists the rows of one group, and those of the groups in it. It returns how many rows that are.
func (p *Page) putRows(at line, c *diff.Change, rows []diff.OutlineRow, others map[int32]string) int {
	start, n := len(p.lines), 0
	for n < len(rows) && rows[n].Depth >= rows[0].Depth {
		row := rows[n]
		at.field, at.skip, at.end, at.depth, at.also = row.Field, row.Skip, row.End, row.Depth, 0
		n++
		if row.Heading {
			at.kind = lineGroup
			p.lines = append(p.lines, at)
			n += p.putRows(at, c, rows[n:], others)
			continue
		}
		if words, ok := others[row.Field]; ok {
			p.others = append(p.others, words)
			at.also = int32(len(p.others))
		}
		p.putField(at, int(row.Field), &c.Fields[row.Field])
	}
	p.align(c, start, rows[0].Depth)
	return n
}

// align gives the fields of a group, which are listed from start on, one column for their values.
func (p *Page) align(c *diff.Change, start int, depth int32) {
	column := 0
	for i := start; i < len(p.lines); i++ {
		if l := &p.lines[i]; l.kind == lineField && l.depth == depth {
			if name := len(diff.RelativePath(c.Fields[l.field].Path, int(l.skip))); name <= maxName {
				column = max(column, name)
			}
		}
	}
	for i := start; i < len(p.lines); i++ {
		if l := &p.lines[i]; l.kind == lineField && l.depth == depth {
			l.column = int32(column)
		}
	}
}

// heading is what the fields below it share. It says of an element that it is new or goes, and counts what changes in a document.
func (p *Page) heading(l line, width int) []Row {
	c := p.changeOf(l)
	f := &c.Fields[l.field]
	sign := signOf(f, int(l.skip), int(l.end))
	text := Span{Text: diff.Neutral(diff.RelativePath(f.Path[:l.end], int(l.skip)))}
	if sign.Text == "" {
		if counts := c.DocumentSummary(f.Path[:l.end], int(l.skip)); counts != "" {
			return Wrap(width, deeper(l), text, Span{"  " + counts, Faint})
		}
		return Wrap(width, deeper(l), text)
	}
	return Wrap(width, deeper(l), sign, text, Span{"  " + string(f.Element.Change), Faint})
}

// signOf is the sign of an element that is new or goes, if its path ends between two places of the field's.
func signOf(f *diff.FieldChange, from, to int) Span {
	e := f.OwnElement()
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
