package watch

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// screen shows frames on a terminal, each in the place of the previous one.
// The last frame remains after close.
type screen struct {
	program *tea.Program
	ended   chan struct{}
	failed  error // why it cannot be drawn; read after ended is closed
}

// open starts a screen on Out. The caller must close it.
func open(c *console.Console) *screen {
	s := &screen{ended: make(chan struct{})}
	// Read no input and catch no signals: the command handles Ctrl-C.
	s.program = tea.NewProgram(model{}, tea.WithOutput(c.Out), tea.WithInput(nil), tea.WithoutSignalHandler())
	go func() { // draws until close
		defer close(s.ended)
		_, s.failed = s.program.Run()
	}()
	return s
}

func (s *screen) show(frame []byte) error {
	select {
	case <-s.ended:
		return s.failed
	default:
		s.program.Send(shown(strings.TrimRight(string(frame), "\n")))
		return nil
	}
}

func (s *screen) remark(text string) { s.program.Send(remarked(text)) }

// close leaves the last frame on the terminal and restores the terminal.
func (s *screen) close() {
	s.program.Quit()
	<-s.ended
}

type (
	shown    string
	remarked string
)

// model is the bubbletea model of a screen.
type model struct {
	lines  []string
	remark string
	height int // of the terminal; 0 if unknown
}

// Init returns no command: bubbletea sends the size without one.
func (model) Init() tea.Cmd { return nil }

// Update handles a frame, a remark or the terminal's size.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case shown:
		m.lines, m.remark = strings.Split(string(msg), "\n"), ""
	case remarked:
		m.remark = string(msg)
	case tea.WindowSizeMsg:
		m.height = msg.Height
	}
	return m, nil
}

// View renders the first lines that fit, and the number of lines that do not.
// Bubbletea cuts lines that are too wide.
func (m model) View() string {
	lines, below := m.lines, []string(nil)
	if m.remark != "" {
		below = append(below, m.remark)
	}
	// Leave one line free for the cursor.
	if room := m.height - 1 - len(below); m.height > 0 && len(lines) > room {
		room = max(room-1, 0)
		below = append([]string{fmt.Sprintf("… %d more lines", len(lines)-room)}, below...)
		lines = lines[:room]
	}
	return strings.Join(append(append([]string(nil), lines...), below...), "\n") + "\n"
}
