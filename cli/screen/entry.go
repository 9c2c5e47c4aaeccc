package screen

import (
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// Entry is a line editor for typed text.
type Entry struct {
	runes []rune
	at    int // the cursor
}

// MostTyped is the maximum length of an entry, in characters.
const MostTyped = 1000

// String returns the text.
func (e *Entry) String() string { return string(e.runes) }

// Press handles one editing key, or text that arrives at once, which may spell the name of a key.
func (e *Entry) Press(msg tea.KeyMsg) {
	if msg.Type == tea.KeyRunes && len(msg.Runes) > 1 && !msg.Alt {
		e.insert(msg.Runes)
		return
	}
	switch msg.String() {
	case "left", "ctrl+b":
		e.at = max(e.at-1, 0)
	case "right", "ctrl+f":
		e.at = min(e.at+1, len(e.runes))
	case "home", "ctrl+a":
		e.at = 0
	case "end", "ctrl+e":
		e.at = len(e.runes)
	case "backspace", "ctrl+h":
		e.remove(e.at - 1)
	case "delete", "ctrl+d":
		e.remove(e.at)
	case "ctrl+u":
		e.runes, e.at = e.runes[e.at:], 0
	case "ctrl+k":
		e.runes = e.runes[:e.at]
	case "ctrl+w":
		before := strings.TrimRightFunc(string(e.runes[:e.at]), unicode.IsSpace)
		keep := []rune(before[:strings.LastIndexFunc(before, unicode.IsSpace)+1])
		e.runes, e.at = append(keep, e.runes[e.at:]...), len(keep)
	default:
		if (msg.Type == tea.KeyRunes || msg.Type == tea.KeySpace) && !msg.Alt {
			e.insert(msg.Runes)
		}
	}
}

func (e *Entry) remove(i int) {
	if i >= 0 && i < len(e.runes) {
		e.runes, e.at = append(e.runes[:i:i], e.runes[i+1:]...), i
	}
}

// insert adds the printable runes; each white space character, including a newline in
// pasted text, becomes a space.
func (e *Entry) insert(runes []rune) {
	var in []rune
	for _, r := range runes {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if unicode.IsPrint(r) && len(e.runes)+len(in) < MostTyped {
			in = append(in, r)
		}
	}
	e.runes, e.at = append(append(e.runes[:e.at:e.at], in...), e.runes[e.at:]...), e.at+len(in)
}

// Show renders the part of the line around the cursor that fits into width.
func (e *Entry) Show(width int) Strip {
	from := 0
	for from < e.at && terminal.Columns(string(e.runes[from:e.at]))+2 > width {
		from++
	}
	under, after := " ", ""
	if e.at < len(e.runes) {
		under, after = string(e.runes[e.at]), string(e.runes[e.at+1:])
	}
	return Strip{{string(e.runes[from:e.at]), ""}, {under, "7"}, {after, ""}}
}

// Set replaces the text and moves the cursor to its end.
func (e *Entry) Set(text string) {
	e.runes, e.at = nil, 0
	e.insert([]rune(text))
}
