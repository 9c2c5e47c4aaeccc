package terminal

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// span is a stretch of neutral text in one style. Layout is done on plain text; styles come last, so that no escape code is ever
// measured or cut.
type span struct {
	text  string
	style lipgloss.Style
}

func width(spans []span) int {
	n := 0
	for _, s := range spans {
		n += lipgloss.Width(s.text)
	}
	return n
}

// pad fills text with blanks up to a column.
func pad(text string, column int) string {
	if missing := column - lipgloss.Width(text); missing > 0 {
		return text + strings.Repeat(" ", missing)
	}
	return text
}

func (s *screen) blank() { s.out.WriteByte('\n') }

// hang is the least indent of a line that goes on from the one above, deeper than any line that starts there.
const hang = 8

// line writes spans behind a prefix of blanks. What is wider than the screen goes on below, further in; nothing is cut off.
func (s *screen) line(prefix string, spans ...span) {
	s.out.WriteString(prefix)
	used := len(prefix)
	further := strings.Repeat(" ", max(hang, len(prefix)+2))
	for _, sp := range spans {
		text := sp.text
		for s.options.Width > 0 && used+lipgloss.Width(text) > s.options.Width {
			head, tail := split(text, s.options.Width-used)
			s.out.WriteString(render(sp.style, head))
			s.out.WriteString("\n" + further)
			used, text = len(further), tail
		}
		s.out.WriteString(render(sp.style, text))
		used += lipgloss.Width(text)
	}
	s.out.WriteByte('\n')
}

// render leaves blanks and empty text alone, so that plain lines carry no codes.
func render(style lipgloss.Style, text string) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	return style.Render(text)
}

// split cuts text before the given column: after the last blank in the second half of the line if there is one, else at the
// column. It always takes at least one character when the column allows none, unless it starts a new line first.
func split(text string, column int) (head, tail string) {
	if column <= 0 {
		return "", text
	}
	used, cut, blank := 0, len(text), -1
	for i, r := range text {
		w := lipgloss.Width(string(r))
		if used+w > column {
			cut = i
			break
		}
		used += w
		if r == ' ' && used > column/2 {
			blank = i + 1
		}
	}
	if blank > 0 && cut < len(text) {
		cut = blank
	}
	return strings.TrimRight(text[:cut], " "), strings.TrimLeft(text[cut:], " ")
}
