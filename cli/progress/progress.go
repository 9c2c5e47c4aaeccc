// Package progress shows on a terminal how far long work is: a few live lines on Err, below what was printed before, which go
// away when the work is over: the command's result says how it ended. Where Err is no terminal it shows nothing. Commands that
// wait use it.
package progress

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
)

// Line is the state of one thing.
type Line struct {
	Mark string // one character; a Busy line has a turning one instead
	Text string
	Busy bool
}

// View is the live lines. A nil View shows nothing.
type View struct {
	program *tea.Program
	ended   chan struct{}
}

// Start opens a view, or gives nil where there is no terminal. Its owner calls Stop.
func Start(c *console.Console) *View {
	if !c.ErrIsTerminal {
		return nil
	}
	v := &View{ended: make(chan struct{})}
	// Nothing is read and no signal is caught: Ctrl-C is the command's own business.
	v.program = tea.NewProgram(model{}, tea.WithOutput(c.Err), tea.WithInput(nil), tea.WithoutSignalHandler())
	go func() { // draws until Stop
		defer close(v.ended)
		if _, err := v.program.Run(); err != nil {
			c.Say("progress: %v", err)
		}
	}()
	return v
}

// Show replaces the lines.
func (v *View) Show(lines []Line) {
	if v != nil {
		v.program.Send(shown(slices.Clone(lines)))
	}
}

// Stop takes the lines off the screen and gives the terminal back. It may be called twice.
func (v *View) Stop() {
	if v == nil {
		return
	}
	v.program.Send(over{})
	<-v.ended
}

// Next is a command that a person can run next, and what it does, in words that follow "to".
type Next struct{ Command, To string }

// Leave takes the lines off the screen because the person who waits has pressed Ctrl-C, prints on Err what continues without them and
// how to follow or end it, and returns exit.Interrupted.
func (v *View) Leave(c *console.Console, continues string, next ...Next) error {
	v.Stop()
	width := 0
	for _, n := range next {
		width = max(width, len(n.Command))
	}
	c.Say("stopped waiting: %s", console.Line(continues))
	for _, n := range next {
		c.Say("  %-*s   to %s", width, console.Line(n.Command), n.To)
	}
	return exit.Interrupted
}

type (
	shown  []Line
	ticked struct{}
	over   struct{}
)

// model is the view as bubbletea draws it.
type model struct {
	lines []Line
	turn  int
	over  bool
}

// turns are the states of the turning mark, turnEvery apart.
var turns = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

const turnEvery = 100 * time.Millisecond

func tick() tea.Cmd { return tea.Tick(turnEvery, func(time.Time) tea.Msg { return ticked{} }) }

// Init starts the turning.
func (m model) Init() tea.Cmd { return tick() }

// Update takes what Show and Stop send.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case shown:
		m.lines = msg
	case ticked:
		m.turn = (m.turn + 1) % len(turns)
		return m, tick()
	case over:
		m.over = true
		return m, tea.Quit
	}
	return m, nil
}

// View draws one line each. Texts come from elsewhere and cannot move the cursor.
func (m model) View() string {
	if m.over {
		return ""
	}
	var b strings.Builder
	for _, l := range m.lines {
		mark := l.Mark
		if l.Busy {
			mark = turns[m.turn]
		}
		b.WriteString("  " + mark + " " + console.Line(l.Text) + "\n")
	}
	return b.String()
}
