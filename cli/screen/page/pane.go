package page

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// kind is what a line of a pane shows.
type kind uint8

const (
	blank   kind = iota
	fact         // a row of the wrapped facts
	heading      // the title of a section
	titles       // the titles of the columns
	aRow         // a row of a section
	nothing      // why a section has no rows
)

// line is a line of a pane. n is its number among the facts or among the rows of its section.
type line struct {
	kind    kind
	section int
	n       int
}

// Pane is a window on a page, with a selected row. Drawing costs no more than the visible lines;
// only a change of the page, of the filter or of the width passes over all rows.
type Pane struct {
	page   Page
	filter []string // words in lower case
	sought []string // words in lower case whose rows Next goes to

	facts  []screen.Strip
	lines  []line
	rows   []int   // the lines that are rows
	widths [][]int // of the columns of each section; 0 for a column that is left out

	marks  map[string]bool // the IDs of marked rows
	marked int             // how many of rows are marked

	cursor, top   int // the selected one of rows, and the first visible line
	width, height int
	moved         bool // a person selected a row that is not the last one, so the last one is not followed
	chosen        bool // a person selected a row, so it stays selected when the page changes
}

// Set replaces the page. It keeps the row that a person selected; before that, it selects the one
// that the page names, else the first one.
func (p *Pane) Set(now Page, at Clock, t *screen.Theme) {
	was, _ := p.Selected()
	p.page = now
	p.lay(at, t)
	switch {
	case now.Follow && !p.moved:
		p.cursor = max(len(p.rows)-1, 0)
	case !p.chosen:
		p.cursor = 0
		p.find(now.Select)
	case was.ID != "":
		p.find(was.ID)
	}
	p.settle()
}

// find selects the row with an id, if it exists. It looks at the selected position first,
// because rows seldom move.
func (p *Pane) find(id string) {
	if r, ok := p.Selected(); ok && r.ID == id {
		return
	}
	for n := range p.rows {
		if p.row(n).ID == id {
			p.cursor = n
			return
		}
	}
}

// Filter shows only the rows that contain all words of a text, and ends a search.
func (p *Pane) Filter(text string, at Clock, t *screen.Theme) {
	was, _ := p.Selected()
	p.sought = nil
	p.filter = strings.Fields(strings.ToLower(text))
	p.lay(at, t)
	p.cursor = 0
	if was.ID != "" {
		p.find(was.ID)
	}
	p.settle()
}

// Filtered returns the words of the filter.
func (p *Pane) Filtered() string { return strings.Join(p.filter, " ") }

// Next selects the next row that contains the words of the filter, or with a negative by the
// previous one, and shows all rows around it. It continues from the other end. It reports whether
// words are searched for.
func (p *Pane) Next(by int, at Clock, t *screen.Theme) bool {
	if words := p.filter; len(words) > 0 {
		p.Filter("", at, t)
		p.sought = words
	}
	if len(p.sought) == 0 {
		return false
	}
	for i := 1; i <= len(p.rows); i++ {
		n := (p.cursor + by*i + len(p.rows)*2) % len(p.rows)
		if p.row(n).matches(p.sought) {
			p.choose(n)
			break
		}
	}
	return true
}

// Sought returns the words that Next searches for, after it was called.
func (p *Pane) Sought() string { return strings.Join(p.sought, " ") }

// EndSearch forgets the words that Next searches for.
func (p *Pane) EndSearch() { p.sought = nil }

// Resize changes the size of the window.
func (p *Pane) Resize(width, height int, at Clock, t *screen.Theme) {
	height = max(height, 1)
	if width == p.width && height == p.height {
		return
	}
	wider := width != p.width
	p.width, p.height = width, height
	if wider {
		p.lay(at, t)
	}
	p.settle()
}

// lay computes the lines and the widths of the columns.
func (p *Pane) lay(at Clock, t *screen.Theme) {
	p.lines, p.rows, p.widths = p.lines[:0], p.rows[:0], p.widths[:0]
	if p.width == 0 {
		return // Resize lays out the page
	}
	p.layFacts(t)
	for n := range p.facts {
		p.lines = append(p.lines, line{kind: fact, n: n})
	}
	for n, s := range p.page.Sections {
		matching := p.matching(s)
		p.widths = append(p.widths, p.fit(s, matching, at))
		if len(p.filter) > 0 && len(matching) == 0 && s.len() > 0 && len(p.page.Sections) > 1 {
			continue
		}
		if len(p.lines) > 0 {
			p.lines = append(p.lines, line{kind: blank})
		}
		if s.Title != "" {
			p.lines = append(p.lines, line{kind: heading, section: n})
		}
		if len(matching) == 0 {
			p.lines = append(p.lines, line{kind: nothing, section: n})
			continue
		}
		if s.titled() {
			p.lines = append(p.lines, line{kind: titles, section: n})
		}
		for _, i := range matching {
			p.rows = append(p.rows, len(p.lines))
			p.lines = append(p.lines, line{kind: aRow, section: n, n: i})
		}
	}
	p.cursor = min(p.cursor, max(len(p.rows)-1, 0))
	p.countMarks()
}

