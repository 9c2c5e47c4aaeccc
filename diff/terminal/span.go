package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Ink is what a stretch of text means. A theme says how it looks.
type Ink uint8

// The inks. Red is kept for what destroys: Replace and Destroy. Security stands out without it.
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
	inks // how many there are
)

// Inks is how many inks there are: a theme has a colour for each.
const Inks = int(inks)

// Span is a stretch of neutral text in one ink. Layout is done on plain text; colours come last, so that no escape code is ever
// measured or cut.
type Span struct {
	Text string
	Ink  Ink
}

// Row is one row of a screen.
type Row []Span

// Width is how many columns the row takes.
func (r Row) Width() int {
	n := 0
	for _, s := range r {
		n += Columns(s.Text)
	}
	return n
}

// String is the row's text alone.
func (r Row) String() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Columns is how many columns of a terminal a neutral text takes.
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

// hang is the least indent of a row that goes on from the one above, deeper than any row that starts there.
const hang = 8

// Wrap lays spans out behind a prefix of blanks. What is wider than the screen goes on below, further in; nothing is cut off. A
// width of 0 is no bound.
func Wrap(width int, prefix string, spans ...Span) []Row {
	return WrapTo(width, prefix, max(hang, len(prefix)+2), spans...)
}

// WrapTo is Wrap for prose, which goes on below at a column of the caller's choice.
func WrapTo(width int, prefix string, further int, spans ...Span) []Row {
	var rows []Row
	row := make(Row, 0, len(spans)+1)
	if prefix != "" {
		row = append(row, Span{Text: prefix})
	}
	used := len(prefix)
	for _, s := range merged(spans) {
		for width > 0 {
			begin, over := beginning(s.Text, width-used)
			if !over {
				break
			}
			head, tail := split(s.Text, len(begin), width-used, width/2-used)
			if head == "" && used <= further && len(rows) > 0 {
				break // there is no room for one character: it is cut off by the screen's edge
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

// merged puts neighbours of one ink together, so that a row breaks between words and carries no more codes than it needs.
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

// beginning is as much of a text as takes more than some columns, and a little more, so that a row costs what it shows. Not over: the text
// takes no more columns.
func beginning(text string, columns int) (begin string, over bool) {
	for n := 4*max(columns, 0) + utf8.UTFMax; n < len(text); n *= 2 {
		end := n
		for !utf8.RuneStart(text[end]) {
			end--
		}
		// What belongs to the last character may be cut: it must be behind the columns.
		if Columns(text[:end]) > columns+2 {
			return text[:end], true
		}
	}
	return text, Columns(text) > columns
}

// split cuts text before the given column: after the last blank behind the least column if there is one, else at the column. What
// belongs to one character stays together. The first begin bytes take more columns.
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
