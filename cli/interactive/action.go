package interactive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/diff"
)

// pendingAction is an action that waits for a person: the commands to run one after the other.
type pendingAction struct {
	lines    [][]string
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
	n := slices.IndexFunc(m.actions(), func(a page.Action) bool { return key.Matches(msg, a.Key) })
	if n < 0 {
		return nil
	}
	a, pane := m.actions()[n], &m.top().pane
	r, selected := pane.Selected()
	rows := pane.Marked()
	switch {
	case a.Open != nil:
		return m.open(a.Open(r))
	case a.Save != nil:
		return m.requests.save(a.Save())
	case a.OpenAll != nil && (selected || len(rows) > 0):
		if len(rows) == 0 {
			rows = []page.Row{r}
		}
		return m.open(a.OpenAll(rows))
	case a.Command == nil:
		return nil
	case a.Several != nil && len(rows) > 0:
		return m.actOnEach(a, rows)
	}
	args, err := a.Command(r)
	if err != nil {
		m.say(m.theme.Warn, err.Error())
		return nil
	}
	m.pending = pendingAction{lines: [][]string{args}, then: a.Then}
	if a.Question != nil {
		m.pending.question = a.Question(r)
	}
	return m.prompt(a)
}

// actOnEach prepares an action for each of several rows. It leaves out those that the action does not
// apply to, and the question contains their number.
func (m *model) actOnEach(a page.Action, rows []page.Row) tea.Cmd {
	m.pending = pendingAction{}
	var apply []page.Row
	var why error
	for _, r := range rows {
		args, err := a.Command(r)
		if err != nil {
			why = err
			continue
		}
		m.pending.lines, apply = append(m.pending.lines, args), append(apply, r)
	}
	if len(apply) == 0 {
		m.say(m.theme.Warn, why.Error())
		return nil
	}
	m.pending.question = a.Several(apply)
	if out := len(rows) - len(apply); out > 0 {
		m.pending.question += fmt.Sprintf(" %s left out: %s.", diff.Plural(out, "marked row is", "marked rows are"), why)
	}
	return m.prompt(a)
}

// prompt opens the question of an action, or runs an action that has none.
func (m *model) prompt(a page.Action) tea.Cmd {
	switch {
	case m.running != "":
		m.say(m.theme.Warn, "still running: "+m.running)
	case !m.live(m.top()):
		m.say(m.theme.Warn, "control plane unreachable: cannot check the state")
	case a.Reason:
		m.mode, m.typed = reasoning, screen.Entry{}
	case m.pending.question != "":
		m.mode = confirming
	default:
		return m.send()
	}
	return nil
}

// confirmed handles a key while an action waits for a person: y runs it, other keys do not.
func (m *model) confirmed(msg tea.KeyMsg) tea.Cmd {
	m.mode = browsing
	if msg.String() == "y" && !msg.Paste {
		return m.send()
	}
	m.say(m.theme.Faint, "canceled")
	return nil
}

// send runs the commands of an action.
func (m *model) send() tea.Cmd {
	m.running = m.pending.title()
	m.say(m.theme.Faint, "running "+m.running+" …")
	return m.requests.run(m.pending.lines, m.pending.then)
}

// ran shows the result of the commands of an action.
func (m *model) ran(r ran) tea.Cmd {
	m.running = ""
	switch {
	case r.err != nil && r.of > 1:
		m.say(m.theme.Bad, fmt.Sprintf("%d of %d failed: %s: %s", r.failed, r.of, r.line, firstLine(r.err)))
		return m.load(m.top())
	case r.err != nil:
		m.say(m.theme.Bad, fmt.Sprintf("%s: %s", r.line, firstLine(r.err)))
		return m.load(m.top())
	}
	line, _, _ := strings.Cut(strings.TrimSpace(r.said), "\n")
	if line == "" {
		line = "done: " + r.line
	}
	if r.of > 1 {
		line = fmt.Sprintf("done: %d commands, the last: %s", r.of, line)
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

// commandLine returns a command line of nuon that can be pasted into a shell.
func commandLine(args []string) string { return "nuon " + console.CommandLine(args...) }
