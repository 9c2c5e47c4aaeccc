// Package terminal renders a diff.Report for a terminal: counts first, then each change with its
// fields, destructive changes in red, and counts of what is folded. Without color, the output is
// plain text without escape codes.
//
// Render writes a whole report. A Page is the same report for a screen: it lays out lines on
// request, so that the cost depends only on the visible lines.
//
// It depends only on the Report and cannot show what the report does not hold; it neutralizes every
// text. The command line and the screens call it.
package terminal

import (
	"bufio"
	"io"

	"github.com/nuon-toolkit/nuon/diff"
)

// Options configures a rendering. The zero value is plain text of any width.
type Options struct {
	// Color writes escape codes for the sixteen standard colors of a terminal.
	Color bool
	// Width is the number of columns; longer lines continue on the next row. 0 means no limit; the
	// minimum is 40.
	Width int
	// All shows what is folded: the fields of destroyed objects, values that are known after apply,
	// fields that rules fold, and each change that has only such fields.
	All bool
	// Side shows before and after side by side if Width is at least 100; without a limit, in 160
	// columns.
	Side bool
	// Hint is PageOptions.Hint.
	Hint string
}

// sideWidth is the number of columns of the side-by-side view without a limit.
const sideWidth = 160

// Render writes the report. It returns only errors of w.
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
