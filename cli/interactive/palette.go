package interactive

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
)

// names are the names of a kind of object, and when they were fetched.
type names struct {
	all       []complete.Name
	at        time.Time
	requested bool
}

// palette completes the lines that open screens.
type palette struct {
	names  map[string]names
	found  []complete.Name // what completes the typed line
	index  int
	picked bool // a person chose one of them
}

// lines are the first words of lines, with what they open.
var lines = []complete.Name{
	{Name: "home", About: "what needs you, and the fleet"},
	{Name: "review", About: "review waiting plans, also of one INSTALL"},
	{Name: "installs", About: "all installs, or those of an APP"},
	{Name: "install", About: "an INSTALL"},
	{Name: "states", About: "Terraform state versions: INSTALL COMPONENT"},
	{Name: "workflows", About: "the newest workflows, or those of an INSTALL"},
	{Name: "workflow", About: "a WORKFLOW, or latest:INSTALL"},
	{Name: "logs", About: "the log of a WORKFLOW, BUILD, STEP, RUNNER or JOB"},
	{Name: "apps", About: "all apps"},
	{Name: "app", About: "an APP"},
	{Name: "runners", About: "all runners"},
	{Name: "runner", About: "a RUNNER"},
	{Name: "audit", About: "who changed what"},
	{Name: "explain", About: "why: KIND NAME, such as install acme"},
	{Name: "help", About: "the keys"},
	{Name: "quit", About: "leave"},
}

// keepNames is how long fetched names are used.
const keepNames = 30 * time.Second

// complete updates what completes the typed line, and fetches the names that this needs.
func (m *model) complete() tea.Cmd {
	if m.mode != going {
		return nil
	}
	p := &m.palette
	p.picked, p.index = false, 0
	first, rest, named := strings.Cut(strings.TrimLeft(m.typed.String(), " "), " ")
	if !named {
		p.found = starting(lines, first)
		return nil
	}
	if _, known := sources[first]; !known {
		p.found = nil
		return nil
	}
	n := p.names[first]
	p.found = nil
	for _, name := range starting(n.all, strings.TrimLeft(rest, " ")) {
		p.found = append(p.found, complete.Name{Name: first + " " + name.Name, About: name.About})
	}
	if n.requested || m.now.Sub(n.at) < keepNames {
		return nil
	}
	n.requested = true
	p.names[first] = n
	return m.requests.names(first)
}

// store stores fetched names.
func (p *palette) store(c completed, now time.Time) {
	p.names[c.kind] = names{all: c.names, at: now}
}

// starting returns the names that start with a word, then those that contain it.
func starting(all []complete.Name, word string) []complete.Name {
	var first, then []complete.Name
	for _, n := range all {
		switch {
		case n.Name == "" || console.Line(n.Name) != n.Name:
		case strings.HasPrefix(n.Name, word):
			first = append(first, n)
		case strings.Contains(n.Name, word):
			then = append(then, n)
		}
	}
	return append(first, then...)
}

// moved handles a key that moves among the completions. It reports whether the key does.
func (p *palette) moved(msg tea.KeyMsg) bool {
	by := map[string]int{"down": 1, "ctrl+n": 1, "up": -1, "ctrl+p": -1}[msg.String()]
	if n := len(p.found); by != 0 && n > 0 {
		p.index, p.picked = (p.index+by+n)%n, true
	}
	return by != 0
}

// chosen returns the line to open: the chosen completion, else what was typed if it is complete,
// else the first completion.
func (p *palette) chosen(typed string) string {
	typed = strings.TrimSpace(typed)
	if p.picked && p.index < len(p.found) {
		return p.found[p.index].Name
	}
	for _, l := range append(p.found, lines...) {
		if l.Name == typed {
			return typed
		}
	}
	if first, rest, named := strings.Cut(typed, " "); named && rest != "" || len(p.found) == 0 || first == "" {
		return typed
	}
	return p.found[0].Name
}
