package review

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// backend returns the commands of the screen. The requester implements it; tests use a fake.
type backend interface {
	beat() tea.Cmd
	lookAgain(turn int) tea.Cmd
	After(wait time.Duration, msg tea.Msg) tea.Cmd
	list(where scope) tea.Cmd
	open(id string, several bool) tea.Cmd
	explain(plan string) tea.Cmd
	respond(id string, r api.Response) tea.Cmd
	workflow(id, install string) tea.Cmd
	ruleOn(w api.Workflow) tea.Cmd
	assign(id string, to api.Assignment) tea.Cmd
}

// focus is the pane that movement keys act on.
type focus uint8

const (
	onQueue focus = iota
	onDiff
)

// mode is what the screen currently does with keys.
type mode uint8

const (
	reviewing  mode = iota
	confirming      // a typed name or number confirms the approval of a grave plan or of several
	wholly          // a typed name confirms the approval of a whole workflow
	rejecting       // the user types the reason
	stopped         // a question was withdrawn; keys are ignored until enter or esc
	searching
	filtering // the user types the words that plans in the queue must contain
	helping
	explaining
	onRules // the rules behind a plan
)

// model is the state of the screen. Update and View are pure: input comes only
// from messages and the clock.
type model struct {
	ask   backend
	keys  keyMap
	theme *theme
	clock func() time.Time
	place string // the control plane's host

	width, height int
	mode          mode
	focus         focus
	queue         queue
	overlay       scroller // help, or the causes of a plan
	typed         entry    // what is being typed
	query         matcher  // what is searched for
	found         int      // the line of the current match, -1 for none
	note          cell     // what the last key did
	counting      bool     // the note counts the waiting plans
	noted         time.Time
	now           time.Time

	side    bool                    // show the two sides of a diff next to each other
	covered []queuedAnswer          // the plans that the open question is about
	missed  []string                // installs that left the question since it was asked
	outbox  []queuedAnswer          // answers that have not been sent yet
	flight  map[string]queuedAnswer // answers in flight, by approval id

	begin   tea.Cmd   // the command that Init runs besides the beat
	leave   tea.Cmd   // the command that closes the screen
	part    bool      // the screen is a part of a larger program
	looking bool      // a poll of the queue is in flight
	turn    int       // the number of the current poll, so that only one is ever scheduled
	heard   time.Time // time of the last successful poll
	lost    time.Time // when polls started to fail; zero while they succeed
	why     error     // the error of the last failed poll
	large   bool      // the queue has several pages, so the full list is polled less often
	full    time.Time // time of the last poll of the full list
	busy    []string

	following string    // id of the approval whose workflow opens when it is approved
	many      bool      // the open question is about the marked plans
	apart     []string  // marked plans that the open question leaves out, with the reasons
	judging   int       // reports in flight that judge marked plans
	assigning assigning // the assignment in flight

	opening string       // id of the workflow that is being fetched for a question; empty if none
	whole   planned      // the workflow that the open question is about
	ruling  api.Workflow // the workflow whose approval is in flight

	given       []api.Approval // approvals answered on this screen
	approved    []api.Workflow // workflows approved as a whole on this screen
	interrupted bool
}

const (
	// maxNames is the maximum number of install names above a report.
	maxNames = 12
	// justNow is how long a plan must have been on the screen before it can be
	// answered. An earlier key press was meant for what was shown before.
	justNow = 400 * time.Millisecond
	// noteFor is how long the footer shows the result of a key.
	noteFor = 8 * time.Second
	// staleAfter is how long the result of a poll counts as current.
	staleAfter = 12 * time.Second
	// fullEvery is how often all of a large queue is polled; in between only
	// the selected row's scope is.
	fullEvery = 10 * time.Second
)

func newModel(ask backend, t *theme, place string, clock func() time.Time, first listed) *model {
	m := &model{ask: ask, keys: newKeys(), theme: t, clock: clock,
		place: place, now: clock(), found: -1, leave: tea.Quit, flight: map[string]queuedAnswer{}}
	m.begin = m.listed(first)
	return m
}

// Init starts the clock, schedules the next poll and fetches the first report.
func (m *model) Init() tea.Cmd { return tea.Batch(m.ask.beat(), m.begin) }

