package terminal

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// layoutField lays out one difference: on one row if it fits, otherwise on one row for each existing
// side, or line by line for a text of several lines.
func (p *Page) layoutField(l line, width int) []Row {
	c := p.changeOf(l)
	f := &c.Fields[l.field]
	aside := annotations(c, f, p.isPast(l))
	if l.more > 0 {
		aside = append(aside, Span{"  " + p.others[l.more-1], Faint})
	}
	sign, name := signOf(f, int(l.skip), len(f.Path)), f.Name()
	if l.skip > 0 {
		name = diff.EscapeText(diff.RelativePath(f.Path, int(l.skip)))
	}
	switch l.kind {
	case lineText:
		return textLine(&f.Lines[l.part], deeper(l), width)
	case lineRest:
		return Wrap(width, deeper(l)+"  ",
			Span{"  … " + diff.Plural(len(f.Lines)-int(l.part), "more line", "more lines") + ", folded", Faint})
	case lineStretch:
		return layoutStretch(f.Lines[l.part:l.end], deeper(l), width)
	case lineName:
		if counts := f.LineSummary(); counts != "" {
			aside = append(aside, Span{"  " + counts, Faint})
		}
		return Wrap(width, deeper(l), joined(Row{sign, {Text: name}}, aside)...)
	}
	column := int(l.column)
	before, after := p.valuesOf(l, c, f)
	if p.side && width >= minSide && len(before) > 0 {
		return layoutSides(deeper(l), name, column, before, after, aside, width)
	}
	named := Row{sign, {Text: pad(name, column-Columns(sign.Text)) + "  "}}
	if len(before)+len(after)+len(aside) == 0 {
		return Wrap(width, deeper(l), sign, Span{Text: name})
	}
	if len(before) == 0 {
		return Wrap(width, deeper(l), joined(named, after, aside)...)
	}
	said := joined(before, Row{{" → ", Faint}}, after, aside)
	room := width - len(deeper(l)) - said.Width()
	switch {
	case width == 0 || named.Width() <= room:
		return Wrap(width, deeper(l), joined(named, said)...)
	case Columns(name)+2 <= room:
		return Wrap(width, deeper(l), joined(Row{{Text: name + "  "}}, said)...)
	}
	rows := Wrap(width, deeper(l), joined(Row{{Text: name}}, aside)...)
	if !f.Before.Absent {
		rows = append(rows, Wrap(width, deeper(l)+"  ", joined(Row{{"- ", Before}}, before)...)...)
	}
	if !f.After.Absent {
		rows = append(rows, Wrap(width, deeper(l)+"  ", joined(Row{{"+ ", inkAfter(c.Action, f)}}, after)...)...)
	}
	return rows
}

// valuesOf returns the sides of a field. An added or removed element has one side, or none if its
// name contains its value.
func (p *Page) valuesOf(l line, c *diff.Change, f *diff.FieldChange) (before, after []Span) {
	e := f.OwnElement()
	if e == nil || f.Before.Absent == f.After.Absent {
		return values(c, f, p.isUnfolded(l))
	}
	there, ink := f.After, inkAfter(c.Action, f)
	if e.Change == diff.ElementRemoved {
		there, ink = f.Before, Before
	}
	if e.Path == f.Path && there.Text != "" && there.Sum == "" && strings.HasSuffix(f.Path, "["+there.Text+"]") {
		return nil, nil
	}
	_, after = values(&diff.Change{Action: diff.Create},
		&diff.FieldChange{Before: diff.ShownValue{Absent: true}, After: there, Outline: f.Outline}, p.isUnfolded(l))
	for i := range after {
		after[i].Ink = ink
	}
	return nil, after
}

func joined(rows ...[]Span) Row { return slices.Concat(rows...) }

// values returns the two sides of a field. A field that a single text describes has no before.
func values(c *diff.Change, f *diff.FieldChange, whole bool) (before, after []Span) {
	if !whole {
		f = f.Collapsed()
	}
	ink := inkAfter(c.Action, f)
	if words := f.OrderSummary(); words != "" && !whole {
		return nil, []Span{{words, ink}}
	}
	was, is := f.Sides(c.Action)
	if f.Reordered && was != "" {
		return []Span{{"order: ", Faint}, {was, Before}}, []Span{{is, ink}}
	}
	if was == "" {
		return nil, []Span{{is, ink}}
	}
	a, ok := f.StringDelta(was, is, whole)
	if !ok {
		return []Span{{was, Before}}, []Span{{is, ink}}
	}
	return []Span{{a.Head, Faint}, {a.Before, Before}, {a.Tail, Faint}},
		[]Span{{a.Head, Faint}, {a.After, ink}, {a.Tail, Faint}}
}

// annotations returns the remarks beside the values.
func annotations(c *diff.Change, f *diff.FieldChange, past bool) []Span {
	var out []Span
	for i, words := range f.Annotations(past) {
		if i == 0 && f.ForcesReplace && c.AllFieldsForceReplace() {
			continue
		}
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

func textLine(l *diff.Line, indent string, width int) []Row {
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
