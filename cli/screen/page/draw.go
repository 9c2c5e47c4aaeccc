package page

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// Draw writes the visible lines, each with a newline.
func (p *Pane) Draw(b *strings.Builder, t *screen.Theme, now Clock) {
	for y := range p.height {
		if n := p.top + y; n < len(p.lines) {
			p.drawLine(b, t, now, n)
		}
		b.WriteByte('\n')
	}
}

func (p *Pane) drawLine(b *strings.Builder, t *screen.Theme, now Clock, n int) {
	l := p.lines[n]
	var s screen.Strip
	switch l.kind {
	case fact:
		s = p.facts[l.n]
	case heading:
		s = t.Ruler(p.width, console.Line(p.page.Sections[l.section].Title), false, "")
	case titles:
		s = append(s, screen.Cell{Text: "  "})
		for i, c := range p.page.Sections[l.section].Columns {
			s = p.cell(s, l.section, i, c.Title, t.Faint)
		}
	case nothing:
		p.drawEmpty(b, t, p.page.Sections[l.section])
		return
	case aRow:
		chosen := len(p.rows) > 0 && p.rows[p.cursor] == n
		row := p.page.Sections[l.section].Rows.Row(l.n)
		mark, below := screen.Cell{Text: "  "}, screen.Style("")
		marked := len(p.marks) > 0 && p.marks[row.ID]
		switch {
		case chosen && marked:
			mark, below = screen.Cell{Text: "▌✓", Style: t.Accent}, t.Selected
		case chosen:
			mark, below = screen.Cell{Text: "▌ ", Style: t.Accent}, t.Selected
		case marked:
			mark = screen.Cell{Text: " ✓", Style: t.Accent}
		case len(p.sought) > 0 && row.matches(p.sought):
			mark = screen.Cell{Text: "• ", Style: t.Accent}
		}
		for i, c := range row.Cells {
			s = p.cell(s, l.section, i, c.show(now), c.Ink.style(t))
		}
		if chosen {
			s = s.WithoutStyles()
		}
		append(screen.Strip{mark}, s...).Draw(b, p.width, below, true)
		return
	}
	s.Draw(b, p.width, "", true)
}

// cell appends a cell, padded to the width of its column. The last column that is shown is not padded.
func (p *Pane) cell(s screen.Strip, section, column int, text string, st screen.Style) screen.Strip {
	if column >= len(p.widths[section]) || p.widths[section][column] == 0 {
		return s
	}
	w := p.widths[section][column]
	if !slices.ContainsFunc(p.widths[section][column+1:], func(w int) bool { return w > 0 }) {
		return append(s, screen.Cell{Text: text, Style: st})
	}
	s = append(s, screen.Strip{{text, st}}.Cut(w)...)
	return append(s, screen.Cell{Text: strings.Repeat(" ", max(w-terminal.Columns(text), 0)+between)})
}

// drawEmpty draws why a section shows no rows.
func (p *Pane) drawEmpty(b *strings.Builder, t *screen.Theme, s Section) {
	text := s.Empty
	if s.len() > 0 {
		text = "No row contains " + strings.Join(p.filter, " ") + ". Press esc to show all."
	}
	screen.Strip{{"  " + console.Line(text), t.Faint}}.Draw(b, p.width, "", true)
}

// mayBeCut is the part of the width from which on the last cell of a row may be cut.
const mayBeCut = 4

// Detail returns at most room lines about the selected row: its own, or the text of its last cell
// if that may be cut.
func (p *Pane) Detail(t *screen.Theme, now Clock, room int) []screen.Strip {
	r, ok := p.Selected()
	if !ok {
		return nil
	}
	lines := r.Detail
	if n := len(r.Cells); len(lines) == 0 && n > 0 {
		if last := r.Cells[n-1].show(now); terminal.Columns(last) > p.width/mayBeCut {
			lines = []string{last}
		}
	}
	var out []screen.Strip
	for _, l := range lines {
		if len(out) > room {
			break
		}
		l = start(l, (room+1)*p.width) // a text may name 100,000 installs
		for _, row := range terminal.WrapTo(p.width-2, "", 0, terminal.Span{Text: console.Line(l)}) {
			out = append(out, screen.Strip{{"  " + row.String(), ""}})
		}
	}
	if len(out) > room {
		out = append(out[:max(room-1, 0)], screen.Strip{{"  …", t.Faint}})
	}
	return out
}

// start returns the first characters of a text.
func start(text string, characters int) string {
	for at := range text {
		if characters--; characters < 0 {
			return text[:at]
		}
	}
	return text
}