// Update handles one message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.now = m.clock()
	cmd := m.update(msg)
	m.dropMarks()
	m.prune()
	m.arrange()
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.mode == helping {
			m.overlay.preface = m.help()
		}
		m.closeCutWhole()
	case tea.KeyMsg:
		return m.pressed(msg)
	case tea.ResumeMsg:
		return m.look()
	case beat:
		return m.ask.beat()
	case due:
		if msg.turn == m.turn {
			return m.look()
		}
	case rested:
		if at := m.queue.current(); at.id() == msg.id {
			return m.fetch()
		}
	case listed:
		return m.listed(msg)
	case opened:
		return tea.Batch(m.opened(msg), m.judge(msg))
	case assigned:
		m.assigned(msg)
	case explained:
		m.explained(msg)
	case answered:
		return m.answered(msg)
	case planned:
		m.planned(msg)
	case ruled:
		return m.ruled(msg)
	}
	return nil
}

// live reports whether the screen shows the current state of the queue.
func (m *model) live() bool { return m.lost.IsZero() && m.now.Sub(m.heard) < staleAfter }

// look polls the queue, unless a poll is already in flight.
func (m *model) look() tea.Cmd {
	if m.looking {
		return nil
	}
	m.looking = true
	if at := m.queue.current(); m.large && !at.none() && m.now.Sub(m.full) < fullEvery {
		return m.ask.list(at.scope())
	}
	return m.ask.list(scope{})
}

// listed merges the result of a poll and schedules the next one.
func (m *model) listed(l listed) tea.Cmd {
	m.looking = false
	m.turn++
	again := m.ask.lookAgain(m.turn)
	if l.err != nil {
		if m.lost.IsZero() {
			m.lost = m.now
		}
		m.why = l.err
		return again
	}
	m.heard, m.lost, m.why = m.now, time.Time{}, nil
	if l.where.all() {
		m.large, m.full, m.busy = l.large, m.now, l.busy
	}
	were := len(m.queue.items)
	gone, changed := m.queue.merge(m.now, l)
	if len(gone) > 0 || len(m.queue.items) != were {
		m.uncount()
	}
	if at := m.queue.current(); at.item != nil && slices.Contains(changed, at.item) {
		m.say(m.theme.Warn, "the plan has changed; read it again")
	}
	m.preface()
	return tea.Batch(again, m.fetch(), m.fates())
}

// maxEndedPlans is the maximum number of ended plans that are fetched at once.
const maxEndedPlans = 20

// fates fetches plans that no longer wait, to learn how they ended: the list
// of waiting plans only omits them.
func (m *model) fates() tea.Cmd {
	var cmds []tea.Cmd
	for _, i := range m.queue.items {
		if len(cmds) == maxEndedPlans {
			break
		}
		if i.ended && !i.settled && !i.loading {
			i.loading, i.planID = true, i.approval.ID
			cmds = append(cmds, m.ask.open(i.approval.ID, false))
		}
	}
	return tea.Batch(cmds...)
}

// fetch requests the report of the selected row if it is not loaded, or how
// its plan ended if that is unknown.
func (m *model) fetch() tea.Cmd {
	at := m.queue.current()
	if at.none() {
		return nil
	}
	r := at.reading()
	r.seen = m.now
	if r.loading || at.read() || r.failed != nil && !m.live() {
		return nil
	}
	lead := at.lead()
	r.loading, r.planID = true, lead.approval.ID
	return m.ask.open(lead.approval.ID, at.several())
}

// opened stores a fetched plan and shows its report, for the plan or for its group.
func (m *model) opened(o opened) (cmd tea.Cmd) {
	i := m.queue.find(o.id)
	if i != nil && o.err == nil {
		cmd = m.heardOf(i, o.approval)
	}
	if !o.several {
		if i != nil {
			m.show(row{item: i}, o)
		}
		return cmd
	}
	for _, g := range m.queue.groups {
		if g.loading && g.planID == o.id {
			m.show(row{group: g}, o)
		}
	}
	return cmd
}

// heardOf stores the current state of a plan. If it has the answer that is in flight, that is the result, which
// may arrive before the response: the control plane continues the workflow before it responds.
func (m *model) heardOf(i *item, a api.Approval) tea.Cmd {
	if l, sent := m.flight[a.ID]; sent && l.recorded(a) {
		return m.answered(answered{id: a.ID, answer: l.batch.answer, approval: a})
	}
	if a.ContentDigest != i.approval.ContentDigest {
		i.since = m.now
	}
	if i.approval = a; a.Status == api.ApprovalStatusWaiting {
		i.ended = false
		return nil
	}
	i.end(m.now, true)
	return nil
}

