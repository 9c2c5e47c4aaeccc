package watch

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// screen is a picture on a terminal that is drawn anew in its place. The last one stays when it is closed.
type screen struct {
	program *tea.Program
	ended   chan struct{}
	failed  error // why it cannot be drawn; read after ended
}

// open begins one on Out. Its owner closes it.
func open(c *console.Console) *screen {
	s := &screen{ended: make(chan struct{})}
	// Nothing is read and no signal is caught: Ctrl-C is the command's own business.
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

// close leaves the last picture and gives the terminal back.
func (s *screen) close() {
	s.program.Quit()
	<-s.ended
}

type (
	shown    string
	remarked string
)

// model is the picture as bubbletea draws it.
type model struct {
	lines  []string
	remark string
	height int // of the terminal; 0 while it is not known
}

// Init asks for nothing: the size comes by itself.
func (model) Init() tea.Cmd { return nil }

// Update takes what is to be seen, and the terminal's size.
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

// View shows as many lines as there is room for, from the first, and says how many more there are. Lines that are too wide are cut
// by bubbletea.
func (m model) View() string {
	lines, below := m.lines, []string(nil)
	if m.remark != "" {
		below = append(below, m.remark)
	}
	// One line stays free: the cursor stands there.
	if room := m.height - 1 - len(below); m.height > 0 && len(lines) > room {
		room = max(room-1, 0)
		below = append([]string{fmt.Sprintf("… %d more lines", len(lines)-room)}, below...)
		lines = lines[:room]
	}
	return strings.Join(append(append([]string(nil), lines...), below...), "\n") + "\n"
}
