// Package progress shows the progress of long work on a terminal: a few live lines on Err,
// below earlier output. They disappear when the work ends, because the command's result reports
// how it ended. If Err is no terminal, the package shows nothing. Commands that wait use it.
package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Line is the state of one item.
type Line struct {
	Before string // the branches of a tree before the mark
	Mark   string // one character; a busy line shows a spinner instead
	Text   string
	Busy   bool
	Since  time.Time // since when it is busy, which is shown; may be zero
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
	Continues(c, "waiting", continues, next...)
	return exitcode.Interrupted
}

// Continues prints on Err, after a command stopped waiting or watching, what continues in the background and the
// commands to run next.
func Continues(c *console.Console, stopped, what string, next ...Next) {
	width := 0
	for _, n := range next {
		width = max(width, len(n.Command))
	}
	c.Messagef("stopped %s: %s", stopped, console.Line(what))
	for _, n := range next {
		c.Messagef("  %-*s   to %s", width, console.Line(n.Command), n.To)
	}
}

type (
	linesMsg []Line
	tickMsg  time.Time
	stopMsg  struct{}
)

// model is the bubbletea model of a view.
type model struct {
	lines   []Line
	frame   int
	now     time.Time // of the last tick; zero before
	rows    int       // of the terminal; 0 if unknown
	stopped bool
}

// spinnerFrames are the frames of the spinner; turnEvery is their interval.
var spinnerFrames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

const spinnerInterval = 100 * time.Millisecond

func tick() tea.Cmd {
	return tea.Tick(spinnerInterval, func(now time.Time) tea.Msg { return tickMsg(now) })
}

// Init starts the spinner.
func (m model) Init() tea.Cmd { return tick() }

// Update handles the messages of Show and Stop.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case linesMsg:
		m.lines = msg
	case tickMsg:
		m.frame, m.now = (m.frame+1)%len(spinnerFrames), time.Time(msg)
		return m, tick()
	case tea.WindowSizeMsg:
		m.rows = msg.Height
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
	const cursor = 1
	rows := len(m.lines)
	if m.rows > 0 {
		rows = m.rows - cursor
	}
	return draw(m.lines, rows, m.now, spinnerFrames[m.frame])
}

// Text returns lines for a view that is drawn again and again without a spinner, in at most some rows.
func Text(lines []Line, rows int, now time.Time) string { return draw(lines, rows, now, "") }

// draw renders the lines that fit into the rows, and the number of the others. Spinner, if not empty, replaces the
// marks of busy lines.
func draw(lines []Line, rows int, now time.Time, spinner string) string {
	var b strings.Builder
	lines, left := fitting(lines, rows)
	for _, l := range lines {
		mark, text := l.Mark, console.Line(l.Text)
		if l.Busy {
			mark = cmp.Or(spinner, mark)
			if took := now.Sub(l.Since); !l.Since.IsZero() && took >= time.Second {
				text += " (for " + took.Truncate(time.Second).String() + ")"
			}
		}
		b.WriteString("  " + l.Before + mark + " " + text + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "  … and %d more\n", left)
	}
	return b.String()
}

// fitting returns the lines that the rows have room for, and the number of the others, which takes a row. It leaves
// out first what has ended, then what has not started.
func fitting(all []Line, rows int) (lines []Line, left int) {
	if len(all) <= rows {
		return all, 0
	}
	room := max(rows-1, 0)
	lines = slices.Clone(all)
	for _, marks := range []string{"✓-", "·"} {
		for i := 0; i < len(lines) && len(lines) > room; {
			if !lines[i].Busy && strings.Contains(marks, lines[i].Mark) {
				lines = slices.Delete(lines, i, i+1)
			} else {
				i++
			}
		}
	}
	lines = lines[:min(len(lines), room)]
	return lines, len(all) - len(lines)
}
