package review

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file marks several plans of the queue, and answers them together. The answer is that of
// `nuon approve --all`: it always requires the number of plans to be typed, and leaves out
// what needs a separate answer.

// isMarked reports whether a plan is marked, and still waits with the content that it had then.
func (i *item) isMarked() bool { return i.mark != "" && !i.ended && i.mark == i.approval.ContentDigest }

// marked returns the marked plans.
func (q *queue) marked() []*item {
	var out []*item
	for _, i := range q.items {
		if i.isMarked() {
			out = append(out, i)
		}
	}
	return out
}

// unmark removes all marks, and reports whether there were any.
func (q *queue) unmark() (any bool) {
	for _, i := range q.items {
		any = any || i.mark != ""
		i.mark = ""
	}
	return any
}

// markRow marks the plans of the selected row or, if all are marked, removes their marks, and selects
// the next row.
func (m *model) markRow() tea.Cmd {
	at := m.queue.current()
	if at.none() || at.ended() {
		m.say(m.theme.Faint, "this plan is no longer waiting")
		return nil
	}
	toggleMarks(at.covers())
	next := m.choose(m.queue.selected + 1)
	return tea.Batch(m.judgeMarked(), next)
}

// markAll marks all plans that the queue shows or, if all are marked, none.
func (m *model) markAll() tea.Cmd {
	var all []*item
	found := map[*item]bool{} // the plans of an open group have rows, too
	for _, r := range m.queue.rows {
		for _, i := range r.covers() {
			if !i.ended && !found[i] {
				found[i] = true
				all = append(all, i)
			}
		}
	}
	toggleMarks(all)
	return m.judgeMarked()
}

func toggleMarks(items []*item) {
	on := slices.ContainsFunc(items, func(i *item) bool { return i.mark == "" })
	for _, i := range items {
		if i.mark = ""; on {
			i.mark = i.approval.ContentDigest
		}
	}
}

// dropMarks removes the marks of plans that ended or changed, and says so.
func (m *model) dropMarks() {
	var left []string
	for _, i := range m.queue.items {
		switch {
		case i.mark == "" || i.isMarked():
			continue
		case !i.ended:
			left = append(left, name(i.approval))
		}
		i.mark = ""
	}
	if len(left) > 0 {
		m.say(m.theme.Warn, joinNames(left, 3)+" changed and is not selected any more")
	}
}

// maxJudged is the number of reports that are fetched at once to judge marked plans.
const maxJudged = 4

// judgeMarked fetches reports of marked plans whose risk is not known, a few at a time.
func (m *model) judgeMarked() tea.Cmd {
	var cmds []tea.Cmd
	for _, i := range m.queue.marked() {
		if m.judging >= maxJudged {
			break
		}
		if i.judged || i.judging {
			continue
		}
		i.judging = true
		m.judging++
		cmds = append(cmds, m.ask.open(i.approval.ID, false))
	}
	return tea.Batch(cmds...)
}

// judge stores the risk of a plan whose report arrived. A report that cannot be shown correctly is not
// approved together with others.
func (m *model) judge(o opened) tea.Cmd {
	i := m.queue.find(o.id)
	if i == nil {
		return nil
	}
	if i.judging {
		i.judging = false
		m.judging--
	}
	if o.err == nil {
		i.judged, i.flawed = true, o.flaw != nil
		if o.flaw == nil {
			i.risk, i.destructive = o.report.Risk(), o.report.Destructive()
			i.totals, i.counted = o.report.Totals, true
		}
	}
	return m.judgeMarked()
}

// alone returns why a plan cannot be approved together with others, or "".
func (i *item) alone() string {
	a := i.approval
	switch {
	case i.totals.Denied > 0:
		return "a policy denies it"
	case a.Destroy || a.Destructive || i.destructive || i.grave():
		return "destroys, replaces or restores something"
	case a.Kind == api.ApprovalKindSettings:
		return "loosens settings"
	case a.IndividualApproval || i.flawed:
		return "needs a separate approval"
	}
	return ""
}

