// Package progress shows the progress of long work on a terminal: a few live lines on Err,
// below earlier output. They disappear when the work ends, because the command's result reports
// how it ended. If Err is no terminal, the package shows nothing. Commands that wait use it.
package progress

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Line is the state of one item.
type Line struct {
	Mark string // one character; a busy line shows a spinner instead
	Text string
	Busy bool
}

// View shows the live lines. A nil View shows nothing.
type View struct {
	program *tea.Program
	ended   chan struct{}
}

// Start opens a view, or returns nil if there is no terminal. The caller must call Stop.
func Start(c *console.Console) *View {
	if !c.ErrIsTerminal {
		return nil
	}
	v := &View{ended: make(chan struct{})}
	// Read no input and catch no signals: the command handles Ctrl-C.
	v.program = tea.NewProgram(model{}, tea.WithOutput(c.Err), tea.WithInput(nil), tea.WithoutSignalHandler())
	go func() { // draws until Stop
		defer close(v.ended)
		if _, err := v.program.Run(); err != nil {
			c.Messagef("progress: %v", err)
		}
	}()
	return v
}

// Show replaces the lines.
func (v *View) Show(lines []Line) {
	if v != nil {
		v.program.Send(linesMsg(slices.Clone(lines)))
	}
}

// Stop removes the lines and restores the terminal. It may be called twice.
func (v *View) Stop() {
	if v == nil {
		return
	}
	v.program.Send(stopMsg{})
	<-v.ended
}

// Next is a command that a person can run next. To describes what it does, in
// words that follow "to".
type Next struct{ Command, To string }

// StopWaiting ends the view after Ctrl-C: it removes the lines, prints on Err what continues
// in the background and how to follow or stop it, and returns exitcode.Interrupted.
func (v *View) StopWaiting(c *console.Console, continues string, next ...Next) error {
	v.Stop()
	width := 0
	for _, n := range next {
		width = max(width, len(n.Command))
	}
	c.Messagef("stopped waiting: %s", console.Line(continues))
	for _, n := range next {
		c.Messagef("  %-*s   to %s", width, console.Line(n.Command), n.To)
	}
	return exitcode.Interrupted
}

type (
	linesMsg []Line
	tickMsg  struct{}
	stopMsg  struct{}
)

// model is the bubbletea model of a view.
type model struct {
	lines   []Line
	frame   int
	stopped bool
}

// spinnerFrames are the frames of the spinner; turnEvery is their interval.
var spinnerFrames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

const spinnerInterval = 100 * time.Millisecond

func tick() tea.Cmd { return tea.Tick(spinnerInterval, func(time.Time) tea.Msg { return tickMsg{} }) }

// Init starts the spinner.
func (m model) Init() tea.Cmd { return tick() }

// Update handles the messages of Show and Stop.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case linesMsg:
		m.lines = msg
	case tickMsg:
		m.frame = (m.frame + 1) % len(spinnerFrames)
		return m, tick()
	case stopMsg:
		m.stopped = true
		return m, tea.Quit
	}
	return m, nil
}

// View renders the lines. Texts are untrusted and cannot move the cursor.
func (m model) View() string {
	if m.stopped {
		return ""
	}
	var b strings.Builder
	for _, l := range m.lines {
		mark := l.Mark
		if l.Busy {
			mark = spinnerFrames[m.frame]
		}
		b.WriteString("  " + mark + " " + console.Line(l.Text) + "\n")
	}
	return b.String()
}