// matching returns the numbers of the rows that the filter shows.
func (p *Pane) matching(s Section) []int {
	out := make([]int, 0, s.len())
	for i := range s.len() {
		if len(p.filter) == 0 || s.Rows.Row(i).matches(p.filter) {
			out = append(out, i)
		}
	}
	return out
}

// layFacts wraps the facts to the width. Above sections each has at most mostOfFact lines, because the sections are
// what can be opened: the whole text is in the output of the page's command.
func (p *Pane) layFacts(t *screen.Theme) {
	p.facts = nil
	label := 0
	for _, f := range p.page.Facts {
		label = max(label, terminal.Columns(f.Label))
	}
	for _, f := range p.page.Facts {
		width := max(p.width-label-5, leastFact)
		rows := terminal.WrapTo(width, "", 0, terminal.Span{Text: console.Line(f.Text)})
		cut := len(rows) > mostOfFact && len(p.page.Sections) > 0
		if cut {
			rows = rows[:mostOfFact]
		}
		for i, row := range rows {
			name, text := f.Label, row.String()
			if i > 0 {
				name = ""
			}
			if cut && i == len(rows)-1 {
				text = ansi.Truncate(text, width-2, "") + " …"
			}
			p.facts = append(p.facts, screen.Strip{{"  ", ""}, {screen.Pad(name, label+2), t.Faint},
				{text, f.Ink.style(t)}})
		}
	}
}

// The limits on the widths of columns where there is not enough room for all.
const (
	widest   = 44
	narrowed = 8
	between  = 2 // spaces between two columns
	margin   = 2 // columns for the mark of the selected row

	leastFact = 10 // the least width of a fact
	// mostOfFact is the largest number of lines of a fact above sections.
	mostOfFact = 3
	leastLast  = 16 // the least width of an optional last column
)

// fit returns the widths of a section's columns: those of the widest cells, if there is room. Else
// it narrows columns to the limit, then the last column if that is optional, then leaves out the
// optional columns, the last one first, and then narrows the widest one.
func (p *Pane) fit(s Section, matching []int, at Clock) []int {
	widths := make([]int, len(s.Columns))
	measured := false
	for i, c := range s.Columns {
		widths[i] = c.Width
		if c.Width == 0 {
			widths[i], measured = max(terminal.Columns(c.Title), 1), true
		}
	}
	for _, n := range matching {
		if !measured {
			break
		}
		for i, c := range s.Rows.Row(n).Cells {
			if i < len(widths) && s.Columns[i].Width == 0 {
				widths[i] = max(widths[i], terminal.Columns(c.show(at)))
			}
		}
	}
	last := len(widths) - 1
	over := func() int {
		sum := margin - between
		for _, w := range widths {
			if w > 0 {
				sum += w + between
			}
		}
		return sum - p.width
	}
	for i := range max(last, 0) {
		if over() > 0 {
			widths[i] = max(widths[i]-over(), min(widths[i], widest))
		}
	}
	if last >= 0 && over() > 0 && s.Columns[last].Optional {
		widths[last] = max(widths[last]-over(), min(widths[last], leastLast))
	}
	for i := last; i >= 0 && over() > 0; i-- {
		if s.Columns[i].Optional {
			widths[i] = 0
		}
	}
	for over() > 0 {
		at := slices.Index(widths, slices.Max(widths))
		if widths[at] <= narrowed {
			break
		}
		widths[at]--
	}
	return widths
}

// row returns a selectable row.
func (p *Pane) row(n int) Row {
	l := p.lines[p.rows[n]]
	return p.page.Sections[l.section].Rows.Row(l.n)
}

// Selected returns the selected row, if there is one.
func (p *Pane) Selected() (Row, bool) {
	if p.cursor < 0 || p.cursor >= len(p.rows) {
		return Row{}, false
	}
	return p.row(p.cursor), true
}

// Count returns how many rows are shown, and the number of the selected one.
func (p *Pane) Count() (at, all int) { return min(p.cursor+1, len(p.rows)), len(p.rows) }
