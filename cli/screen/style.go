package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// Style holds the parameters of an SGR escape sequence, between "\x1b[" and
// "m". Empty means the terminal's default.
type Style string

// Over returns the style of text in style s on a row of style below.
func (s Style) Over(below Style) Style {
	switch {
	case s == "":
		return below
	case below == "":
		return s
	}
	return below + ";" + s
}

// Cell is a piece of text in one style. It is an alias, so that literals in other packages
// need no field names.
type Cell = struct {
	Text  string
	Style Style
}

// Strip is a row of cells.
type Strip []Cell

// Width returns the number of columns that the strip takes.
func (s Strip) Width() int {
	n := 0
	for _, c := range s {
		n += terminal.Columns(c.Text)
	}
	return n
}

// Cut truncates the strip to width and marks the cut with "…".
func (s Strip) Cut(width int) Strip {
	if s.Width() <= width {
		return s
	}
	var out Strip
	room := width - 1
	for _, c := range s {
		if w := terminal.Columns(c.Text); w <= room {
			out, room = append(out, c), room-w
			continue
		}
		return append(out, Cell{ansi.Truncate(c.Text, max(room, 0), "") + "…", c.Style})
	}
	return out
}

// Draw writes exactly width columns in the given base style. The last strip of a row is not padded.
func (s Strip) Draw(b *strings.Builder, width int, below Style, last bool) {
	used := 0
	for _, c := range s.Cut(width) {
		Put(b, c.Text, c.Style.Over(below))
		used += terminal.Columns(c.Text)
	}
	if used < width && (!last || below != "") {
		Put(b, strings.Repeat(" ", width-used), below)
	}
}

// Put writes text in a style.
func Put(b *strings.Builder, text string, s Style) {
	if s == "" {
		b.WriteString(text)
		return
	}
	b.WriteString("\x1b[")
	b.WriteString(string(s))
	b.WriteByte('m')
	b.WriteString(text)
	b.WriteString("\x1b[0m")
}

// WithoutStyles removes the styles of a strip, which would be hard to read on the selected row.
func (s Strip) WithoutStyles() Strip {
	for i := range s {
		s[i].Style = ""
	}
	return s
}

// StyleRow converts a row of a diff to the theme's styles.
func (t *Theme) StyleRow(r terminal.Row) Strip {
	s := make(Strip, len(r))
	for i, span := range r {
		s[i] = Cell{span.Text, t.Ink[span.Ink]}
	}
	return s
}