// show displays a row's report. A report that is already shown keeps its scroll position.
func (m *model) show(at row, o opened) {
	r := at.reading()
	if r.loading, r.failed = false, o.err; o.err != nil || r.view != nil && r.shown == o.approval.ContentDigest {
		return
	}
	r.flaw, r.report, r.shown, r.arrived = o.flaw, o.report, o.approval.ContentDigest, m.now
	r.view = &scroller{document: document{page: o.page}}
	r.view.preface = preface(at)
	if o.flaw == nil && at.item != nil {
		at.item.totals, at.item.counted = o.report.Totals, true
	}
	m.found = -1
	m.queue.forget()
}

// choose selects row n of the queue.
func (m *model) choose(n int) tea.Cmd {
	n = min(max(n, 0), len(m.queue.rows)-1)
	if n < 0 || n == m.queue.selected {
		return nil
	}
	m.queue.selected = n
	return m.chosen()
}

// chosen schedules the fetch of the report of the row that was just selected.
func (m *model) chosen() tea.Cmd {
	m.found = -1
	at := m.queue.current()
	if at.none() {
		return nil
	}
	at.reading().seen = m.now
	if at.read() {
		return nil
	}
	return m.ask.After(restAfter, rested{at.id()})
}

// pressed handles a key.
func (m *model) pressed(msg tea.KeyMsg) tea.Cmd {
	if key.Matches(msg, m.keys.interrupt) {
		m.interrupted = true
		return tea.Quit
	}
	if now, said := m.theme.BackgroundReport(msg); said {
		m.theme = now
		return nil
	}
	if key.Matches(msg, m.keys.erase) {
		return tea.ClearScreen
	}
	if key.Matches(msg, m.keys.suspend) {
		if !screen.CanSuspend() {
			m.say(m.theme.Warn, "cannot suspend: no shell")
			return nil
		}
		return tea.Suspend
	}
	if m.small() {
		if key.Matches(msg, m.keys.quit) {
			return m.leave
		}
		return nil
	}
	switch m.mode {
	case confirming, wholly, rejecting, searching, filtering, stopped:
		return m.asked(msg)
	}
	if rest, goes := strings.CutPrefix(string(msg.Runes), ":"); goes && rest != "" && !msg.Paste &&
		m.mode == reviewing && m.keys.palette.Enabled() { // keys that are typed fast arrive as one message
		return m.goTo(rest)
	}
	var cmds []tea.Cmd
	for _, one := range m.keys.single(msg) {
		m.note, m.opening, m.following = cell{}, "", ""
		if m.mode == helping || m.mode == explaining || m.mode == onRules {
			m.read(one)
		} else {
			cmds = append(cmds, m.command(one))
		}
	}
	return tea.Batch(cmds...)
}

// read handles a key while the overlay (help or causes) is open.
func (m *model) read(msg tea.KeyMsg) {
	switch {
	case key.Matches(msg, m.keys.quit, m.keys.back, m.keys.help, m.keys.why, m.keys.rules, m.keys.open):
		m.mode = reviewing
	default:
		m.moved(&m.overlay, msg)
	}
}

// command handles a key of the main screen.
func (m *model) command(msg tea.KeyMsg) tea.Cmd {
	k := m.keys
	switch {
	case key.Matches(msg, k.quit):
		return m.left(m.leave)
	case key.Matches(msg, k.palette):
		return m.goTo("")
	case key.Matches(msg, k.help):
		m.mode, m.overlay = helping, scroller{document: document{preface: m.help()}}
	case key.Matches(msg, k.focus):
		m.focus = onDiff - m.focus
	case key.Matches(msg, k.nextPlan):
		return m.choose(m.queue.selected + 1)
	case key.Matches(msg, k.prevPlan):
		return m.choose(m.queue.selected - 1)
	case key.Matches(msg, k.open):
		return m.enter()
	case key.Matches(msg, k.members):
		return m.members()
	case key.Matches(msg, k.side):
		if m.side = !m.side; m.side && m.width < sideBySide {
			m.say(m.theme.Warn, fmt.Sprintf("side by side needs %d columns, the screen has %d", sideBySide, m.width))
		}
	case m.focus == onQueue && key.Matches(msg, k.mark):
		return m.markRow()
	case m.focus == onQueue && key.Matches(msg, k.markAll):
		return m.markAll()
	case key.Matches(msg, k.take):
		return m.assign(Me)
	case key.Matches(msg, k.untake):
		return m.assign("")
	case key.Matches(msg, k.whose):
		return m.nextAssignee()
	case key.Matches(msg, k.rules):
		m.showRules()
	case key.Matches(msg, k.back) && m.focus == onQueue && m.queue.unmark():
		return nil
	case key.Matches(msg, k.back) && m.focus == onQueue && len(m.queue.filter) > 0:
		return m.setFilter("")
	case key.Matches(msg, k.back):
		if m.part && m.query == "" && m.focus == onQueue {
			return m.left(m.leave)
		}
		m.query, m.found = "", -1
		m.focus = onQueue
	case key.Matches(msg, k.approve):
		return m.approve()
	case key.Matches(msg, k.approveFollow):
		return m.approveAndFollow()
	case key.Matches(msg, k.approveWhole):
		return m.approveWhole()
	case key.Matches(msg, k.reject):
		m.reject()
	case key.Matches(msg, k.why):
		return m.whyPlan()
	default:
		return m.browse(msg)
	}
	return nil
}

