package interactive

import (
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

// view is an open screen.
type view struct {
	line    string // that opened it
	content Content
	page    page.Page
	pane    page.Pane
	leave   func() // ends its stream; nil if it has none

	turn         int       // the number of the current load, so that only one is ever scheduled
	loading      bool      // a load is in flight, or the stream is open
	loaded       bool      // something was stored
	earlier      bool      // what is shown is from an earlier run of the program
	ended        bool      // nothing will change any more
	loadStarted  time.Time // when the last load started
	lastAnswer   time.Time // time of the last answer
	nextLoad     time.Time // when the next load is due; zero if none is
	failingSince time.Time // when answers stopped; zero while they arrive
	lastError    error     // the last error
}

// streams reports whether the control plane notifies the view of changes.
func (v *view) streams() bool {
	_, yes := v.content.(Follower)
	return yes
}

// mode is what the program currently does with keys.
type mode uint8

const (
	browsing mode = iota
	filtering
	going      // the user types a line of the palette
	confirming // y runs the action
	reasoning  // the user types the reason of an action
	showing    // the equivalent command is shown
	helping
)

// model is the state of the program. Update and View are pure: input comes only from messages and
// the clock.
type model struct {
	requests requests
	out      io.Writer // the terminal, for its clipboard
	keys     keyMap
	theme    *screen.Theme
	clock    func() time.Time
	place    string // the control plane's host

	width, height int
	now           time.Time
	absolute      bool // times are shown, not ages
	mode          mode
	views         []*view // the last one is shown
	typed         screen.Entry
	palette       palette
	pending       pendingAction // the action that waits for a person
	help          page.Pane
	note          screen.Cell
	noted         time.Time
	running       string // the command that an action runs

	review      *review.Screen // shown instead of the view
	given       review.Answers
	unheard     error
	interrupted bool
}

const (
	// noteFor is how long the footer shows the result of a key.
	noteFor = 8 * time.Second
	// staleAfter is how long the result of a poll counts as current, from when the next one is due if that is later.
	staleAfter = 12 * time.Second
)

func newModel(r requests, out io.Writer, t *screen.Theme, place string, clock func() time.Time) *model {
	return &model{requests: r, out: out, keys: newKeys(), theme: t, clock: clock, place: place, now: clock(),
		palette: palette{names: map[string]names{}}}
}

// Init opens the home screen.
func (m *model) Init() tea.Cmd { return tea.Batch(m.requests.beat(), m.open("home")) }

// top returns the shown view.
func (m *model) top() *view { return m.views[len(m.views)-1] }

// live reports whether a view shows the current state. What takes long to load is loaded rarely (reload), and
// counts as current until the next load should have answered.
func (m *model) live(v *view) bool {
	expected := v.lastAnswer
	if v.nextLoad.After(expected) {
		expected = v.nextLoad
	}
	return v.failingSince.IsZero() && !v.earlier && (v.ended || v.streams() || m.now.Sub(expected) < staleAfter)
}

// say shows a message in the footer.
func (m *model) say(s screen.Style, text string) {
	m.note, m.noted = screen.Cell{Text: console.Line(text), Style: s}, m.now
}

// at returns the clock that pages are drawn with.
func (m *model) at() page.Clock { return page.Clock{Now: m.now, Absolute: m.absolute} }

// refresh shows the current page of a view.
func (m *model) refresh(v *view) {
	v.page = v.content.Page(m.now)
	v.pane.Set(v.page, m.at(), m.theme)
}
