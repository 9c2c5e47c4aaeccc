// Package excerpt formats one line of a text for a terminal, with a mark below the affected part.
// It computes how many columns the line takes, and which part of it fits.
//
// It does not choose colors or what surrounds the line, and reads no file. `nuon validate` calls
// it.
package excerpt

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Line is one line as a terminal shows it.
type Line struct {
	Text      string // without control sequences; no wider than the limit
	MarkStart int    // columns before the mark
	MarkWidth int    // columns of the mark, at least one
}

const (
	// tabWidth is the tab width in columns.
	tabWidth = 4
	// maxContext bounds how many bytes around the mark are processed, because a line can be megabytes
	// long.
	maxContext = 4096
	// minWidth is the minimum width that is used, even if there is less room.
	minWidth = 16

	ellipsis = "…"
)

// Format formats a line to at most columns columns, and marks width bytes from column on. column is in
// bytes, from 1, and may be beyond the end of the line. A width of 0 marks one character.
//
// A line that is too long is cut so that the start of the mark is visible. Tabs become spaces, and
// so do control characters and characters that display as something else. Invalid bytes become the
// replacement character.
func Format(line string, column, width, columns int) Line {
	columns = max(columns, minWidth)
	from := min(max(column-1, 0), len(line))
	to := min(from+max(width, 0), len(line))
	line, from, to = around(line, from, to)
	cells, start, end := split(line, from, to)
	return fit(cells, start, max(end, start+1), columns)
}

// around drops the parts that are far from the mark, to bound the work.
func around(line string, from, to int) (string, int, int) {
	start, end := max(from-maxContext, 0), min(from+maxContext, len(line))
	for start > 0 && start < from && !utf8.RuneStart(line[start]) {
		start++
	}
	return line[start:end], from - start, min(to, end) - start
}

// cell is one character with its width in columns.
type cell struct {
	text  string
	width int
}

// split splits a line into cells. It returns the index of the first marked cell, and the index
// after the last one.
func split(line string, from, to int) (cells []cell, start, end int) {
	column, start, end := 0, -1, -1
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		if start < 0 && at+size > from {
			start = len(cells)
		}
		if end < 0 && at >= to {
			end = len(cells)
		}
		c := newCell(r, column)
		cells, column, at = append(cells, c), column+c.width, at+size
	}
	if start < 0 {
		start = len(cells)
	}
	if end < 0 {
		end = len(cells)
	}
	return cells, start, end
}

func newCell(r rune, column int) cell {
	switch {
	case r == '\t':
		n := tabWidth - column%tabWidth
		return cell{strings.Repeat(" ", n), n}
	case r != utf8.RuneError && !strconv.IsPrint(r):
		return cell{" ", 1}
	}
	text := string(r)
	return cell{text, ansi.StringWidth(text)}
}

// fit cuts cells to the available room.
func fit(cells []cell, start, end, columns int) Line {
	first, last := window(cells, start, columns)
	var shown strings.Builder
	l := Line{}
	column := 0
	if first > 0 {
		shown.WriteString(ellipsis)
		column++
	}
	for i, c := range cells[first:last] {
		if first+i < start {
			l.MarkStart += c.width
		} else if first+i < end {
			l.MarkWidth += c.width
		}
		shown.WriteString(c.text)
	}
	l.MarkStart += column
	if last < len(cells) {
		shown.WriteString(ellipsis)
	}
	l.Text, l.MarkWidth = shown.String(), max(l.MarkWidth, 1)
	return l
}

// window returns the range of visible cells: all if they fit, else those from slightly before the
// mark on.
func window(cells []cell, start, columns int) (first, last int) {
	visible := totalWidth(cells)
	if visible <= columns {
		return 0, len(cells)
	}
	before := totalWidth(cells[:start])
	for first < start && before > columns/3 && visible > columns-1 {
		before, visible = before-cells[first].width, visible-cells[first].width
		first++
	}
	remaining := columns - 1 // for the ellipsis at the end
	if first > 0 {
		remaining--
	}
	last = first
	for last < len(cells) && cells[last].width <= remaining {
		remaining -= cells[last].width
		last++
	}
	if last == len(cells)-1 && cells[last].width <= remaining+1 { // the ellipsis would replace only the last character
		last++
	}
	return first, last
}

func totalWidth(cells []cell) int {
	n := 0
	for _, c := range cells {
		n += c.width
	}
	return n
}
