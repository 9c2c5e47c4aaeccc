package terminal

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// This file prints the common parts of the paths of a change once, as headings above the fields.

// maxName is the longest name that is considered for the column of the values.
const maxName = 36

// putFields appends the fields in shown, with headings. A text that several fields share appears
// once, unless the change is unfolded.
func (p *Page) putFields(at line, c *diff.Change, all bool) {
	fields := p.shown
	var others map[int32]string
	if !all {
		fields, others = c.WithoutRepeats(fields)
	}
	p.outline = c.Outline(p.outline[:0], fields)
	if len(p.outline) > 0 {
		p.putRows(at, c, p.outline, others)
	}
}

// putRows appends the rows of one group and of the groups in it, and returns their number.
func (p *Page) putRows(at line, c *diff.Change, rows []diff.OutlineRow, others map[int32]string) int {
	start, n := len(p.lines), 0
	for n < len(rows) && rows[n].Depth >= rows[0].Depth {
		row := rows[n]
		at.field, at.skip, at.end, at.depth, at.more = row.Field, row.Skip, row.End, row.Depth, 0
		n++
		if row.Heading {
			at.kind = lineGroup
			p.lines = append(p.lines, at)
			n += p.putRows(at, c, rows[n:], others)
			continue
		}
		if words, ok := others[row.Field]; ok {
			p.others = append(p.others, words)
			at.more = int32(len(p.others))
		}
		p.putField(at, int(row.Field), &c.Fields[row.Field])
	}
	p.align(c, start, rows[0].Depth)
	return n
}

// align sets a common column for the values of a group's fields. The lines of the group start at
// start.
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

// layoutHeading lays out the common path of the fields below it. It marks an added or removed element, and
// counts the changes in a document.
func (p *Page) layoutHeading(l line, width int) []Row {
	c := p.changeOf(l)
	f := &c.Fields[l.field]
	sign := signOf(f, int(l.skip), int(l.end))
	text := Span{Text: diff.EscapeText(diff.RelativePath(f.Path[:l.end], int(l.skip)))}
	if sign.Text == "" {
		if counts := c.DocumentSummary(f.Path[:l.end], int(l.skip)); counts != "" {
			return Wrap(width, deeper(l), text, Span{"  " + counts, Faint})
		}
		return Wrap(width, deeper(l), text)
	}
	return Wrap(width, deeper(l), sign, text, Span{"  " + string(f.Element.Change), Faint})
}

// signOf returns the sign of an added or removed element whose path ends between two offsets of the
// field's path.
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

// deeper returns the indent of a line.
func deeper(l line) string { return indent + strings.Repeat("  ", int(l.depth)) }
