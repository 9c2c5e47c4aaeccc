package page

import (
	"fmt"
	"io"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
)

// Print prints a page as lines for a screen reader: each row on a separate line, with the titles
// of the columns in front of the values, and the numbers of the rows that can be opened. It returns
// the rows in that order.
func (p Page) Print(w io.Writer, now Clock) ([]Row, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", console.Line(p.Title))
	for _, f := range p.Facts {
		label := ""
		if f.Label != "" {
			label = f.Label + ": "
		}
		fmt.Fprintf(&b, "%s%s\n", label, console.Line(f.Text))
	}
	var rows []Row
	for _, s := range p.Sections {
		if s.Title != "" {
			fmt.Fprintf(&b, "%s, %s.\n", console.Line(s.Title), diff.Plural(s.len(), "row", "rows"))
		}
		if s.len() == 0 {
			fmt.Fprintln(&b, console.Line(s.Empty))
		}
		for i := range s.len() {
			r := s.Rows.Row(i)
			rows = append(rows, r)
			read := s.read(r, now)
			fmt.Fprintf(&b, "%d. %s\n", len(rows), read)
			for _, d := range r.Detail {
				if d = console.Line(d); !strings.Contains(read, d) {
					fmt.Fprintf(&b, "   %s\n", d)
				}
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return rows, err
}

// read returns a row as it is read aloud.
func (s Section) read(r Row, now Clock) string {
	var parts []string
	for i, c := range r.Cells {
		text := c.show(now)
		if !c.At.IsZero() {
			text += " ago"
		}
		if strings.TrimSpace(text) == "" || text == "-" {
			continue
		}
		if i > 0 && i < len(s.Columns) && s.Columns[i].Title != "" {
			text = strings.ToLower(s.Columns[i].Title) + " " + text
		}
		parts = append(parts, strings.TrimSpace(text))
	}
	return strings.Join(parts, ", ")
}
