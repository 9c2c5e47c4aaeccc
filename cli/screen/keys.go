package screen

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// Bind returns a binding of keys, with the text that the footer and the help show for it.
func Bind(show, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(show, does))
}

// KeyGroup is a section of the help.
type KeyGroup struct {
	Title string
	Keys  []key.Binding
}

// Single splits a message with several keys into single keys. A terminal sends keys that are typed
// fast, or held down over a slow line, as one message. If all of them are moves, each counts. If
// any of them does something else, all are ignored: an action must be a deliberate key press, and
// a terminal's report about itself also arrives this way. Pasted text is always ignored.
func Single(msg tea.KeyMsg, moves ...key.Binding) []tea.KeyMsg {
	switch {
	case msg.Paste:
		return nil
	case msg.Type != tea.KeyRunes || len(msg.Runes) == 1:
		return []tea.KeyMsg{msg}
	}
	var each []tea.KeyMsg
	for _, r := range msg.Runes {
		one := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}
		if !key.Matches(one, moves...) {
			return nil
		}
		each = append(each, one)
	}
	return each
}

// HelpLine is a line of the help.
type HelpLine struct {
	Indent string
	Spans  []terminal.Span
}

// Help lays out the help of a key map, in two columns if there is room.
func Help(groups []KeyGroup, width int) []HelpLine {
	const column = 12
	half, two := width/2, width >= 76
	var out []HelpLine
	for _, g := range groups {
		out = append(out, HelpLine{"  ", []terminal.Span{{Text: g.Title, Ink: terminal.Bold}}})
		var spans []terminal.Span
		for _, k := range g.Keys {
			h := k.Help()
			add := []terminal.Span{{Text: Pad(h.Key, column), Ink: terminal.Move}, {Text: h.Desc}}
			if two && len(spans) == 2 {
				spans[1].Text = Pad(spans[1].Text, half-4-column)
				out, spans = append(out, HelpLine{"    ", append(spans, add...)}), nil
				continue
			}
			if len(spans) > 0 {
				out = append(out, HelpLine{"    ", spans})
			}
			spans = add
		}
		if len(spans) > 0 {
			out = append(out, HelpLine{"    ", spans})
		}
	}
	return out
}

// Pad appends spaces up to width columns, and at least one.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-terminal.Columns(text), 1))
}

// Footer shows as many key bindings as fit into width, the first ones first.
func (t *Theme) Footer(keys []key.Binding, width int) Strip {
	s, room := Strip{{" ", ""}}, width-1
	for _, k := range keys {
		add := Strip{{k.Help().Key, t.Strong}, {" " + k.Help().Desc + "  ", t.Faint}}
		if room -= add.Width(); room < 0 {
			break
		}
		s = append(s, add...)
	}
	return s
}

// Ruler draws a line with a title, and with end at its right.
func (t *Theme) Ruler(width int, title string, focused bool, end string) Strip {
	st := t.Strong
	if focused {
		st = t.Accent
	}
	s := Strip{{"── ", t.Rule}, {title, st}, {" ", ""}}
	tail := Strip{}
	if end != "" {
		tail = Strip{{" ", ""}, {end, t.Faint}, {" ──", t.Rule}}
	}
	s = s.Cut(max(width-tail.Width(), 0))
	if gap := width - s.Width() - tail.Width(); gap > 0 {
		s = append(s, Cell{strings.Repeat("─", gap), t.Rule})
	}
	return append(s, tail...)
}
