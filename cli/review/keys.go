package review

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// keyMap holds every key binding of the screen. The footer and the help are generated from it.
type keyMap struct {
	approve, approveWhole, reject, why          key.Binding
	nextChange, prevChange, fold, foldAll       key.Binding
	down, up, pageDown, pageUp, top, bottom     key.Binding
	nextPlan, prevPlan, focus, open, members    key.Binding
	side                                        key.Binding
	search, nextMatch, prevMatch                key.Binding
	help, back, suspend, quit, interrupt, erase key.Binding
}

func bind(show, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(show, does))
}

func newKeys() keyMap {
	return keyMap{
		approve: bind("a", "approve", "a"), approveWhole: bind("A", "approve the whole workflow", "A"),
		reject: bind("r", "reject", "r"), why: bind("w", "why", "w"),
		nextChange: bind("n", "next change", "n"), prevChange: bind("p", "previous change", "p"),
		fold: bind("o", "fold or unfold it", "o"), foldAll: bind("O", "fold or unfold all", "O"),
		down: bind("j ↓", "down", "j", "down"), up: bind("k ↑", "up", "k", "up"),
		pageDown: bind("space f", "a page down", " ", "f", "pgdown", "ctrl+f"),
		pageUp:   bind("b", "a page up", "b", "pgup", "ctrl+b"),
		top:      bind("g", "to the top", "g", "home"), bottom: bind("G", "to the end", "G", "end"),
		nextPlan: bind("J", "next plan", "J", "shift+down"), prevPlan: bind("K", "previous plan", "K", "shift+up"),
		focus:     bind("tab", "queue or diff", "tab", "shift+tab"),
		open:      bind("enter", "open; next if ended", "enter"),
		members:   bind("m", "plans of the group", "m"),
		side:      bind("s", "side by side", "s"),
		search:    bind("/", "search", "/"),
		nextMatch: bind("ctrl+n", "next match", "ctrl+n"),
		prevMatch: bind("ctrl+p", "previous match", "ctrl+p"),
		help:      bind("?", "help", "?"),
		back:      bind("esc", "back", "esc"),
		suspend:   bind("ctrl+z", "suspend to the shell", "ctrl+z"),
		quit:      bind("q", "quit", "q"),
		interrupt: bind("ctrl+c", "quit immediately", "ctrl+c"),
		erase:     bind("ctrl+l", "redraw", "ctrl+l"),
	}
}

// keyGroup is a section of the help.
type keyGroup struct {
	title string
	keys  []key.Binding
}

func (k keyMap) groups() []keyGroup {
	return []keyGroup{
		{"Answer", []key.Binding{k.approve, k.approveWhole, k.reject, k.why}},
		{"The diff", []key.Binding{
			k.nextChange, k.prevChange, k.fold, k.foldAll, k.side, k.search, k.nextMatch, k.prevMatch}},
		{"Move", []key.Binding{k.down, k.up, k.pageDown, k.pageUp, k.top, k.bottom}},
		{"The queue", []key.Binding{k.nextPlan, k.prevPlan, k.members, k.focus, k.open}},
		{"The screen", []key.Binding{k.help, k.back, k.erase, k.suspend, k.quit, k.interrupt}},
	}
}

// footer returns the bindings that the footer shows while there is room, the most important first.
func (k keyMap) footer() []key.Binding {
	return []key.Binding{
		k.approve, k.reject, k.help, k.quit, k.why, k.focus, k.nextChange,
		k.prevChange, k.approveWhole, k.search, k.open, k.fold, k.side}
}

// single splits a message with several keys into single keys. A terminal sends keys that are typed
// fast, or held down over a slow line, as one message. If all of them only move, each counts. If
// any of them does something else, all are ignored: an answer must be a deliberate key press, and
// a terminal's report about itself also arrives this way. Pasted text is always ignored.
func (k keyMap) single(msg tea.KeyMsg) []tea.KeyMsg {
	switch {
	case msg.Paste:
		return nil
	case msg.Type != tea.KeyRunes || len(msg.Runes) == 1:
		return []tea.KeyMsg{msg}
	}
	var each []tea.KeyMsg
	for _, r := range msg.Runes {
		one := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}
		if !key.Matches(one, k.down, k.up, k.pageDown, k.pageUp,
			k.nextChange, k.prevChange, k.top, k.bottom, k.nextPlan, k.prevPlan) {
			return nil
		}
		each = append(each, one)
	}
	return each
}

// entry is a line editor for typed text.
type entry struct {
	runes []rune
	at    int // the cursor
}

// most is the maximum length of an entry, in characters.
const most = 1000

func (e *entry) String() string { return string(e.runes) }

// press handles one editing key.
func (e *entry) press(msg tea.KeyMsg) {
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

func (e *entry) remove(i int) {
	if i >= 0 && i < len(e.runes) {
		e.runes, e.at = append(e.runes[:i:i], e.runes[i+1:]...), i
	}
}

// insert adds the printable runes; each white space character, including a newline in
// pasted text, becomes a space.
func (e *entry) insert(runes []rune) {
	var in []rune
	for _, r := range runes {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if unicode.IsPrint(r) && len(e.runes)+len(in) < most {
			in = append(in, r)
		}
	}
	e.runes, e.at = append(append(e.runes[:e.at:e.at], in...), e.runes[e.at:]...), e.at+len(in)
}

// show renders the part of the line around the cursor that fits into width.
func (e *entry) show(width int) strip {
	from := 0
	for from < e.at && terminal.Columns(string(e.runes[from:e.at]))+2 > width {
		from++
	}
	under, after := " ", ""
	if e.at < len(e.runes) {
		under, after = string(e.runes[e.at]), string(e.runes[e.at+1:])
	}
	return strip{{string(e.runes[from:e.at]), ""}, {under, "7"}, {after, ""}}
}
