package interactive

import (
	"github.com/charmbracelet/bubbles/key"

	"github.com/nuon-toolkit/nuon/cli/screen"
)

// keyMap holds the keys of all screens. The footer and the help are made from it and from the
// actions of the screen.
type keyMap struct {
	down, up, pageDown, pageUp, top, bottom key.Binding
	nextSection, prevSection                key.Binding
	open, back, filter, palette, review     key.Binding
	copy, command, absolute, reload         key.Binding
	nextMatch, prevMatch                    key.Binding
	mark, markAll                           key.Binding
	help, erase, suspend, quit, interrupt   key.Binding
}

func newKeys() keyMap {
	bind := screen.Bind
	return keyMap{
		down: bind("j ↓", "down", "j", "down"), up: bind("k ↑", "up", "k", "up"),
		pageDown: bind("space f", "a page down", " ", "f", "pgdown", "ctrl+f"),
		pageUp:   bind("b", "a page up", "b", "pgup", "ctrl+b"),
		top:      bind("g", "to the top", "g", "home"), bottom: bind("G", "to the end", "G", "end"),
		nextSection: bind("tab", "next section", "tab"), prevSection: bind("shift+tab", "previous section", "shift+tab"),
		open:      bind("enter l", "open", "enter", "l", "right"),
		back:      bind("esc h", "back", "esc", "h", "left"),
		filter:    bind("/", "filter", "/"),
		palette:   bind(":", "go to", ":"),
		review:    bind("R", "review", "R"),
		mark:      bind("space", "mark, in lists", " "),
		markAll:   bind("*", "mark all shown, or none", "*"),
		nextMatch: bind("n", "next match", "n"),
		prevMatch: bind("N", "previous match", "N"),
		copy:      bind("y", "copy the ID or name", "y"),
		command:   bind("!", "equivalent command", "!"),
		absolute:  bind("T", "ages or times", "T"),
		reload:    bind("ctrl+r", "load again", "ctrl+r"),
		help:      bind("?", "help", "?"),
		erase:     bind("ctrl+l", "redraw", "ctrl+l"),
		suspend:   bind("ctrl+z", "suspend to the shell", "ctrl+z"),
		quit:      bind("q", "quit", "q"),
		interrupt: bind("ctrl+c", "quit immediately", "ctrl+c"),
	}
}

// groups returns the sections of the help.
func (k keyMap) groups() []screen.KeyGroup {
	return []screen.KeyGroup{
		{Title: "Move", Keys: []key.Binding{k.down, k.up, k.pageDown, k.pageUp, k.top, k.bottom, k.nextSection,
			k.prevSection}},
		{Title: "Go", Keys: []key.Binding{k.open, k.back, k.palette, k.review}},
		{Title: "Look", Keys: []key.Binding{k.filter, k.nextMatch, k.prevMatch, k.copy, k.command,
			k.absolute, k.reload}},
		{Title: "Several rows", Keys: []key.Binding{k.mark, k.markAll}},
		{Title: "The screen", Keys: []key.Binding{k.help, k.erase, k.suspend, k.quit, k.interrupt}},
	}
}

// moves returns the keys that only move.
func (k keyMap) moves() []key.Binding {
	return []key.Binding{k.down, k.up, k.pageDown, k.pageUp, k.top, k.bottom}
}
