package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// List prints the rows of a list: as a table on a terminal, as tab-separated
// cells in a pipe, or as one name per line with -o name.
func (c *Console) List(data any, header []string, rows [][]string) error {
	if c.Output == "name" {
		for _, r := range rows {
			if _, err := fmt.Fprintln(c.Out, Line(r[0])); err != nil {
				return err
			}
		}
		return nil
	}
	return c.Result(data, func(w io.Writer) error { return c.Table(w, header, rows) })
}

// Table prints aligned columns with a header on a terminal and wraps the last column
// to the terminal's width. In a pipe it prints tab-separated cells without a header.
func (c *Console) Table(w io.Writer, header []string, rows [][]string) error {
	if !c.OutIsTerminal {
		for _, r := range rows {
			if _, err := fmt.Fprintln(w, strings.Join(clean(r), "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	return (&Rows{console: c, out: w, header: header}).Print(rows)
}

// Rows prints a table whose rows arrive in several parts.
type Rows struct {
	console *Console
	out     io.Writer
	header  []string
	widths  []int // nil until the header was printed
}

// Rows starts a table on Out.
func (c *Console) Rows(header []string) *Rows { return &Rows{console: c, out: c.Out, header: header} }

// Print prints more rows. Columns never become narrower than they were for earlier rows.
func (r *Rows) Print(rows [][]string) error {
	if !r.console.OutIsTerminal {
		return r.console.Table(r.out, nil, rows)
	}
	var lines [][]string
	if r.widths == nil {
		lines = append(lines, r.header)
	}
	for _, cells := range rows {
		lines = append(lines, clean(cells))
	}
	return r.align(lines)
}

// align prints columns with two spaces between them. Widths are display widths: some
// characters take two columns and some none.
func (r *Rows) align(lines [][]string) error {
	c, w, widths := r.console, r.out, r.widths
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	r.widths = widths
	for _, cells := range c.fit(lines, widths) {
		var b strings.Builder
		for i, cell := range cells {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-lipgloss.Width(cell)+2))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func clean(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = Line(c)
	}
	return out
}
