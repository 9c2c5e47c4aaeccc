package terminal

import "github.com/nuon-toolkit/nuon/diff"

// field is one difference: on one row if it fits, on a row for each side that is there if not, and line by line for a text of several
// lines.
func (p *Page) field(l line, width int) []Row {
	c := p.changeOf(l)
	f := &c.Fields[l.field]
	aside := asides(f, p.past(l))
	switch l.kind {
	case lineText:
		return textLine(&f.Lines[l.part], width)
	case lineRest:
		return Wrap(width, indent+"  ", Span{"  … " + diff.Plural(len(f.Lines)-int(l.part), "more line", "more lines") + ", folded", Faint})
	case lineStretch:
		return stretch(f.Lines[l.part:l.end], width)
	case lineName:
		return Wrap(width, indent, append([]Span{{Text: f.Name()}}, aside...)...)
	}
	column := p.fieldColumn(l, c)
	before, after := values(c, f, p.whole(l))
	if p.side && width >= leastSide && len(before) > 0 {
		return sides(f.Name(), column, before, after, aside, width)
	}
	name := Span{Text: pad(f.Name(), column) + "  "}
	if len(before) == 0 {
		return Wrap(width, indent, joined(Row{name}, after, aside)...)
	}
	said := joined(before, Row{{" → ", Faint}}, after, aside)
	room := width - len(indent) - said.Width()
	switch {
	case width == 0 || Columns(name.Text) <= room:
		return Wrap(width, indent, joined(Row{name}, said)...)
	case Columns(f.Name())+2 <= room:
		return Wrap(width, indent, joined(Row{{Text: f.Name() + "  "}}, said)...)
	}
	rows := Wrap(width, indent, joined(Row{{Text: f.Name()}}, aside)...)
	if !f.Before.Absent {
		rows = append(rows, Wrap(width, indent+"  ", joined(Row{{"- ", Before}}, before)...)...)
	}
	if !f.After.Absent {
		rows = append(rows, Wrap(width, indent+"  ", joined(Row{{"+ ", inkAfter(c.Action, f)}}, after)...)...)
	}
	return rows
}

func joined(rows ...[]Span) Row {
	var out Row
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

// values are the two sides of a field. One of which all is said in one text has no before.
func values(c *diff.Change, f *diff.FieldChange, whole bool) (before, after []Span) {
	if !whole {
		f = f.OnScreen()
	}
	ink := inkAfter(c.Action, f)
	if words := f.Order(); words != "" && !whole {
		return nil, []Span{{words, ink}}
	}
	was, is := f.Sides(c.Action)
	if f.Reordered && was != "" {
		return []Span{{"order: ", Faint}, {was, Before}}, []Span{{is, ink}}
	}
	if was == "" {
		return nil, []Span{{is, ink}}
	}
	a, ok := f.Apart(was, is, whole)
	if !ok {
		return []Span{{was, Before}}, []Span{{is, ink}}
	}
	return []Span{{a.Head, Faint}, {a.Before, Before}, {a.Tail, Faint}}, []Span{{a.Head, Faint}, {a.After, ink}, {a.Tail, Faint}}
}

// asides are what is said beside the values.
func asides(f *diff.FieldChange, past bool) []Span {
	var out []Span
	for i, words := range f.Asides(past) {
		ink := Faint
		if i == 0 && f.ForcesReplace {
			ink = Replace
		} else if f.Regenerated {
			ink = Warn
		}
		out = append(out, Span{"  " + words, ink})
	}
	return out
}

// measured is how wide the names of a change's fields are; neighbouring lines mostly ask for the same change.
type measured struct {
	change *diff.Change
	column int
}

// fieldColumn is how wide the names of the fields that are shown are.
func (p *Page) fieldColumn(l line, c *diff.Change) int {
	if p.measure.change == c {
		return p.measure.column
	}
	e := &p.changes[l.change]
	column := 1
	for i := range c.Fields {
		if f := &c.Fields[i]; len(f.Lines) == 0 && (e.unfolded || f.Fold == "" && !f.Quiet(c.Action)) {
			column = max(column, Columns(f.Name()))
		}
	}
	p.measure = measured{c, min(column, maxColumn)}
	return p.measure.column
}

func textLine(l *diff.Line, width int) []Row {
	return Wrap(width, indent+"  ", Span{l.Display(), inkOfLine(l)})
}

func inkOfLine(l *diff.Line) Ink {
	switch l.Op {
	case diff.LineAdded:
		return Create
	case diff.LineRemoved:
		return Before
	}
	return Faint
}
