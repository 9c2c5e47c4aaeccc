package terminal

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

const (
	// minSide is the minimum width for the side-by-side view.
	minSide = 100
	// sideDeeper is the indent of a field's text relative to its name.
	sideDeeper = "  "
	between    = " │ "
)

// middle returns the column at which the right half starts. It is the same for all rows of a screen.
func middle(width int) int {
	const deep = len(indent) + len(sideDeeper)
	return deep + (width-deep-Columns(between))/2
}

// layoutSides lays out a field with its values side by side: beside its name if the column of names
// leaves room for that, otherwise below it.
func layoutSides(indent, name string, column int, before, after, aside []Span, width int) []Row {
	room, wide := middle(width)-len(indent), Row(before).Width()
	// A name that is wider than its column moves the middle: the row may not fit then.
	left := len(indent) + Columns(name) + 2 + wide
	over := left > middle(width) && left+Columns(between)+joined(after, aside).Width() > width
	if over || len(indent)+column > middle(width)/2 || wide > room-column-2 && wide <= room-len(sideDeeper) {
		rows := Wrap(width, indent, joined(Row{{Text: name}}, aside)...)
		return append(rows, sideBySide(Row{{Text: indent + sideDeeper}}, before, after, width)...)
	}
	return sideBySide(Row{{Text: indent}, {Text: pad(name, column) + "  "}}, before, joined(after, aside), width)
}

// layoutStretch lays out removed lines beside the added lines that replace them, or one unchanged line.
func layoutStretch(lines []diff.Line, indent string, width int) []Row {
	if width < minSide {
		var rows []Row
		for i := range lines {
			rows = append(rows, textLine(&lines[i], indent, width)...)
		}
		return rows
	}
	prefix := Row{{Text: indent + sideDeeper}}
	switch l := &lines[0]; l.Op {
	case diff.LineSame:
		return sideBySide(prefix, cell(l), cell(l), width)
	case diff.LineSkipped, diff.LineMore:
		return textLine(l, indent, width)
	}
	var removed, added []*diff.Line
	for i := range lines {
		if lines[i].Op == diff.LineRemoved {
			removed = append(removed, &lines[i])
		} else {
			added = append(added, &lines[i])
		}
	}
	var rows []Row
	for i := range max(len(removed), len(added)) {
		var left, right []Span
		if i < len(removed) {
			left = cell(removed[i])
		}
		if i < len(added) {
			right = cell(added[i])
		}
		rows = append(rows, sideBySide(prefix, left, right, width)...)
	}
	return rows
}

func cell(l *diff.Line) []Span { return []Span{{l.Display(), inkOfLine(l)}} }

// sideBySide lays out two texts left and right of the middle, the left one after a prefix.
func sideBySide(prefix Row, left, right []Span, width int) []Row {
	used, mid := prefix.Width(), middle(width)
	lefts, rights := WrapTo(mid-used, "", 2, left...), WrapTo(width-mid-Columns(between), "", 2, right...)
	rows := make([]Row, 0, max(len(lefts), len(rights)))
	for i := range max(len(lefts), len(rights)) {
		row := joined(prefix)
		if i > 0 {
			row = Row{{Text: strings.Repeat(" ", used)}}
		}
		var l, r Row
		if i < len(lefts) {
			l = lefts[i]
		}
		if i < len(rights) {
			r = rights[i]
		}
		rule := between
		if len(r) == 0 || len(r) == 1 && r[0].Text == "" {
			rule = strings.TrimRight(between, " ")
		}
		rows = append(rows, joined(row, l, Row{{Text: strings.Repeat(" ", max(mid-used-l.Width(), 0))}, {rule, Faint}}, r))
	}
	return rows
}
