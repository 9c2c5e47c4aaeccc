package interactive

import (
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/cli/screen"
)

// Update handles one message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.now = m.clock()
	cmd := m.update(msg)
	m.arrange()
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m.passed(msg)
	case tea.KeyMsg:
		return m.pressed(msg)
	case tea.MouseMsg:
		if m.review == nil {
			return m.clicked(msg)
		}
	case tea.ResumeMsg:
		return tea.Batch(m.passed(msg), m.load(m.top()))
	case beat:
		if v := m.top(); v.page.Live {
			m.refresh(v)
		}
		return m.requests.beat()
	case due:
		if msg.view.turn == msg.turn && msg.view == m.top() {
			return m.load(msg.view)
		}
	case loaded:
		return m.loaded(msg)
	case pushed:
		return m.pushed(msg)
	case ran:
		return m.ran(msg)
	case saved:
		m.saved(msg)
	case completed:
		m.palette.store(msg, m.now)
		m.complete()
	case prepared:
		return m.prepared(msg)
	case review.Left:
		m.closeReview()
		if msg.Line != "" {
			return m.open(msg.Line)
		}
		if msg.Palette {
			m.mode, m.typed = going, screen.Entry{}
			m.typed.Set(msg.Typed)
			return tea.Batch(m.complete(), m.load(m.top()))
		}
		return m.load(m.top())
	default:
		return m.passed(msg)
	}
	return nil
}

// passed passes a message on to the review, if it is open.
func (m *model) passed(msg tea.Msg) tea.Cmd {
	if m.review == nil {
		return nil
	}
	_, cmd := m.review.Update(msg)
	return cmd
}

// open opens a screen by a line of the palette.
func (m *model) open(line string) tea.Cmd {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	switch words[0] {
	case "quit":
		return tea.Quit
	case "help":
		m.showHelp()
		return nil
	case "review":
		m.say(m.theme.Faint, "loading the plans …")
		return m.requests.review(words[1:])
	}
	content, err := m.requests.content(words)
	if err != nil {
		m.say(m.theme.Warn, err.Error())
		return nil
	}
	line = strings.Join(words, " ")
	for n, v := range m.views {
		if v.line == line { // it is open below: go back to it
			for len(m.views) > n+1 {
				m.drop()
			}
			return m.load(v)
		}
	}
	if len(m.views) > 0 {
		m.pause(m.top())
	}
	v := &view{line: line, content: content, lastAnswer: m.now}
	if s, stores := content.(Stored); stores && !s.StoredAt().IsZero() {
		v.lastAnswer, v.loaded, v.earlier = s.StoredAt(), true, true
	}
	m.views = append(m.views, v)
	m.refresh(v)
	return m.load(v)
}

// pause ends the stream of a view that is no longer shown.
func (m *model) pause(v *view) {
	if v.leave != nil {
		v.leave()
		v.leave = nil
	}
}

// drop removes the shown view.
func (m *model) drop() {
	m.pause(m.top())
	m.views = m.views[:len(m.views)-1]
}

// load loads a view, unless that is in flight.
func (m *model) load(v *view) tea.Cmd {
	if v.loading || v.ended && v.streams() {
		return nil
	}
	v.loading, v.loadStarted = true, m.now
	v.turn++
	return m.requests.load(v)
}

// heardFrom records an answer, or that none arrived.
func (m *model) heardFrom(v *view, err error) {
	if err == nil {
		v.lastAnswer, v.failingSince, v.lastError, v.earlier = m.now, time.Time{}, nil, false
		return
	}
	if v.failingSince.IsZero() {
		v.failingSince = m.now
	}
	v.lastError = err
}

// loaded stores the result of a load and schedules the next one.
func (m *model) loaded(l loaded) tea.Cmd {
	v := l.view
	v.loading = false
	m.heardFrom(v, l.err)
	if l.err == nil {
		l.store()
		v.loaded = true
		m.refresh(v)
	}
	return m.reload(v, m.now.Sub(v.loadStarted))
}

// reload schedules the next load of a view, after one that took so long.
func (m *model) reload(v *view, took time.Duration) tea.Cmd {
	pause := max(pollEvery, resting*took)
	v.nextLoad = m.now.Add(pause)
	return m.requests.again(v, pause)
}

