package review

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// refusal returns why the selected row cannot be answered now, or "" if it can. A person
// may only approve what is on the screen and still waits.
func (m *model) refusal(answer api.ResponseAnswer) string {
	at := m.queue.current()
	switch {
	case at.none() && len(m.queue.filter) > 0:
		return "no plan is shown; press esc to show all"
	case at.none():
		return "no plans waiting"
	case at.answering():
		return "the answer is being sent"
	case at.ended() && at.several():
		return "these plans are no longer waiting; press enter for the next"
	case at.ended():
		return "this plan is no longer waiting; press enter for the next"
	}
	r := at.reading()
	switch {
	case r.view == nil || r.shown == "":
		return "the plan is not loaded yet"
	case m.now.Sub(r.arrived) < justNow:
		return "the plan has just appeared; read it first"
	case m.now.Sub(at.since()) < justNow:
		return "the group has just changed; check its installs"
	case answer == api.ResponseAnswerApprove && r.report != nil && r.report.Denied():
		return "a policy denies this plan, so it can only be rejected; press e for the rules"
	case r.flaw != nil && answer == api.ResponseAnswerApprove:
		return "the report is inconsistent, so the plan can only be rejected"
	case !m.live():
		return "control plane unreachable: cannot check that the plan is still waiting"
	}
	return ""
}

// name returns the display name of a plan.
func name(a api.Approval) string {
	return console.Line(fmt.Sprintf("%s on %s/%s", Subject(a), a.App, a.Install))
}

// cover records which plans the next answer is for, with the content digest that it
// binds to: for a single plan the digest that was shown; for a group each waiting
// plan with its current digest, even though only one report of the group was shown.
func (m *model) cover() {
	m.covered, m.missed, m.many = nil, nil, false
	at := m.queue.current()
	if !at.several() {
		m.covered = []queuedAnswer{{to: at.item, digest: at.item.shown}}
		return
	}
	for _, i := range at.covers() {
		m.covered = append(m.covered, queuedAnswer{to: i, digest: i.approval.ContentDigest})
	}
}

// prune removes from the open question the plans that ended or changed since it was
// asked. When none is left, the mode becomes stopped: keys are ignored until enter
// or esc, so that the rest of what the user is typing does not act on another plan.
func (m *model) prune() {
	if m.mode != confirming && m.mode != rejecting {
		return
	}
	m.covered = slices.DeleteFunc(m.covered, func(l queuedAnswer) bool {
		gone := !l.holds()
		if gone && m.many {
			m.missed = append(m.missed, name(l.to.approval))
		} else if gone {
			m.missed = append(m.missed, l.to.approval.Install)
		}
		return gone
	})
	if len(m.covered) == 0 {
		m.mode = stopped
	}
}

// approve answers one plan. For a grave plan and for several plans it opens a confirmation first.
func (m *model) approve() tea.Cmd {
	if len(m.queue.marked()) > 0 {
		return m.approveMarked()
	}
	if no := m.refusal(api.ResponseAnswerApprove); no != "" {
		m.say(m.theme.Warn, no)
		return nil
	}
	m.cover()
	if at := m.queue.current(); at.grave() || at.several() {
		m.mode, m.typed = confirming, entry{}
		return nil
	}
	return m.send(api.ResponseAnswerApprove, "")
}

// reject opens the prompt for the reason.
func (m *model) reject() {
	if len(m.queue.marked()) > 0 {
		m.rejectMarked()
		return
	}
	if no := m.refusal(api.ResponseAnswerReject); no != "" {
		m.say(m.theme.Warn, no)
		return
	}
	m.cover()
	m.mode, m.typed = rejecting, entry{}
}

// word returns the text that a person types to confirm an approval. It contains
// the number of plans, so that nobody approves more or fewer plans than intended.
func (m *model) word() string {
	at := m.queue.current()
	switch {
	case m.many:
		return ConfirmationText("", len(m.covered), false)
	case at.none():
		return ""
	}
	return ConfirmationText(Subject(at.lead().approval), len(m.covered), at.grave())
}

