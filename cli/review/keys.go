package review

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/screen"
)

// keyMap holds every key binding of the screen. The footer and the help are generated from it.
type keyMap struct {
	approve, approveWhole, reject, why          key.Binding
	nextChange, prevChange, fold, foldAll       key.Binding
	down, up, pageDown, pageUp, top, bottom     key.Binding
	nextPlan, prevPlan, focus, open, members    key.Binding
	side, filter, rules                         key.Binding
	approveFollow                               key.Binding
	mark, markAll, take, untake, whose          key.Binding
	search, nextMatch, prevMatch                key.Binding
	help, back, suspend, quit, interrupt, erase key.Binding
	palette                                     key.Binding // only as a part of a larger program
}

func newKeys() keyMap {
	return keyMap{
		approve: screen.Bind("a", "approve", "a"), approveWhole: screen.Bind("A", "approve the whole workflow", "A"),
		reject: screen.Bind("r", "reject", "r"), why: screen.Bind("w", "why", "w"),
		nextChange: screen.Bind("n", "next change", "n"), prevChange: screen.Bind("p", "previous change", "p"),
		fold: screen.Bind("o", "fold or unfold it", "o"), foldAll: screen.Bind("O", "fold or unfold all", "O"),
		down: screen.Bind("j ↓", "down", "j", "down"), up: screen.Bind("k ↑", "up", "k", "up"),
		pageDown: screen.Bind("space f", "a page down", " ", "f", "pgdown", "ctrl+f"),
		pageUp:   screen.Bind("b", "a page up", "b", "pgup", "ctrl+b"),
		top:      screen.Bind("g", "to the top", "g", "home"), bottom: screen.Bind("G", "to the end", "G", "end"),
		nextPlan:      screen.Bind("J", "next plan", "J", "shift+down"),
		prevPlan:      screen.Bind("K", "previous plan", "K", "shift+up"),
		focus:         screen.Bind("tab", "queue or diff", "tab", "shift+tab"),
		open:          screen.Bind("enter", "open; next if ended", "enter"),
		members:       screen.Bind("m", "plans of the group", "m"),
		side:          screen.Bind("s", "side by side", "s"),
		search:        screen.Bind("/", "search", "/"),
		filter:        screen.Bind("/", "filter", "/"),
		approveFollow: screen.Bind("F", "approve and follow", "F"),
		rules:         screen.Bind("e", "rules", "e"),
		mark:          screen.Bind("space", "select, in the queue", " "),
		markAll:       screen.Bind("*", "select all shown, or none", "*"),
		take:          screen.Bind("i", "assign to me", "i"),
		untake:        screen.Bind("u", "assign to nobody", "u"),
		whose:         screen.Bind("t", "team's, mine or nobody's", "t"),
		nextMatch:     screen.Bind("ctrl+n", "next match", "ctrl+n"),
		prevMatch:     screen.Bind("ctrl+p", "previous match", "ctrl+p"),
		help:          screen.Bind("?", "help", "?"),
		back:          screen.Bind("esc", "back", "esc"),
		suspend:       screen.Bind("ctrl+z", "suspend to the shell", "ctrl+z"),
		quit:          screen.Bind("q", "quit", "q"),
		interrupt:     screen.Bind("ctrl+c", "quit immediately", "ctrl+c"),
		erase:         screen.Bind("ctrl+l", "redraw", "ctrl+l"),
		palette:       key.NewBinding(key.WithDisabled()),
	}
}

func (k keyMap) groups() []screen.KeyGroup {
	program := []key.Binding{k.help, k.back, k.erase, k.suspend, k.quit, k.interrupt}
	if k.palette.Enabled() {
		program = append([]key.Binding{k.palette}, program...)
	}
	return []screen.KeyGroup{
		{Title: "Answer", Keys: []key.Binding{k.approve, k.approveFollow, k.approveWhole, k.reject, k.why, k.rules}},
		{Title: "The diff", Keys: []key.Binding{
			k.nextChange, k.prevChange, k.fold, k.foldAll, k.side, k.search, k.nextMatch, k.prevMatch}},
		{Title: "Move", Keys: []key.Binding{k.down, k.up, k.pageDown, k.pageUp, k.top, k.bottom}},
		{Title: "The queue", Keys: []key.Binding{k.nextPlan, k.prevPlan, k.mark, k.markAll, k.take, k.untake,
			k.whose, k.members, k.filter, k.focus, k.open}},
		{Title: "The screen", Keys: program},
	}
}

// footer returns the bindings that the footer shows while there is room, the most important first.
func (k keyMap) footer() []key.Binding {
	return []key.Binding{
		k.approve, k.reject, k.help, k.quit, k.why, k.focus, k.nextChange,
		k.prevChange, k.approveWhole, k.search, k.open, k.fold, k.side}
}

// single splits a message with several keys into single keys, if all of them only move.
func (k keyMap) single(msg tea.KeyMsg) []tea.KeyMsg {
	return screen.Single(msg, k.down, k.up, k.pageDown, k.pageUp,
		k.nextChange, k.prevChange, k.top, k.bottom, k.nextPlan, k.prevPlan)
}
