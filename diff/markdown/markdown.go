// Package markdown renders a diff.Report as Markdown for a pull request or an issue: the summary
// first, then destructive changes and security findings, then each change with its fields in a
// folded diff block.
//
// It depends only on the Report and neutralizes every text: a value cannot create a link, an image,
// a mention or a block. The command line calls it.
package markdown

import (
	"io"

	"github.com/nuon-toolkit/nuon/diff"
)

// Options configures a rendering. The zero value fits a comment of 65,536 characters.
type Options struct {
	// Limit is the maximum number of bytes in the output. 0 means DefaultLimit; MinLimit is the
	// minimum. Render omits details first, starting with those of the lowest risk, then headlines,
	// and never the summary.
	Limit int
}

// DefaultLimit fits a comment on the large forges, 65,536 characters, and leaves room for some text
// of the caller. It is in bytes, which are never fewer than characters.
const DefaultLimit = 64_000

// MinLimit is large enough for the summary of any report.
const MinLimit = 2_000

// headReserve is the number of bytes that are reserved for the last sentences.
const headReserve = 200

// Render writes the report. It returns only errors of w.
func Render(w io.Writer, r *diff.Report, o Options) error {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	p := &page{budget: max(o.Limit, MinLimit) - headReserve}
	p.summary(r)
	p.list(r)
	p.fit()
	_, err := io.WriteString(w, p.String())
	return err
}
