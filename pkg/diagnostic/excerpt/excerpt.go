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
	Text  string // without control sequences; no wider than the room
	At    int    // columns before the mark
	Width int    // columns of the mark, at least one
}

const (
	// tab is the tab width in columns.
	tab = 4
	// most bounds how many bytes around the mark are processed, because a line can be megabytes
	// long.
	most = 4096
	// leastRoom is the minimum width that is used, even if there is less room.
	leastRoom = 16

	cut = "…"
)

// Of formats a line in room columns, and marks width bytes from column on. column is in bytes, from
// 1, and may be beyond the end of the line. A width of 0 marks one character.
//
// A line that is too long is cut so that the start of the mark is visible. Tabs become spaces, and
// so do control characters and characters that display as something else. Invalid bytes become the
// replacement character.
func Of(line string, column, width, room int) Line {
	room = max(room, leastRoom)
	from := min(max(column-1, 0), len(line))
	to := min(from+max(width, 0), len(line))
	line, from, to = around(line, from, to)
	cells, begin, end := split(line, from, to)
	return fit(cells, begin, max(end, begin+1), room)
}

// around drops the parts that are far from the mark, to bound the work.
func around(line string, from, to int) (string, int, int) {
	begin, end := max(from-most, 0), min(from+most, len(line))
	for begin > 0 && begin < from && !utf8.RuneStart(line[begin]) {
		begin++
	}
	return line[begin:end], from - begin, min(to, end) - begin
}

// cell is one character with its width in columns.
type cell struct {
	text  string
	width int
}

// split splits a line into cells. It returns the index of the first marked cell, and the index
// after the last one.
func split(line string, from, to int) (cells []cell, begin, end int) {
	column, begin, end := 0, -1, -1
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		if begin < 0 && at+size > from {
			begin = len(cells)
		}
		if end < 0 && at >= to {
			end = len(cells)
		}
		c := show(r, column)
		cells, column, at = append(cells, c), column+c.width, at+size
	}
	if begin < 0 {
		begin = len(cells)
	}
	if end < 0 {
		end = len(cells)
	}
	return cells, begin, end
}

func show(r rune, column int) cell {
	switch {
	case r == '\t':
		n := tab - column%tab
		return cell{strings.Repeat(" ", n), n}
	case r != utf8.RuneError && !strconv.IsPrint(r):
		return cell{" ", 1}
	}
	text := string(r)
	return cell{text, ansi.StringWidth(text)}
}

// fit cuts cells to the available room.
func fit(cells []cell, begin, end, room int) Line {
	first, last := window(cells, begin, room)
	var shown strings.Builder
	l := Line{}
	column := 0
	if first > 0 {
		shown.WriteString(cut)
		column++
	}
	for i, c := range cells[first:last] {
		if first+i < begin {
			l.At += c.width
		} else if first+i < end {
			l.Width += c.width
		}
		shown.WriteString(c.text)
	}
	l.At += column
	if last < len(cells) {
		shown.WriteString(cut)
	}
	l.Text, l.Width = shown.String(), max(l.Width, 1)
	return l
}

// window returns the range of visible cells: all if they fit, else those from slightly before the
// mark on.
func window(cells []cell, begin, room int) (first, last int) {
	if total(cells) <= room {
		return 0, len(cells)
	}
	before := total(cells[:begin])
	for first < begin && before-total(cells[:first]) > room/3 && total(cells[first:]) > room-1 {
		first++
	}
	left := room - 1 // for the ellipsis at the end
	if first > 0 {
		left--
	}
	last = first
	for last < len(cells) && cells[last].width <= left {
		left -= cells[last].width
		last++
	}
	if last == len(cells)-1 && cells[last].width <= left+1 { // the ellipsis would replace only the last character
		last++
	}
	return first, last
}

func total(cells []cell) int {
	n := 0
	for _, c := range cells {
		n += c.width
	}
	return n
}
