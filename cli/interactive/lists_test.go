//go:build !race

package interactive

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// lists are the screens with lists: the paths of the API that they read, each with an item of which there may be any
// number. A name of an item contains its number.
var lists = map[string]struct {
	items map[string]any
	empty string // shown, with what to do next
	bound int    // the maximum number of rows; 0 for none
}{
	"home": {items: map[string]any{"installs": numbered().installs[2]},
		empty: "Nothing needs you."},
	"installs": {items: map[string]any{"installs": numbered().installs[2]}, empty: "nuon installs create NAME --app APP"},
	"apps":     {items: map[string]any{"apps": numberedApp()}, empty: "nuon apps create NAME"},
	"runners":  {items: map[string]any{"runners": numberedRunner()}, empty: "nuon runners create NAME"},
	"workflows": {items: map[string]any{"workflows": numberedWorkflow()}, bound: 200,
		empty: "nuon installs create NAME --app APP"},
	"audit": {items: map[string]any{"audit": api.AuditEvent{Actor: "vera NUMBER " + hostile, Action: "app.create"}},
		empty: "No events.", bound: 500},
}

func numbered() *plane {
	p := newPlane(nil)
	i := &p.installs[2]
	i.ID, i.Name = "ins_NUMBER", "customer-NUMBER-漢字👋\x1b[2J"
	i.Reason = "failed at NUMBER: " + hostile
	return p
}

func numberedApp() api.App {
	a := helloApp()
	a.ID, a.Name = "app_NUMBER", "app-NUMBER-漢字👋\x1b[2J"
	return a
}

func numberedRunner() api.Runner {
	r := runnerOf("runner-NUMBER", false)
	r.Version = hostile
	return r
}

func numberedWorkflow() api.Workflow {
	w := deploy()
	w.ID, w.Install, w.RequestedBy = "wfl_NUMBER", "customer-NUMBER-漢字👋\x1b[2J", "vera\x1b[2J"
	return w
}

// answerOf returns the answer of the API with n items, as many as the bound allows.
func answerOf(t testing.TB, item any, n, bound int) []byte {
	t.Helper()
	raw, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}
	if bound > 0 {
		n = min(n, bound)
	}
	var b strings.Builder
	b.WriteString(`{"items": [`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(string(raw), "NUMBER", fmt.Sprint(i)))
	}
	b.WriteString("]}")
	return []byte(b.String())
}

// openList opens a screen with a list of n items.
func openList(t testing.TB, line string, n int) *stage {
	t.Helper()
	p := newPlane(t)
	p.answers = map[string][]byte{}
	for path, item := range lists[line].items {
		p.answers[path] = answerOf(t, item, n, lists[line].bound)
	}
	if line == "home" && n == 0 { // without an app, nothing needs a person
		p.answers["apps"], p.answers["approvals"] = answerOf(t, nil, 0, 0), answerOf(t, nil, 0, 0)
	}
	s := openStage(t, themes["dark"], 140, 45, p, "")
	if line == "home" {
		s.do(s.load(s.top()))
		return s
	}
	return s.visit(line)
}

// keysOfLists are keys that do something with a list: moves, marks, a filter, a search, and what opens or copies a row.
var keysOfLists = []string{"j", "k", "G", "g", "tab", "shift+tab", " ", "*", "*", "b", "y", "!", "esc", "/", "9",
	"enter", "n", "N", "esc", "d", "esc", "?", "esc", "G", "k"}

// TestLists opens every list with no item, one and 100,000, whose names have wide characters and control sequences, on
// several sizes. It checks that an empty list shows what to do, that a long one can be searched and marked, and that a
// key and a frame need no more work for 100,000 items than for 200.
func TestLists(t *testing.T) {
	frames := func(s *stage) float64 {
		s.press("g")
		return testing.AllocsPerRun(5, func() {
			for _, k := range []string{"j", "k", "f", "b"} {
				s.press(k)
				_ = s.View()
			}
		})
	}
	for line, l := range lists {
		t.Run(line, func(t *testing.T) {
			few := frames(openList(t, line, 200))
			for _, n := range []int{0, 1, 100_000} {
				s := openList(t, line, n)
				if shown := strings.Contains(s.screen(), l.empty); shown != (n == 0) {
					t.Errorf("%d items: that it is empty is shown: %t\n%s", n, shown, s.screen())
				}
				for _, size := range append([][2]int{{20, 5}, {40, 10}}, screentest.Sizes...) {
					s.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					if size[0] > 20 {
						fits(t, s.View(), size[0], size[1])
					}
				}
				keys := keysOfLists
				if n > 1 {
					keys = []string{"G", " ", "k", "*", "esc"} // each further filter passes over all rows
				}
				for _, k := range keys {
					s.press(k)
					fits(t, s.View(), 200, 60)
				}
				if n == 0 {
					continue
				}
				last := n - 1
				if l.bound > 0 {
					last = min(last, l.bound-1)
				}
				s.press("/")
				s.Update(paste(fmt.Sprint(last)))
				s.press("enter")
				s.shows(fmt.Sprint(last))
				s.press("esc")
				s.Update(tea.WindowSizeMsg{Width: 140, Height: 45})
				if lots := frames(s); n > 200 && lots > few*1.2 {
					t.Errorf("%.0f allocations with %d items, %.0f with 200", lots, n, few)
				}
			}
		})
	}
}
