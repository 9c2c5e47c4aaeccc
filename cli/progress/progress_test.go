package progress

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

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
		if next, cmd = next.Update(tickMsg(time.Time{})); cmd == nil {
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

// TestSince checks that a busy line shows how long it has been busy, from one second on.
func TestSince(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	lines := linesMsg{{Before: "└─ ", Text: "web", Busy: true, Since: at}, {Mark: "✓", Text: "db", Since: at}}
	for later, want := range map[time.Duration]string{999 * time.Millisecond: "web\n",
		61500 * time.Millisecond: "web (for 1m1s)\n"} {
		m, _ := after(t, lines, tickMsg(at.Add(later)))
		if got := m.View(); !strings.HasPrefix(got, "  └─ ⠙ "+want) || !strings.HasSuffix(got, "  ✓ db\n") {
			t.Errorf("after %s it drew %q", later, got)
		}
	}
}

// TestFewRows checks which lines a terminal with few rows shows: those that are busy, wait or failed stay longest.
func TestFewRows(t *testing.T) {
	lines := linesMsg{{Mark: "✓", Text: "a"}, {Mark: "-", Text: "b"}, {Mark: "x", Text: "c", Busy: true},
		{Mark: "?", Text: "d"}, {Mark: "·", Text: "e"}, {Mark: "✗", Text: "f"}}
	for rows, want := range map[int]string{0: "abcdef", 7: "abcdef", 6: "cdef +2", 5: "cdf +3", 4: "cd +4",
		2: " +6", 1: " +6"} {
		m, _ := after(t, lines, tea.WindowSizeMsg{Width: 80, Height: rows})
		var got strings.Builder
		for line := range strings.Lines(m.View()) {
			var more int
			if n, _ := fmt.Sscanf(line, "  … and %d more", &more); n == 1 {
				fmt.Fprintf(&got, " +%d", more)
				continue
			}
			got.WriteString(strings.TrimSpace(line[len(line)-2:]))
		}
		if got.String() != want {
			t.Errorf("%d rows show %q, want %q", rows, got.String(), want)
		}
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