// send queues the answer for the covered plans, bound to the digests that cover recorded.
func (m *model) send(answer api.ResponseAnswer, reason string) tea.Cmd {
	m.mode = reviewing
	no := ""
	switch {
	case m.many && !m.live():
		no = "control plane unreachable: cannot check that the plans are still waiting"
	case !m.many:
		no = m.refusal(answer)
	}
	if no != "" {
		m.say(m.theme.Warn, no)
		return nil
	}
	b := &batch{answer: answer, reason: reason, lead: m.covered[0].to.approval, all: len(m.covered), many: m.many}
	for _, l := range m.covered {
		l.batch, l.to.queued, l.to.mark = b, true, ""
		m.outbox = append(m.outbox, l)
	}
	m.covered, m.many = nil, false
	return m.post()
}

// asked handles a key while the user types a text.
func (m *model) asked(msg tea.KeyMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		was := m.mode
		if m.mode = reviewing; was == filtering {
			return m.setFilter("")
		}
	case "enter":
		return m.typedIn(strings.TrimSpace(m.typed.String()))
	default:
		if m.typed.Press(msg); m.mode == filtering {
			return m.setFilter(m.typed.String())
		}
	}
	return nil
}

// typedIn handles enter: it acts on the typed text according to the mode.
func (m *model) typedIn(text string) tea.Cmd {
	at := m.queue.current()
	switch m.mode {
	case stopped, filtering:
		m.mode = reviewing
	case searching:
		m.mode, m.query, m.found = reviewing, matcher(text), -1
		if text != "" && !at.none() && at.reading().view != nil {
			m.match(at.reading().view, 1)
		}
	case rejecting:
		if text != "" {
			return m.send(api.ResponseAnswerReject, text)
		}
	case wholly:
		if text == m.wholeWord() {
			return m.sendWhole()
		}
		m.typed = entry{}
	case confirming:
		if at.none() && !m.many || text != m.word() {
			m.typed = entry{}
			return nil
		}
		return m.send(api.ResponseAnswerApprove, "")
	}
	return nil
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// whyPlan opens the overlay with the causes of the selected plan.
func (m *model) whyPlan() tea.Cmd {
	at := m.queue.current()
	if at.none() {
		return nil
	}
	m.mode = explaining
	m.overlay = scroller{document: document{
		preface: []paragraph{
			{"  ", []terminal.Span{{Text: "loading the reason …", Ink: terminal.Faint}}}}}}
	if at.lead().approval.Plan == "" { // scripts and settings carry their own reason
		m.overlay = scroller{document: document{
			preface: []paragraph{
				{"  ", []terminal.Span{{Text: console.Line(at.lead().approval.Reason)}}}}}}
		return nil
	}
	return m.ask.explain(at.lead().approval.Plan)
}

func (m *model) explained(x explained) {
	if m.mode != explaining ||
		!slices.ContainsFunc(m.queue.current().items(), func(i *item) bool { return i.approval.Plan == x.plan }) {
		return
	}
	var out []paragraph
	for n, c := range x.chain {
		arrow, at := "", ""
		if n > 0 {
			arrow = strings.Repeat("  ", min(n, 8)-1) + "└─ "
		}
		if !c.At.IsZero() {
			at = "   " + c.At.Local().Format("2006-01-02 15:04:05")
		}
		what := strings.ReplaceAll(c.Record, "_", " ")
		if !strings.HasPrefix(c.Name, what+" ") {
			what += " " + c.Name
		} else {
			what = c.Name // the name already contains the record type
		}
		below := strings.Repeat(" ", terminal.Columns(arrow))
		out = append(out, paragraph{"  ", []terminal.Span{
			{Text: arrow, Ink: terminal.Faint},
			{Text: console.Line(what), Ink: terminal.Bold},
			{Text: at, Ink: terminal.Faint}}})
		out = append(out, paragraph{"  " + below, []terminal.Span{{Text: console.Line(c.Reason)}}})
	}
	if x.err != nil {
		out = []paragraph{{"  ", []terminal.Span{{Text: console.Line(firstLine(x.err)), Ink: terminal.Warn}}}}
		if exitcode.CodeOf(x.err) == exitcode.Unreachable {
			out = append(out, paragraph{"  ", []terminal.Span{{Text: "press w to try again", Ink: terminal.Faint}}})
		}
	}
	m.overlay = scroller{document: document{preface: out}}
}
