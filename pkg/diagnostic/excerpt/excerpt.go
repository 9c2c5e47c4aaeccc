// Package excerpt owns how one line of a text is shown with a mark below the part that is meant: how many columns it takes, and which
// part of it there is room for.
//
// It decides neither colours nor what stands around the line, and reads no file. `nuon validate` calls it.
package excerpt

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Line is one line as a terminal shows it.
type Line struct {
	Text  string // nothing in it that a terminal would obey; at most as wide as there is room
	At    int    // columns before the mark
	Width int    // columns of the mark, at least one
}

const (
	// tab is how many columns a tab goes on to a multiple of.
	tab = 4
	// most bounds the bytes of a line that are looked at around the mark: lines can be megabytes.
	most = 4096
	// leastRoom is what a line is shown in even where there is less.
	leastRoom = 16

	cut = "…"
)

// Of shows a line, of which width bytes from column on are meant, in room columns. Column is in bytes, from 1; it may be beyond the
// end of the line, and a width of 0 is that of one character.
//
// A line that is too long is cut such that the mark's beginning is in it. Tabs become blanks, and so does what a terminal would obey or
// would show as something else than it is; bytes that are no text become the sign for that.
func Of(line string, column, width, room int) Line {
	room = max(room, leastRoom)
	from := min(max(column-1, 0), len(line))
	to := min(from+max(width, 0), len(line))
	line, from, to = around(line, from, to)
	cells, begin, end := split(line, from, to)
	return fit(cells, begin, max(end, begin+1), room)
}

// around leaves out what is far from the mark, so that the work is bounded.
func around(line string, from, to int) (string, int, int) {
	begin, end := max(from-most, 0), min(from+most, len(line))
	for begin > 0 && begin < from && !utf8.RuneStart(line[begin]) {
		begin++
	}
	return line[begin:end], from - begin, min(to, end) - begin
}

// cell is one character, and how many columns it takes.
type cell struct {
	text  string
	width int
}

// split makes cells of a line, and gives those at which the mark begins and before which it ends.
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

// fit cuts cells to the room that there is.
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

// window gives the cells that are shown: all if there is room, else those from somewhat before the mark on.
func window(cells []cell, begin, room int) (first, last int) {
	if total(cells) <= room {
		return 0, len(cells)
	}
	before := total(cells[:begin])
	for first < begin && before-total(cells[:first]) > room/3 && total(cells[first:]) > room-1 {
		first++
	}
	left := room - 1 // for the sign at the end
	if first > 0 {
		left--
	}
	last = first
	for last < len(cells) && cells[last].width <= left {
		left -= cells[last].width
		last++
	}
	if last == len(cells)-1 && cells[last].width <= left+1 { // the sign would take the place of the last character
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
