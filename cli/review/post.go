package review

import (
	"errors"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file sends answers. An answer to a group becomes one request per plan, a few
// at a time, each bound to the content that its plan had when the user answered.

// queuedAnswer is a queued answer to one plan.
type queuedAnswer struct {
	to     *item
	digest string
	batch  *batch
}

// response returns the request body, which names the plan and the displayed content digest.
func (l queuedAnswer) response() api.Response {
	return api.Response{
		Answer: l.batch.answer, Plan: l.to.approval.Plan, ContentDigest: l.digest, Reason: l.batch.reason}
}

// holds reports whether the plan still waits with the content that was answered.
func (l queuedAnswer) holds() bool { return !l.to.ended && l.to.approval.ContentDigest == l.digest }

// recorded reports whether a plan ended with this answer.
func (l queuedAnswer) recorded(a api.Approval) bool {
	return a.Status != api.ApprovalStatusWaiting && a.ContentDigest == l.digest &&
		a.Response.Answer == string(l.batch.answer) && a.Response.Reason == l.batch.reason
}

// batch is one answer of a person, which covers one or more plans.
type batch struct {
	answer api.ResponseAnswer
	reason string
	lead   api.Approval // one of the plans, for messages
	all    int
	many   bool     // the plans were marked, and need not be alike
	done   int      // number of accepted answers
	left   []string // installs whose answer failed or was not sent
	err    error    // the first error
}

// maxAtOnce is the maximum number of answers in flight.
const maxAtOnce = 6

// errPlanChanged is the error of an answer that was not sent because its plan had ended or changed.
var errPlanChanged = errors.New("it changed after it was shown")

// post sends queued answers up to the limit of answers in flight.
func (m *model) post() tea.Cmd {
	var cmds []tea.Cmd
	for len(m.outbox) > 0 && len(m.flight) < maxAtOnce {
		l := m.outbox[0]
		m.outbox = m.outbox[1:]
		l.to.queued = false
		if !l.holds() {
			l.batch.miss(l, errPlanChanged)
			continue
		}
		l.to.sending = true
		m.flight[l.to.approval.ID] = l
		cmds = append(cmds, m.ask.respond(l.to.approval.ID, l.response()))
	}
	return tea.Batch(cmds...)
}

// miss records an answer that failed or was not sent.
func (b *batch) miss(l queuedAnswer, err error) {
	if b.many {
		b.left = append(b.left, name(l.to.approval))
	} else {
		b.left = append(b.left, l.to.approval.Install)
	}
	if b.err == nil {
		b.err = err
	}
}

// withhold removes the unsent answers of a batch from the queue.
func (m *model) withhold(b *batch, err error) {
	keep := m.outbox[:0:0]
	for _, l := range m.outbox {
		if l.batch != b {
			keep = append(keep, l)
			continue
		}
		l.to.queued = false
		b.miss(l, err)
	}
	m.outbox = keep
}

// answered handles the result of an answer. If a single answer failed, the plan is
// fetched: somebody else may have answered first. If the control plane is unreachable, the
// rest of the batch is not sent.
func (m *model) answered(a answered) tea.Cmd {
	l, sent := m.flight[a.id]
	if !sent {
		return nil
	}
	delete(m.flight, a.id)
	i, b := l.to, l.batch
	i.sending = false
	var look tea.Cmd
	if a.err == nil {
		a.approval.Group = i.approval.Group // so that the plan stays in its row
		i.approval = a.approval
		i.end(m.now, true)
		b.done++
		m.given = append(m.given, a.approval)
	} else {
		b.miss(l, a.err)
		if b.all == 1 {
			i.loading = true
			look = m.ask.open(a.id, false)
		}
		if exitcode.CodeOf(a.err) == exitcode.Unreachable {
			m.withhold(b, a.err)
		}
	}
	more := m.post()
	m.tell(b)
	m.preface()
	if len(m.flight) == 0 {
		look = tea.Batch(look, m.look())
	}
	return tea.Batch(look, more, m.follow(a))
}

// tell shows the progress of a batch, or its result.
func (m *model) tell(b *batch) {
	over := b.done+len(b.left) == b.all
	switch {
	case !over:
		m.say(m.theme.Faint, fmt.Sprintf("%s: answered %d of %d", b.subject(), b.done, b.all))
	case b.all == 1 && b.err != nil:
		m.say(m.theme.Bad, firstLine(b.err))
	case b.err != nil:
		m.say(m.theme.Bad, fmt.Sprintf(
			"%s: %s on %d of %d; not %s: %s",
			b.past(), b.subject(), b.done, b.all, joinNames(b.left, 3), firstLine(b.err)))
	default:
		m.say(m.theme.Good, fmt.Sprintf("%s: %s%s", b.past(), b.name(), m.leftOver()))
		m.counting = true
	}
}

// past returns the answer as an approval status: "approved" or "rejected".
func (b *batch) past() string {
	if b.answer == api.ResponseAnswerApprove {
		return string(api.ApprovalStatusApproved)
	}
	return string(api.ApprovalStatusRejected)
}

// subject names what the plans are about.
func (b *batch) subject() string {
	if b.many {
		return "selected plans"
	}
	return Subject(b.lead)
}

func (b *batch) name() string {
	if b.many {
		return diff.Plural(b.done, "selected plan", "selected plans")
	}
	if b.all == 1 {
		return name(b.lead)
	}
	return console.Line(fmt.Sprintf("%s on %s of %s",
		Subject(b.lead), diff.Plural(b.done, "install", "installs"), b.lead.App))
}

// leftOver describes how many plans still wait.
func (m *model) leftOver() string {
	switch left, _ := m.queue.waiting(); left {
	case 0:
		return "; no other plans waiting"
	case 1:
		return "; one more plan waiting, press enter for it"
	default:
		return fmt.Sprintf("; %d more plans waiting, press enter for the next", left)
	}
}

// maxUnanswered is the maximum number of in-flight answers that unheard names.
const maxUnanswered = 10

// unheard returns an error that names the answers that were in flight when the screen closed,
// whose result is unknown, and that counts the unsent ones. It is nil if there are none.
func (m *model) unheard(code int) error {
	var errs []error
	for _, i := range m.queue.items {
		if i.sending && len(errs) < maxUnanswered {
			errs = append(errs, fmt.Errorf(
				"the answer to %s was being sent; check with `nuon review %s --print` whether it arrived",
				name(i.approval), i.approval.ID))
		}
	}
	if n := len(m.outbox); n > 0 {
		errs = append(errs, fmt.Errorf(
			"%s not sent; see what is still waiting with `nuon review`", diff.Plural(n, "answer was", "answers were")))
	}
	if err := m.unheardWhole(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return exitcode.With(code, errors.Join(errs...))
}