// approveMarked opens the question about the approval of the marked plans.
func (m *model) approveMarked() tea.Cmd {
	items := m.queue.marked()
	if !m.live() {
		m.say(m.theme.Warn, "control plane unreachable: cannot check that the plans are still waiting")
		return nil
	}
	if slices.ContainsFunc(items, (*item).answering) {
		m.say(m.theme.Warn, "the answer is being sent")
		return nil
	}
	if slices.ContainsFunc(items, func(i *item) bool { return !i.judged }) {
		m.say(m.theme.Warn, "the selected plans are not loaded yet")
		return m.judgeMarked()
	}
	m.covered, m.missed, m.apart = nil, nil, nil
	for _, i := range items {
		if why := i.alone(); why != "" {
			m.apart = append(m.apart, name(i.approval)+" ("+why+")")
			continue
		}
		m.covered = append(m.covered, queuedAnswer{to: i, digest: i.mark})
	}
	if len(m.covered) == 0 {
		m.say(m.theme.Warn, "approve them one by one: "+joinNames(m.apart, 2))
		return nil
	}
	m.many, m.mode, m.typed = true, confirming, entry{}
	return nil
}

// rejectMarked opens the question about the reason for rejecting the marked plans.
func (m *model) rejectMarked() {
	if !m.live() {
		m.say(m.theme.Warn, "control plane unreachable: cannot check that the plans are still waiting")
		return
	}
	m.covered, m.missed, m.apart = nil, nil, nil
	for _, i := range m.queue.marked() {
		m.covered = append(m.covered, queuedAnswer{to: i, digest: i.mark})
	}
	m.many, m.mode, m.typed = true, rejecting, entry{}
}

// selection summarizes marked plans: their number, changes and highest risk.
func selection(items []*item) string {
	var sum diff.Totals
	risk, judged := diff.RiskNone, 0
	for _, i := range items {
		sum = sum.Plus(i.totals)
		if i.judged && !i.flawed {
			risk = max(risk, i.risk)
			judged++
		}
	}
	text := diff.Plural(len(items), "plan", "plans") + " selected"
	if changes := sum.Brief(); changes != "" {
		text += ": " + changes
	}
	if judged < len(items) {
		return fmt.Sprintf("%s; risk of %d of them is not known yet", text, len(items)-judged)
	}
	return text + "; highest risk: " + risk.Label()
}

// manySheet returns the rows of a question about marked plans.
func (m *model) manySheet() []strip {
	t := m.theme
	items := make([]*item, 0, len(m.covered))
	names := make([]string, 0, len(m.covered))
	for _, l := range m.covered {
		items = append(items, l.to)
		names = append(names, name(l.to.approval))
	}
	verb := "approve "
	if m.mode == rejecting {
		verb = "reject "
	}
	out := []strip{m.rule(m.width, verb+diff.Plural(len(items), "selected plan", "selected plans"), true, ""),
		{{"  " + selection(items) + ".", ""}}}
	room := m.height - otherRows
	add := func(label string, names []string, most int, ink style) {
		if len(names) > 0 && len(out) < room {
			out = append(out, strip{{"  " + label + console.Line(joinNames(names, most)), ink}})
		}
	}
	add("Left out: ", m.apart, 2, t.Warn)
	add("Changed after they were shown, and not answered: ", m.missed, 3, t.Warn)
	add("", names, max(m.width/25, 1), t.Faint)
	if m.mode == rejecting {
		return append(out, strip{{"  Reason (shown to everyone; the same changes are not requested again):", t.Faint}},
			append(strip{{"  > ", t.Accent}}, m.typed.Show(m.width-6)...))
	}
	return append(out, append(strip{{"  Type ", ""}, {m.word(), t.Strong}, {" to approve: ", ""}},
		m.typed.Show(max(m.width-24-len(m.word()), 10))...))
}

// selectionSheet returns the row about the marked plans while no question is open.
func (m *model) selectionSheet() []strip {
	items := m.queue.marked()
	if len(items) == 0 {
		return nil
	}
	return []strip{{{" " + strings.TrimSpace(selection(items)), m.theme.Notice}}}
}
