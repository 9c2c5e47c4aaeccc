package interactive

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

// asked is an action that waits for a person.
type asked struct {
	args     []string
	question string
	then     string
}

// actions returns the actions of the shown screen.
func (m *model) actions() []page.Action {
	if a, acts := m.top().content.(Actor); acts {
		return a.Actions()
	}
	return nil
}

func bindings(all []page.Action) []key.Binding {
	var out []key.Binding
	for _, a := range all {
		out = append(out, a.Key)
	}
	return out
}

// act handles a key of an action.
func (m *model) act(msg tea.KeyMsg) tea.Cmd {
	for _, a := range m.actions() {
		if !key.Matches(msg, a.Key) {
			continue
		}
		r, _ := m.top().pane.Selected()
		if a.Open != nil {
			return m.open(a.Open(r))
		}
		if a.Save != nil {
			return m.ask.save(a.Save())
		}
		args, err := a.Command(r)
		switch {
		case err != nil:
			m.say(m.theme.Warn, err.Error())
			return nil
		case m.running != "":
			m.say(m.theme.Warn, "still running: "+m.running)
			return nil
		case !m.live(m.top()):
			m.say(m.theme.Warn, "control plane unreachable: cannot check the state")
			return nil
		}
		m.asked = asked{args: args, then: a.Then}
		if a.Question != nil {
			m.asked.question = a.Question(r)
		}
		switch {
		case a.Reason:
			m.mode, m.typed = reasoning, screen.Entry{}
		case a.Question != nil:
			m.mode = confirming
		default:
			return m.send(args)
		}
		return nil
	}
	return nil
}

// confirmed handles a key while an action waits for a person: y runs it, other keys do not.
func (m *model) confirmed(msg tea.KeyMsg) tea.Cmd {
	m.mode = browsing
	if msg.String() == "y" && !msg.Paste {
		return m.send(m.asked.args)
	}
	m.say(m.theme.Faint, "canceled")
	return nil
}

// send runs the command of an action.
func (m *model) send(args []string) tea.Cmd {
	m.running = quoted(args)
	m.say(m.theme.Faint, "running "+m.running+" …")
	return m.ask.run(args, m.asked.then)
}

// ran shows the result of a command.
func (m *model) ran(r ran) tea.Cmd {
	m.running = ""
	if r.err != nil {
		m.say(m.theme.Bad, fmt.Sprintf("%s: %s", r.line, firstLine(r.err)))
		return m.load(m.top())
	}
	line, _, _ := strings.Cut(strings.TrimSpace(r.said), "\n")
	if line == "" {
		line = "done: " + r.line
	}
	var cmd tea.Cmd
	if r.then != "" {
		cmd = m.open(r.then)
	}
	m.say(m.theme.Good, line)
	return tea.Batch(cmd, m.load(m.top()))
}

// saved shows the result of writing a file.
func (m *model) saved(s saved) {
	if s.err != nil {
		m.say(m.theme.Bad, firstLine(s.err))
		return
	}
	m.say(m.theme.Good, "saved "+s.file)
}

// quoted returns a command line that can be pasted into a shell.
func quoted(args []string) string {
	words := []string{"nuon"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
