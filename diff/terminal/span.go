package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Ink is the meaning of a span of text. A theme maps it to a style.
type Ink uint8

// The inks. Red is reserved for destructive changes: Replace and Destroy. Security has another
// style.
const (
	Plain Ink = iota
	Bold
	Faint
	Warn
	Create
	Update
	Replace
	Destroy
	Move
	Before
	Security
	inks // the number of inks
)

// Inks is the number of inks; a theme has a color for each.
const Inks = int(inks)

// Span is neutral text in one ink. Layout works on plain text and adds colors last, so that no
// escape code is measured or cut.
type Span struct {
	Text string
	Ink  Ink
}

// Row is one row of a screen.
type Row []Span

// Width returns the number of columns of the row.
func (r Row) Width() int {
	n := 0
	for _, s := range r {
		n += Columns(s.Text)
	}
	return n
}

// String returns the text of the row.
func (r Row) String() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Columns returns the number of terminal columns of a neutral text.
func Columns(text string) int {
	for i := range len(text) {
		if text[i] < ' ' || text[i] >= 0x7f {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// pad fills text with blanks up to a column.
func pad(text string, column int) string {
	if missing := column - Columns(text); missing > 0 {
		return text + strings.Repeat(" ", missing)
	}
	return text
}

// hang is the minimum indent of a continuation row. It is deeper than that of any first row.
const hang = 8

// Wrap lays out spans after a prefix of blanks. Text beyond the width continues on the next row
// with a deeper indent; nothing is cut off. A width of 0 means no limit.
func Wrap(width int, prefix string, spans ...Span) []Row {
	return WrapTo(width, prefix, max(hang, len(prefix)+2), spans...)
}

// WrapTo is Wrap for prose, where the caller sets the indent of continuation rows.
func WrapTo(width int, prefix string, further int, spans ...Span) []Row {
	var rows []Row
	row := make(Row, 0, len(spans)+1)
	if prefix != "" {
		row = append(row, Span{Text: prefix})
	}
	used := len(prefix)
	for _, s := range merged(spans) {
		for width > 0 {
			begin, over := widePrefix(s.Text, width-used)
			if !over {
				break
			}
			head, tail := split(s.Text, len(begin), width-used, width/2-used)
			if head == "" && used <= further && len(rows) > 0 {
				break // not even one character fits: the edge of the screen cuts it off
			}
			rows = append(rows, append(row, Span{head, s.Ink}))
			row, used = Row{{Text: strings.Repeat(" ", further)}}, further
			s.Text = tail
		}
		row = append(row, s)
		used += Columns(s.Text)
	}
	return append(rows, row)
}

// merged joins neighbors with the same ink, so that rows break between words and have no superfluous
// escape codes.
func merged(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	out := make([]Span, 0, len(spans))
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && out[last].Ink == s.Ink {
			out[last].Text += s.Text
			continue
		}
		out = append(out, s)
	}
	return out
}

// widePrefix returns a prefix of a text that is slightly wider than the given columns, so that the
// cost of a row does not depend on the length of the text. over is false if the whole text fits.
func widePrefix(text string, columns int) (begin string, over bool) {
	for n := 4*max(columns, 0) + utf8.UTFMax; n < len(text); n *= 2 {
		end := n
		for !utf8.RuneStart(text[end]) {
			end--
		}
		// The cut may split a character cluster; that is harmless if it is beyond the columns.
		if Columns(text[:end]) > columns+2 {
			return text[:end], true
		}
	}
	return text, Columns(text) > columns
}

// split cuts text before the given column: after the last blank beyond the least column if there is
// one, otherwise at the column. It does not split character clusters. The first begin bytes of the
// text must be wider than the column.
func split(text string, begin, column, least int) (head, tail string) {
	if column <= 0 {
		return "", text
	}
	cut := len(ansi.Truncate(text[:begin], column, ""))
	if blank := strings.LastIndexByte(text[:cut], ' '); cut < len(text) && blank >= 0 && Columns(text[:blank+1]) > least {
		cut = blank + 1
	}
	return strings.TrimRight(text[:cut], " "), strings.TrimLeft(text[cut:], " ")
}
