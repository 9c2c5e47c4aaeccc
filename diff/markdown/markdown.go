// Package markdown renders a diff.Report as Markdown for a pull request or an issue: the summary first, then what destroys and what is
// about security, then each change with its fields in a diff block that folds.
//
// It knows nothing but the Report, and every text goes out neutralised: a value cannot open a link, an image, a mention or a
// block of its own. The command line calls it.
package markdown

import (
	"io"

	"github.com/nuon-toolkit/nuon/diff"
)

// Options of a rendering. The zero value fits a comment of 65,536 characters.
type Options struct {
	// Limit is the most bytes that are written; 0 means DefaultLimit, and less than LeastLimit counts as that. Details are left out
	// first, those of the lowest risk before the others, then headlines; the summary never is.
	Limit int
}

// DefaultLimit is the size of a comment on the large forges, which is 65,536 characters, with room for a few words of the caller's. It is
// counted in bytes, which are never fewer than characters, however a forge counts those.
const DefaultLimit = 64_000

// LeastLimit holds the summary of any report.
const LeastLimit = 2_000

// reserve is the room that is kept for the last sentences.
const reserve = 200

// Render writes the report. The only errors are those of w.
func Render(w io.Writer, r *diff.Report, o Options) error {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	p := &page{room: max(o.Limit, LeastLimit) - reserve}
	p.summary(r)
	p.list(r)
	p.fit()
	_, err := io.WriteString(w, p.String())
	return err
}
