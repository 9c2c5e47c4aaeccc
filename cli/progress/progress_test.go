package progress

import (
	"io"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// after sends messages to a new model, and returns it with the last command.
func after(t *testing.T, messages ...tea.Msg) (model, tea.Cmd) {
	t.Helper()
	var m tea.Model = model{}
	var cmd tea.Cmd
	for _, msg := range messages {
		m, cmd = m.Update(msg)
	}
	return m.(model), cmd
}

// TestLines checks that lines are shown in order, that new lines replace the
// old ones, and that a text cannot leave its line.
func TestLines(t *testing.T) {
	m, cmd := after(t, linesMsg{{Mark: "·", Text: "old"}},
		linesMsg{{Mark: "✓", Text: "web: build 3 succeeded"}, {Mark: "✗", Text: "api:\x1b[2A failed\nhidden"}})
	if want := "  ✓ web: build 3 succeeded\n  ✗ api: [2A failed hidden\n"; m.View() != want {
		t.Errorf("drew %q, want %q", m.View(), want)
	}
	if cmd != nil {
		t.Error("lines alone do something else, too")
	}
}

// TestTurning checks that the spinner of a busy line advances with each tick
// and repeats, and that other lines do not change.
func TestTurning(t *testing.T) {
	lines := linesMsg{{Mark: "x", Text: "busy", Busy: true}, {Mark: "✓", Text: "done"}}
	m, _ := after(t, lines)
	first, seen := m.View(), map[string]bool{}
	var next tea.Model = m
	for range spinnerFrames {
		view := next.View()
		if seen[view] || !strings.HasSuffix(view, "  ✓ done\n") || strings.Contains(view, "x busy") {
			t.Errorf("drew %q", view)
		}
		seen[view] = true
		var cmd tea.Cmd
		if next, cmd = next.Update(tickMsg{}); cmd == nil {
			t.Fatal("stops turning")
		}
	}
	if next.View() != first {
		t.Errorf("came round to %q, not %q", next.View(), first)
	}
	if (model{}).Init() == nil {
		t.Error("does not begin to turn")
	}
}

// TestOver checks that the lines disappear and the program ends.
func TestOver(t *testing.T) {
	m, cmd := after(t, linesMsg{{Text: "busy", Busy: true}}, stopMsg{})
	if m.View() != "" {
		t.Errorf("left %q", m.View())
	}
	if cmd == nil || cmd() != tea.Quit() {
		t.Error("does not end")
	}
}

// TestNoTerminal checks that a pipe has no view, and that a nil view shows nothing.
func TestNoTerminal(t *testing.T) {
	var out strings.Builder
	v := Start(&console.Console{Out: &out, Err: &out, OutIsTerminal: true})
	v.Show([]Line{{Text: "x"}})
	v.Stop()
	v.Stop()
	if v != nil || out.Len() > 0 {
		t.Errorf("drew %q", out.String())
	}
}

// TestStopWaits checks that Stop returns only when the terminal is restored,
// may be called twice, and that a later Show has no effect.
func TestStopWaits(t *testing.T) {
	out := &closing{}
	v := Start(&console.Console{Err: out, Out: io.Discard, ErrIsTerminal: true})
	lines := []Line{{Mark: "✓", Text: "first"}}
	v.Show(lines)
	lines[0].Text = "changed by its owner"
	v.Stop()
	out.over = true
	v.Show(lines)
	v.Stop()
	if out.late {
		t.Error("drew after Stop")
	}
}

// closing records whether anything is written after it was closed.
type closing struct{ over, late bool }

func (c *closing) Write(b []byte) (int, error) {
	c.late = c.late || c.over
	return len(b), nil
}
