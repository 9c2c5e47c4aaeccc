// Package terminal renders a diff.Report for a terminal: counts first, then each change with its fields, what destroys in red,
// what stays folded and counted. Without colour its output is plain text with no escape codes at all.
//
// Render writes a whole report. A Page is the same report for a screen: its lines are laid out one by one, when they are asked
// for, so that what it costs follows what is visible.
//
// It knows nothing but the Report: it cannot show what the report does not hold, and every text goes out neutralised. The command
// line and the screens call it.
package terminal

import (
	"bufio"
	"io"

	"github.com/nuon-toolkit/nuon/diff"
)

// Options of a rendering. The zero value is plain text of any width.
type Options struct {
	// Color writes escape codes (the sixteen colours of every terminal).
	Color bool
	// Width is the number of columns; longer lines are continued on the next. 0 means no bound, and less than 40 counts as 40.
	Width int
	// All shows what is folded: the fields of what is destroyed, values that are known after apply, fields that rules fold, and what
	// changes in nothing else, one by one.
	All bool
	// Side puts before and after side by side if there are 100 columns or more; without a bound they are laid out in 160.
	Side bool
	// Hint is PageOptions.Hint.
	Hint string
}

// sideWidth is how many columns two sides have where there is no bound.
const sideWidth = 160

// Render writes the report. The only errors are those of w.
func Render(w io.Writer, r *diff.Report, o Options) error {
	buf := bufio.NewWriter(w)
	page := NewPage(r, PageOptions{All: o.All, Side: o.Side, Hint: o.Hint})
	if o.Side && o.Width == 0 {
		o.Width = sideWidth
	}
	for line := range page.Len() {
		for _, row := range page.Rows(line, o.Width) {
			write(buf, row, o.Color)
		}
	}
	return buf.Flush()
}
