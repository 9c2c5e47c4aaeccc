package console

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// leastWrapped is the narrowest column that text is broken into, in columns of the terminal; what has less is left to the terminal.
const leastWrapped = 24

// Wrap breaks one line of prose between its words to the terminal's width, and begins each line but the first with indent blanks.
// In a pipe, and where there is no room, it stays one line. A word that is too long stays whole.
func (c *Console) Wrap(text string, indent int) string {
	if !c.OutIsTerminal || c.Width-indent < leastWrapped || lipgloss.Width(text) <= c.Width {
		return text
	}
	return strings.Join(pieces(text, c.Width, c.Width-indent), "\n"+strings.Repeat(" ", indent))
}

// pieces gives text as lines of at most so many columns: the first of its own width, then the others. Blanks before the first word
// stay, others between words are one.
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

// fit breaks the last cells of a table's lines, of which the others take so many columns.
func (c *Console) fit(lines [][]string, widths []int) [][]string {
	last, taken := len(widths)-1, 0
	for _, w := range widths[:max(last, 0)] {
		taken += w + 2
	}
	room := c.Width - taken
	if last < 1 || room < leastWrapped || widths[last] <= room {
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
