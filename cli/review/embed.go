package review

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Screen is the review as a part of a larger program, which passes all messages on to Update while
// it shows the review.
type Screen struct {
	*model
	requester *requester
	first     listed
	place     string
}

// Prepare fetches the waiting plans for which wanted returns true. The caller must call Close.
func Prepare(ctx context.Context, client *apiclient.Client, wanted func(api.Approval) bool) (*Screen, error) {
	s := &Screen{requester: newRequester(ctx, client, wanted), place: host(client.URL)}
	s.first, _ = s.requester.list(scope{})().(listed)
	if s.first.err != nil {
		s.requester.Close()
		return nil, s.first.err
	}
	return s, nil
}

// Left is the message that the review sends when the user leaves it.
type Left struct {
	Palette bool   // the user goes to another screen
	Typed   string // the start of the line that names it
	Line    string // the line of a screen that opens at once
}

// Show starts the review in a theme and size.
func (s *Screen) Show(t *screen.Theme, width, height int) tea.Cmd {
	s.model = newModel(s.requester, t, s.place, time.Now, s.first)
	s.first = listed{}
	s.leave = func() tea.Msg { return Left{} }
	s.part = true
	s.keys.quit.SetHelp("q", "back")
	s.keys.palette = screen.Bind(":", "go to", ":")
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s.Init()
}

// SetTheme changes the theme.
func (s *Screen) SetTheme(t *screen.Theme) { s.theme = t }

// Interrupted reports whether the user pressed Ctrl-C.
func (s *Screen) Interrupted() bool { return s.interrupted }

// Close ends the requests of the review. It returns the answers that were given and, if an answer
// was being sent, an error that names it.
func (s *Screen) Close() (Answers, error) {
	s.requester.Close()
	return Answers{s.given, s.approved}, s.unheard(0)
}

// goTo leaves the screen for another one, whose line starts with what was typed.
func (m *model) goTo(typed string) tea.Cmd {
	return m.left(func() tea.Msg { return Left{Palette: true, Typed: typed} })
}

// approveAndFollow approves the selected plan and then leaves for the screen of its workflow, which
// shows the apply live.
func (m *model) approveAndFollow() tea.Cmd {
	at := m.queue.current()
	switch {
	case !m.part:
		m.say(m.theme.Warn, "only in `nuon`; here: approve, then nuon workflows watch WORKFLOW")
		return nil
	case len(m.queue.marked()) > 0 || at.several():
		m.say(m.theme.Warn, "select one plan to follow its workflow")
		return nil
	}
	cmd := m.approve()
	if m.mode == confirming || at.answering() {
		m.following = at.id()
	}
	return cmd
}

// follow leaves for the workflow of an approved plan, if the user wants to follow it.
func (m *model) follow(a answered) tea.Cmd {
	if m.following == "" || m.following != a.id {
		return nil
	}
	m.following = ""
	if a.err != nil || a.approval.Workflow == "" || a.approval.Status != api.ApprovalStatusApproved {
		return nil
	}
	line := "workflow " + a.approval.Workflow
	return m.left(func() tea.Msg { return Left{Line: line} })
}

// left returns a command that leaves the screen, unless an answer is being sent.
func (m *model) left(leave tea.Cmd) tea.Cmd {
	if m.unheard(0) != nil {
		m.say(m.theme.Warn, "an answer is being sent; press ctrl+c to quit anyway")
		return nil
	}
	return leave
}
