package diff

import (
	"bytes"
	"context"
	"io"

	"github.com/nuon-toolkit/nuon/cli/console"
	model "github.com/nuon-toolkit/nuon/diff"
	markdownof "github.com/nuon-toolkit/nuon/diff/markdown"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// pipeWidth is the width of the side-by-side format where there is no terminal.
const pipeWidth = 160

// show prints a report. For a terminal it lays out everything first, because the length decides
// whether to use the pager, and because Ctrl-C can stop output by lines without leaving a color on.
func (s *resolvedOptions) show(ctx context.Context, c *console.Console, r *model.Report) error {
	if !c.OutIsTerminal {
		_, err := runInterruptible(ctx, c, nil, func() (struct{}, error) { return struct{}{}, s.render(c, c.Out, r) })
		return err
	}
	laidOut, err := runInterruptible(ctx, c, startProgress, func() ([]byte, error) {
		var b bytes.Buffer
		err := s.render(c, &b, r)
		return b.Bytes(), err
	})
	if err != nil {
		return err
	}
	return page(ctx, c, s.pager, laidOut)
}

// render writes a report in the selected format.
func (s *resolvedOptions) render(c *console.Console, w io.Writer, r *model.Report) error {
	switch s.format {
	case text, side:
		o := terminal.Options{Color: c.Color, All: s.showAll, Side: s.format == side, Hint: "--show-all lists them"}
		if c.OutIsTerminal {
			o.Width = c.Width
		} else if o.Side {
			o.Width = pipeWidth
		}
		return terminal.Render(w, r, o)
	case markdown:
		return markdownof.Render(w, r, markdownof.Options{})
	}
	onto := *c
	onto.Out, onto.Output = w, s.format
	return onto.Result(r, nil)
}