// enter moves the focus from the queue to the diff, or from an ended plan to the next waiting one.
func (m *model) enter() tea.Cmd {
	at := m.queue.current()
	if at.none() {
		return nil
	}
	if !at.ended() {
		m.focus = onDiff
		return nil
	}
	next := m.queue.next()
	if next < 0 {
		m.say(m.theme.Faint, "no other plans waiting")
		return nil
	}
	return m.choose(next)
}

// members opens or closes the group of the selected row.
func (m *model) members() tea.Cmd {
	was := m.queue.current()
	if !m.queue.toggle() {
		m.say(m.theme.Faint, "no other plan is like this one")
		return nil
	}
	if m.queue.current() == was {
		return nil
	}
	return m.chosen()
}

// browse handles a key that moves in the queue or in the diff.
func (m *model) browse(msg tea.KeyMsg) tea.Cmd {
	at, k := m.queue.current(), m.keys
	if m.focus == onQueue {
		switch {
		case key.Matches(msg, k.down):
			return m.choose(m.queue.selected + 1)
		case key.Matches(msg, k.up):
			return m.choose(m.queue.selected - 1)
		case key.Matches(msg, k.top):
			return m.choose(0)
		case key.Matches(msg, k.bottom):
			return m.choose(len(m.queue.rows) - 1)
		case key.Matches(msg, k.filter):
			m.mode, m.typed = filtering, entry{}
			m.typed.Set(strings.Join(m.queue.filter, " "))
			return nil
		}
	}
	if at.none() || at.reading().view == nil {
		return nil
	}
	view := at.reading().view
	switch {
	case key.Matches(msg, k.nextChange):
		m.step(view, 1, "last change")
	case key.Matches(msg, k.prevChange):
		m.step(view, -1, "first change")
	case key.Matches(msg, k.fold):
		if !view.fold(false) {
			m.say(m.theme.Faint, "nothing is folded in this change")
		}
	case key.Matches(msg, k.foldAll):
		view.fold(true)
	case key.Matches(msg, k.search):
		m.mode, m.typed = searching, entry{}
	case key.Matches(msg, k.nextMatch):
		m.match(view, 1)
	case key.Matches(msg, k.prevMatch):
		m.match(view, -1)
	default:
		m.moved(view, msg)
	}
	return nil
}

func (m *model) step(v *scroller, by int, none string) {
	if v.changes() > 0 && !v.step(by) {
		m.say(m.theme.Faint, none)
	}
	m.focus = onDiff
}

// match moves to the next match of the search.
func (m *model) match(v *scroller, by int) {
	from := v.top.line
	if m.found >= 0 {
		from = m.found + by
	}
	if m.query == "" {
		m.say(m.theme.Faint, "no search yet: press /")
		return
	}
	line, ok := v.find(string(m.query), from, by)
	if !ok {
		m.say(m.theme.Warn, fmt.Sprintf("%q not found", string(m.query)))
		m.found = -1
		return
	}
	if m.found >= 0 && (by > 0) != (line > m.found) {
		m.say(m.theme.Faint, "continued from the other end")
	}
	m.found = line
}

// moved handles a key that scrolls a pane.
func (m *model) moved(v *scroller, msg tea.KeyMsg) {
	k := m.keys
	switch {
	case key.Matches(msg, k.down):
		v.move(1)
	case key.Matches(msg, k.up):
		v.move(-1)
	case key.Matches(msg, k.pageDown):
		v.move(max(v.height-1, 1))
	case key.Matches(msg, k.pageUp):
		v.move(-max(v.height-1, 1))
	case key.Matches(msg, k.top):
		v.home()
	case key.Matches(msg, k.bottom):
		v.end()
	}
}

// say shows a message in the footer.
func (m *model) say(s style, text string) {
	m.note, m.noted, m.counting = cell{console.Line(text), s}, m.now, false
}

// uncount clears a note that counts the waiting plans when that number has changed.
func (m *model) uncount() {
	if m.counting {
		m.note, m.counting = cell{}, false
	}
}
