package review

import (
	"errors"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// refusal is why the chosen plan cannot be answered now, in words; empty when it can. What a person says yes to must be on the
// screen, and be what waits.
func (m *model) refusal(answer api.ResponseAnswer) string {
	i := m.queue.current()
	switch {
	case i == nil:
		return "nothing waits for an answer"
	case i.sending:
		return "the answer is on its way"
	case i.ended:
		return "it no longer waits, so it cannot be answered; enter goes to the next"
	case i.view == nil || i.shown == "":
		return "it has not been read yet"
	case m.now.Sub(i.arrived) < justNow:
		return "it has only just come up; read it first"
	case i.flaw != nil && answer == api.ResponseAnswerApprove:
		return "its report does not hold, so it cannot be approved; it can be rejected"
	case !m.live():
		return "the control plane does not answer, so nobody knows whether this still waits"
	}
	return ""
}

// name is what a plan is called.
func name(a api.Approval) string {
	return console.Line(fmt.Sprintf("%s on %s/%s", a.Component, a.App, a.Install))
}

// approve says yes, or asks once more before a grave yes.
func (m *model) approve() tea.Cmd {
	if no := m.refusal(api.ResponseAnswerApprove); no != "" {
		m.say(m.theme.warn, no)
		return nil
	}
	if m.queue.current().grave() {
		m.mode, m.typed = confirming, entry{}
		return nil
	}
	return m.send(api.ResponseAnswerApprove, "")
}

// reject asks for the reason.
func (m *model) reject() {
	if no := m.refusal(api.ResponseAnswerReject); no != "" {
		m.say(m.theme.warn, no)
		return
	}
	m.mode, m.typed = rejecting, entry{}
}

// send gives the answer, bound to what is shown.
func (m *model) send(answer api.ResponseAnswer, reason string) tea.Cmd {
	i := m.queue.current()
	m.mode = reviewing
	if no := m.refusal(answer); no != "" {
		m.say(m.theme.warn, no)
		return nil
	}
	i.sending = true
	return m.ask.respond(i.approval.ID, api.Response{Answer: answer, ContentDigest: i.shown, Reason: reason})
}

// asked is a key while something is being typed.
func (m *model) asked(msg tea.KeyMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		m.mode = reviewing
	case "enter":
		return m.typedIn(strings.TrimSpace(m.typed.String()))
	default:
		m.typed.press(msg)
	}
	return nil
}

// typedIn is the end of typing.
func (m *model) typedIn(text string) tea.Cmd {
	i := m.queue.current()
	switch m.mode {
	case stopped:
		m.mode = reviewing
	case searching:
		m.mode, m.query, m.found = reviewing, matcher(text), -1
		if text != "" && i != nil && i.view != nil {
			m.match(i.view, 1)
		}
	case rejecting:
		if text != "" {
			return m.send(api.ResponseAnswerReject, text)
		}
	case confirming:
		if i == nil || text != i.approval.Component {
			m.typed = entry{}
			return nil
		}
		return m.send(api.ResponseAnswerApprove, "")
	}
	return nil
}

// answered takes in what became of an answer. One that was refused is looked up: somebody else may have been first.
func (m *model) answered(a answered) tea.Cmd {
	i := m.queue.find(a.id)
	if i == nil {
		return nil
	}
	i.sending = false
	if a.err != nil {
		m.say(m.theme.bad, firstLine(a.err))
		i.loading = true
		return tea.Batch(m.ask.open(a.id), m.look())
	}
	i.approval = a.approval
	i.end(m.now, true)
	m.given = append(m.given, a.approval)
	words := fmt.Sprintf("%s: %s", a.approval.Status, name(a.approval))
	switch left, _ := m.queue.waiting(); left {
	case 0:
		words += "; nothing else waits"
	case 1:
		words += "; one more waits, enter goes to it"
	default:
		words += fmt.Sprintf("; %d more wait, enter goes to the next", left)
	}
	m.say(m.theme.good, words)
	return m.look()
}

// unheard names the answers that were on their way when the screen closed: nobody here knows whether they arrived.
func (m *model) unheard(code int) error {
	var errs []error
	for _, i := range m.queue.items {
		if i.sending {
			errs = append(errs, fmt.Errorf("the answer to %s was on its way: `nuon review %s --print` tells whether it arrived", name(i.approval), i.approval.ID))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return exit.With(code, errors.Join(errs...))
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// whyPlan opens the chain of reasons of the chosen plan.
func (m *model) whyPlan() tea.Cmd {
	i := m.queue.current()
	if i == nil {
		return nil
	}
	m.mode = explaining
	m.overlay = scroller{document: document{preface: []paragraph{{"  ", []terminal.Span{{Text: "reading why …", Ink: terminal.Faint}}}}}}
	return m.ask.explain(i.approval.Plan)
}

func (m *model) explained(x explained) {
	if i := m.queue.current(); m.mode != explaining || i == nil || i.approval.Plan != x.plan {
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
			what = c.Name // which says already what it is
		}
		below := strings.Repeat(" ", terminal.Columns(arrow))
		out = append(out, paragraph{"  ", []terminal.Span{{Text: arrow, Ink: terminal.Faint}, {Text: console.Line(what), Ink: terminal.Bold}, {Text: at, Ink: terminal.Faint}}})
		out = append(out, paragraph{"  " + below, []terminal.Span{{Text: console.Line(c.Reason)}}})
	}
	if x.err != nil {
		out = []paragraph{{"  ", []terminal.Span{{Text: console.Line(firstLine(x.err)), Ink: terminal.Warn}}}}
		if exit.CodeOf(x.err) == exit.Unreachable {
			out = append(out, paragraph{"  ", []terminal.Span{{Text: "press w again in a while", Ink: terminal.Faint}}})
		}
	}
	m.overlay = scroller{document: document{preface: out}}
}