// pushed stores what a view received.
func (m *model) pushed(p pushed) tea.Cmd {
	v := p.view
	m.heardFrom(v, p.err)
	for _, store := range p.stores {
		store()
	}
	if v.loaded = v.loaded || len(p.stores) > 0; len(p.stores) > 0 {
		m.refresh(v)
	}
	if !p.ended {
		return p.next
	}
	v.loading = false
	switch {
	case v.leave == nil: // the view was left, so its stream was ended
		v.failingSince, v.lastError = time.Time{}, nil
		if v == m.top() {
			return m.load(v)
		}
		return nil
	case p.err == nil:
		v.ended = true
		return nil
	}
	return m.reload(v, 0)
}

// prepared shows the review.
func (m *model) prepared(p prepared) tea.Cmd {
	if p.err != nil {
		m.say(m.theme.Bad, firstLine(p.err))
		return nil
	}
	m.closeReview()
	m.note, m.mode, m.review = screen.Cell{}, browsing, p.screen
	return m.review.Show(m.theme, m.width, m.height)
}

// closeReview closes the review and keeps its answers.
func (m *model) closeReview() {
	if m.review == nil {
		return
	}
	given, unheard := m.review.Close()
	m.given.Approvals = append(m.given.Approvals, given.Approvals...)
	m.given.Workflows = append(m.given.Workflows, given.Workflows...)
	if unheard != nil {
		m.unheard = unheard
	}
	m.interrupted = m.interrupted || m.review.Interrupted()
	m.review = nil
}

// pressed handles a key.
func (m *model) pressed(msg tea.KeyMsg) tea.Cmd {
	if now, said := m.theme.BackgroundReport(msg); said {
		m.theme = now
		if m.review != nil {
			m.review.SetTheme(now)
		}
		for _, v := range m.views {
			m.refresh(v)
		}
		return nil
	}
	if m.review != nil {
		return m.passed(msg)
	}
	switch {
	case key.Matches(msg, m.keys.interrupt):
		m.interrupted = true
		return tea.Quit
	case key.Matches(msg, m.keys.erase):
		return tea.ClearScreen
	case key.Matches(msg, m.keys.suspend):
		if !screen.CanSuspend() {
			m.say(m.theme.Warn, "cannot suspend: no shell")
			return nil
		}
		return tea.Suspend
	case m.small():
		if key.Matches(msg, m.keys.quit) {
			return tea.Quit
		}
		return nil
	}
	switch m.mode {
	case filtering, going, reasoning:
		return m.typing(msg)
	case confirming:
		return m.confirmed(msg)
	}
	if first, rest, typed := m.started(msg); typed {
		return tea.Batch(m.command(first), m.typing(rest))
	}
	var cmds []tea.Cmd
	for _, one := range screen.Single(msg, m.keys.moves()...) {
		m.note = screen.Cell{}
		cmds = append(cmds, m.command(one))
	}
	return tea.Batch(cmds...)
}

// started splits a message with several keys whose first one starts a line. A terminal sends keys
// that are typed fast as one message.
func (m *model) started(msg tea.KeyMsg) (first, rest tea.KeyMsg, typed bool) {
	if msg.Type != tea.KeyRunes || len(msg.Runes) < 2 || msg.Paste || msg.Alt || m.mode != browsing {
		return first, rest, false
	}
	first, rest = msg, msg
	first.Runes, rest.Runes = msg.Runes[:1], msg.Runes[1:]
	return first, rest, key.Matches(first, m.keys.palette, m.keys.filter)
}

// clicked handles the mouse: the wheel moves, a click selects, a click on the selected row opens it, and a click on a
// screen in the path goes back to it.
func (m *model) clicked(msg tea.MouseMsg) tea.Cmd {
	if m.small() || m.mode != browsing || msg.Action != tea.MouseActionPress {
		return nil
	}
	v := m.top()
	switch msg.Button {
	case tea.MouseButtonWheelDown:
		v.pane.Move(3)
	case tea.MouseButtonWheelUp:
		v.pane.Move(-3)
	case tea.MouseButtonLeft:
		if msg.Y == 0 {
			return m.clickedPath(msg.X)
		}
		if was, ok := v.pane.Click(msg.Y - m.layout().top); ok && was {
			return m.enter()
		}
	}
	return nil
}

// clickedPath goes back to the screen whose title is at a column of the header.
func (m *model) clickedPath(x int) tea.Cmd {
	_, ends := m.trail(m.pathRoom())
	for n, end := range ends {
		if x < end {
			return m.open(m.views[n].line)
		}
	}
	return nil
}

// firstLine returns the first line of an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
