package console

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// minWrapped is the minimum width to wrap text to; narrower columns are left to the terminal.
const minWrapped = 24

// Wrap breaks a line of prose at spaces to the terminal's width and indents
// all lines except the first. In a pipe, and where the terminal is too narrow,
// it returns text unchanged. A word that is too long is not broken.
func (c *Console) Wrap(text string, indent int) string {
	if !c.OutIsTerminal || c.Width-indent < minWrapped || lipgloss.Width(text) <= c.Width {
		return text
	}
	return strings.Join(pieces(text, c.Width, c.Width-indent), "\n"+strings.Repeat(" ", indent))
}

// pieces splits text into lines of at most first columns (the first line) and others
// columns (the rest). It keeps leading spaces and joins words with single spaces.
func pieces(text string, first, others int) []string {
	line := text[:len(text)-len(strings.TrimLeft(text, " "))]
	room, lines, empty := first, []string(nil), true
	for _, word := range strings.Fields(text) {
		switch {
		case empty:
			line += word
		case lipgloss.Width(line)+1+lipgloss.Width(word) <= room:
			line += " " + word
		default:
			lines, line, room = append(lines, line), word, others
		}
		empty = false
	}
	return append(lines, line)
}

// fit wraps the last cells of a table's lines to the space that the other columns leave.
func (c *Console) fit(lines [][]string, widths []int) [][]string {
	last, taken := len(widths)-1, 0
	for _, w := range widths[:max(last, 0)] {
		taken += w + 2
	}
	room := c.Width - taken
	if last < 1 || room < minWrapped || widths[last] <= room {
		return lines
	}
	var fitting [][]string
	for _, cells := range lines {
		if len(cells) <= last || lipgloss.Width(cells[last]) <= room {
			fitting = append(fitting, cells)
			continue
		}
		for i, part := range pieces(cells[last], room, room) {
			row := make([]string, len(cells))
			if i == 0 {
				copy(row, cells)
			}
			row[last] = part
			fitting = append(fitting, row)
		}
	}
	return fitting
}
