package review

import (
	"fmt"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// queueOf returns a queue of n plans, in one group or each alone, whose installs have wide characters and control
// sequences in their names.
func queueOf(n int, alike bool) listed {
	l := listed{totals: map[string]diff.Totals{}}
	for _, a := range crowd(n) {
		a.Install += "-漢字👋\x1b[2J"
		if !alike {
			a.Group = ""
		}
		a.Report = nil
		l.waiting = append(l.waiting, a)
		l.totals[a.ID] = diff.Totals{Update: 1}
	}
	return l
}

// openQueue returns a screen with a queue, with the report of its first plan.
func openQueue(l listed, report api.Approval) *stage {
	s := newStage(plainTheme, 140, 45)
	s.send(l)
	if at := s.queue.current(); at.several() {
		report.ID = l.waiting[0].ID
		s.send(openedAs(report))
	} else if !at.none() {
		s.send(openedOf(report))
	}
	return s
}

// keysOfQueues are keys that do something with a queue: moves, groups, marks, questions, assignments and overlays.
var keysOfQueues = []string{"J", "K", "m", "tab", "G", " ", "*", "g", "a", "esc", "r", "esc", "i", "e", "esc", "?",
	"esc", "*", "esc", "m", "tab"}

// TestLists shows a queue of no plan, one and 100,000, in a group and alone, on several sizes. A key and a frame need
// no more memory for 100,000 plans than for 200.
func TestLists(t *testing.T) {
	report := crowd(1)[0]
	frames := func(s *stage) float64 {
		return testing.AllocsPerRun(5, func() {
			for _, k := range []string{"j", "k", "n", "p"} {
				s.press(k)
				_ = s.View()
			}
		})
	}
	for name, alike := range map[string]bool{"alike": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			few := frames(openQueue(queueOf(200, alike), report))
			for _, n := range []int{0, 1, 100_000} {
				s := openQueue(queueOf(n, alike), report)
				if lots := frames(s); n > 200 && lots > few*1.2 {
					t.Errorf("%.0f allocations with %d plans, %.0f with 200", lots, n, few)
				}
				for _, size := range append([][2]int{{20, 5}, {40, 10}}, screentest.Sizes...) {
					s.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					if size[0] > 20 {
						fits(t, s.View()+"\n", size[0], size[1])
					}
				}
				keys := keysOfQueues
				if n > 1 {
					keys = []string{"J", "m", "tab", "G", "*", "a", "esc", "*", "g", "m", "tab"}
				}
				for _, k := range keys {
					s.press(k)
					fits(t, s.View()+"\n", 200, 60)
				}
				if n > 1 {
					s.press("m", "tab", "/")
					s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(fmt.Sprintf("%04d", n-1))})
					s.press("enter")
					s.shows(t, fmt.Sprintf("install-%04d", n-1))
				}
			}
		})
	}
}
