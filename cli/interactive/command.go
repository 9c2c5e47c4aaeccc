package interactive

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

// command handles a key that is not typed into a line.
func (m *model) command(msg tea.KeyMsg) tea.Cmd {
	k, v := m.keys, m.top()
	switch {
	case m.mode == showing:
		return m.closeCommand(msg)
	case key.Matches(msg, k.quit) && m.mode == browsing:
		return tea.Quit
	case m.mode == helping:
		if key.Matches(msg, k.quit, k.back, k.help, k.open) {
			m.mode = browsing
			return nil
		}
		m.move(&m.help, msg)
	case key.Matches(msg, k.help):
		m.showHelp()
	case key.Matches(msg, k.open):
		return m.enter()
	case key.Matches(msg, k.back):
		return m.back()
	case key.Matches(msg, k.filter):
		m.mode, m.typed = filtering, screen.Entry{}
		m.typed.Set(v.pane.Filtered())
	case key.Matches(msg, k.nextMatch):
		m.search(1)
	case key.Matches(msg, k.prevMatch):
		m.search(-1)
	case v.page.Marks && key.Matches(msg, k.mark):
		v.pane.Mark()
	case v.page.Marks && key.Matches(msg, k.markAll):
		v.pane.MarkAll()
	case key.Matches(msg, k.palette):
		m.mode, m.typed = going, screen.Entry{}
		return m.complete()
	case key.Matches(msg, k.review):
		return m.open("review")
	case key.Matches(msg, k.copy):
		if r, ok := v.pane.Selected(); ok && r.Copy != "" {
			return m.copy(r.Copy)
		}
		m.say(m.theme.Faint, "nothing to copy here")
	case key.Matches(msg, k.command):
		m.mode = showing
	case key.Matches(msg, k.absolute):
		m.absolute = !m.absolute
		m.refresh(v)
	case key.Matches(msg, k.reload):
		v.ended = false
		return m.load(v)
	case m.move(&v.pane, msg):
	default:
		return m.act(msg)
	}
	return nil
}

// move handles a key that moves in a pane. It reports whether the key does.
func (m *model) move(p *page.Pane, msg tea.KeyMsg) bool {
	k := m.keys
	switch {
	case key.Matches(msg, k.down):
		p.Move(1)
	case key.Matches(msg, k.up):
		p.Move(-1)
	case key.Matches(msg, k.pageDown):
		p.Page(1)
	case key.Matches(msg, k.pageUp):
		p.Page(-1)
	case key.Matches(msg, k.top):
		p.Home()
	case key.Matches(msg, k.bottom):
		p.End()
	case key.Matches(msg, k.nextSection):
		p.Section(1)
	case key.Matches(msg, k.prevSection):
		p.Section(-1)
	default:
		return false
	}
	return true
}

// search selects the next row that contains the words of the filter, or with a negative by the
// previous one.
func (m *model) search(by int) {
	if !m.top().pane.Next(by, m.at(), m.theme) {
		m.say(m.theme.Faint, "nothing to search for: press / and type words first")
	}
}

// enter opens what the selected row shows.
func (m *model) enter() tea.Cmd {
	r, ok := m.top().pane.Selected()
	if !ok || r.Open == "" {
		m.say(m.theme.Faint, "nothing to open here")
		return nil
	}
	return m.open(r.Open)
}

// back clears the filter, ends the search or unmarks all rows; else it closes the view.
func (m *model) back() tea.Cmd {
	v := m.top()
	switch {
	case v.pane.Filtered() != "":
		v.pane.Filter("", m.at(), m.theme)
	case v.pane.Sought() != "":
		v.pane.EndSearch()
	case v.pane.MarkCount() > 0:
		v.pane.Unmark()
	case len(m.views) == 1:
		m.say(m.theme.Faint, "this is the first screen; press q to quit")
	default:
		m.drop()
		m.refresh(m.top())
		return m.load(m.top())
	}
	return nil
}

// commands returns the commands that show what the screen and the selected row show.
func (m *model) commands() []string {
	var out []string
	if c := m.top().page.Command; c != "" {
		out = append(out, c)
	}
	if r, ok := m.top().pane.Selected(); ok && r.Command != "" {
		out = append(out, r.Command)
	}
	return out
}

// closeCommand handles a key while the equivalent commands are shown: y copies the last one.
func (m *model) closeCommand(msg tea.KeyMsg) tea.Cmd {
	m.mode = browsing
	if all := m.commands(); key.Matches(msg, m.keys.copy) && len(all) > 0 {
		return m.copy(all[len(all)-1])
	}
	return nil
}

// copy puts a text on the clipboard of the terminal (OSC 52), which also works over SSH. It copies
// what the screen shows, one printable line, because a shell would run each line of a pasted text.
// A single write to the terminal does not mix with a frame.
func (m *model) copy(text string) tea.Cmd {
	text = console.Line(text)
	m.say(m.theme.Good, "copied "+text)
	out := m.out
	return func() tea.Msg {
		_, _ = out.Write([]byte(ansi.SetSystemClipboard(text))) // a terminal that is gone ends the program
		return nil
	}
}

// typing handles a key while the user types a line.
func (m *model) typing(msg tea.KeyMsg) tea.Cmd {
	v := m.top()
	switch msg.String() {
	case "esc":
		if m.mode == filtering {
			v.pane.Filter("", m.at(), m.theme)
		}
		m.mode = browsing
		return nil
	case "enter":
		return m.typedLine()
	}
	if m.mode == going {
		if m.palette.moved(msg) {
			return nil
		}
		if n := m.palette.index; msg.String() == "tab" && n < len(m.palette.found) {
			m.typed.Set(m.palette.found[n].Name)
		} else {
			m.typed.Press(msg)
		}
		return m.complete()
	}
	m.typed.Press(msg)
	if m.mode == filtering {
		v.pane.Filter(m.typed.String(), m.at(), m.theme)
	}
	return nil
}

// typedLine handles enter while the user types a line.
func (m *model) typedLine() tea.Cmd {
	was := m.mode
	switch was {
	case reasoning:
		if strings.TrimSpace(m.typed.String()) == "" {
			return nil
		}
		m.mode = browsing
		for i := range m.pending.lines {
			m.pending.lines[i] = append(m.pending.lines[i], "--reason", strings.TrimSpace(m.typed.String()))
		}
		return m.send()
	case going:
		m.mode = browsing
		return m.open(m.palette.chosen(m.typed.String()))
	}
	m.mode = browsing
	return nil
}

// showHelp opens the help.
func (m *model) showHelp() {
	m.mode = helping
	groups := m.keys.groups()
	if own := m.actions(); len(own) > 0 {
		groups = append([]screen.KeyGroup{{Title: "This screen", Keys: bindings(own)}}, groups...)
	}
	p := page.Page{Title: "help"}
	for _, l := range screen.Help(groups, m.width) {
		var b strings.Builder
		b.WriteString(l.Indent)
		for _, s := range l.Spans {
			b.WriteString(console.Line(s.Text))
		}
		p.Facts = append(p.Facts, page.Fact{Text: b.String()})
	}
	m.help = page.Pane{}
	m.help.Set(p, m.at(), m.theme)
}
