package review

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file approves a workflow as a whole, under the same rules as `nuon approve --workflow`.

// NotCoveredText describes which plans of an install still need their own answer
// after the approval of a whole workflow.
func NotCoveredText(install string) string {
	return fmt.Sprintf(
		"destroys, replacements, scripts that no approver has seen for %s, plans whose report is incomplete, and changes "+
			"that a person rejected before", install)
}

// IsCovered reports whether the approval of a whole workflow answers a plan that waits.
func IsCovered(a api.Approval) bool {
	return !NeedsTypedConfirmation(a) && !a.IndividualApproval && len(a.Scripts) == 0
}

// NameOf returns the display name of a workflow.
func NameOf(w api.Workflow) string {
	return console.Line(fmt.Sprintf("%s %d of %s/%s", w.Kind, w.Number, w.App, w.Install))
}

// Unplanned returns the components of a workflow that have no plan yet.
func Unplanned(w api.Workflow) []string {
	var names []string
	for _, s := range w.Steps {
		if s.Kind == api.StepKindPlan && (s.Status == api.StepStatusPending || s.Status == api.StepStatusRunning) {
			names = append(names, s.Component)
		}
	}
	return names
}

// IsWorkflowApprovable reports whether a workflow can be approved as a whole.
func IsWorkflowApprovable(w api.Workflow) bool {
	return w.Status == api.WorkflowStatusRunning && !w.PlanOnly &&
		(w.Kind == api.WorkflowKindProvision || w.Kind == api.WorkflowKindDeploy)
}

type (
	// planned holds a workflow and its waiting plans, including those that are not in the queue.
	planned struct {
		id       string
		workflow api.Workflow
		waits    []api.Approval
		totals   map[string]diff.Totals
		err      error
	}
	// ruled holds the result of the approval of a whole workflow.
	ruled struct {
		workflow api.Workflow
		err      error
	}
)

// workflow fetches a workflow and its waiting plans.
func (d *requester) workflow(id, install string) tea.Cmd {
	return d.Do(d.patience, func(ctx context.Context) tea.Msg {
		p := planned{id: id}
		if p.workflow, p.err = apiclient.Decode[api.Workflow](d.client.GetWorkflow(ctx, id)); p.err == nil {
			p.waits, p.totals, _, p.err = d.waiting(ctx, scope{install: install},
				func(a api.Approval) bool { return a.Workflow == id })
		}
		p.err = screen.TimeoutError(p.err)
		return p
	})
}

// ruleOn approves a workflow as a whole.
func (d *requester) ruleOn(w api.Workflow) tea.Cmd {
	return d.Do(patienceToRead, func(ctx context.Context) tea.Msg {
		now, err := apiclient.Decode[api.Workflow](d.client.SetWorkflowRule(ctx, w.ID, api.Reason{}))
		if err != nil {
			now = w
		}
		return ruled{now, screen.TimeoutError(err)}
	})
}

// approveWhole fetches the workflow of the selected plan, to open the question about it.
func (m *model) approveWhole() tea.Cmd {
	at := m.queue.current()
	no := ""
	switch {
	case at.none():
		no = "no plans waiting"
	case at.several():
		no = "these plans belong to several workflows; press m and select one plan"
	case at.lead().approval.Workflow == "":
		no = "it belongs to no workflow; press a to approve it"
	case m.ruling.ID != "":
		no = "the approval of " + NameOf(m.ruling) + " is being sent"
	case !m.live():
		no = "control plane unreachable: cannot check what is running"
	}
	if no != "" {
		m.say(m.theme.Warn, no)
		return nil
	}
	a := at.lead().approval
	m.opening = a.Workflow
	m.say(m.theme.Faint, "loading the workflow …")
	return m.ask.workflow(a.Workflow, a.InstallID)
}

// planned opens the question about a workflow, unless another key was pressed in the meantime.
func (m *model) planned(p planned) {
	if p.id != m.opening || m.mode != reviewing {
		return
	}
	m.opening, m.note = "", cell{}
	switch {
	case p.err != nil:
		m.say(m.theme.Bad, firstLine(p.err))
	case !IsWorkflowApprovable(p.workflow):
		m.say(m.theme.Warn,
			fmt.Sprintf("%s cannot be approved as a whole: only a running provision or deploy can",
				NameOf(p.workflow)))
	default:
		m.mode, m.typed, m.whole = wholly, entry{}, p
		m.closeCutWhole()
	}
}

// closeCutWhole closes the question about a workflow if the screen shows only a part of it.
func (m *model) closeCutWhole() {
	if m.mode == wholly && !m.small() && !m.fitsWhole() {
		m.mode = reviewing
		m.say(m.theme.Warn, "the screen is too small; use nuon approve --workflow "+console.Line(m.whole.id))
	}
}

// wholeWord returns the text that a person types to approve a workflow as a
// whole: the install's name.
func (m *model) wholeWord() string { return m.whole.workflow.Install }

// sendWhole approves the workflow of the open question.
func (m *model) sendWhole() tea.Cmd {
	m.mode = reviewing
	switch {
	case !m.live():
		m.say(m.theme.Warn, "control plane unreachable: cannot check what is running")
		return nil
	case !m.fitsWhole():
		m.say(m.theme.Warn,
			"the screen is too small; use nuon approve --workflow "+console.Line(m.whole.id))
		return nil
	}
	m.ruling = m.whole.workflow
	return m.ask.ruleOn(m.ruling)
}

// ruled handles the result of the approval of a workflow.
func (m *model) ruled(r ruled) tea.Cmd {
	m.ruling = api.Workflow{}
	if r.err != nil {
		m.say(m.theme.Bad, firstLine(r.err))
		return m.look()
	}
	m.approved = append(m.approved, r.workflow)
	m.say(m.theme.Good, WorkflowApprovalText(r.workflow))
	return m.look()
}

// WorkflowApprovalText describes an approved workflow and how to revoke the approval.
func WorkflowApprovalText(w api.Workflow) string {
	return fmt.Sprintf(
		"approved everything that %s plans until it ends; to withdraw: nuon approve --workflow %s --revoke",
		NameOf(w), w.ID)
}

// wholeText describes what the approval covers and what it does not.
func (m *model) wholeText() []string {
	p := m.whole
	var now, left []string
	for _, a := range p.waits {
		words := console.Line(Subject(a))
		if t := p.totals[a.ID]; t.Text() != "" {
			words += " (" + t.Text() + ")"
		}
		if IsCovered(a) {
			now = append(now, words)
		} else {
			left = append(left, words)
		}
	}
	var lines []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			lines = append(lines, what+console.Line(joinNames(names, maxNamed))+".")
		}
	}
	add("Approves now: ", now)
	add("Still needs approval: ", left)
	add("Approves once planned: ", Unplanned(p.workflow))
	return append(lines, "Never approves "+NotCoveredText(console.Line(p.workflow.Install))+".")
}

// wholeSheet renders the question.
func (m *model) wholeSheet() []strip {
	t := m.theme
	out := []strip{m.rule(m.width, "approve everything that "+NameOf(m.whole.workflow)+" plans until it ends", true, "")}
	for _, line := range m.wholeText() {
		for _, row := range terminal.WrapTo(m.width-1, "  ", 2, terminal.Span{Text: line}) {
			out = append(out, t.StyleRow(row))
		}
	}
	word := console.Line(m.wholeWord())
	return append(out,
		append(strip{{"  Type ", ""}, {word, t.Strong}, {" to approve: ", ""}},
			m.typed.Show(max(m.width-24-terminal.Columns(word), 10))...))
}

// fitsWhole reports whether the whole question fits on the screen. A question
// that is only partly visible cannot be answered.
func (m *model) fitsWhole() bool { return !m.small() && len(m.wholeSheet()) <= m.height-otherRows+3 }

// unheardWhole returns an error that names a workflow whose approval was in
// flight when the screen closed.
func (m *model) unheardWhole() error {
	if m.ruling.ID == "" {
		return nil
	}
	return fmt.Errorf(
		"the approval of %s was being sent; check with `nuon workflows get %s` whether it arrived",
		NameOf(m.ruling), m.ruling.ID)
}

// Answers holds the answers that a person gave on the screen, in order.
type Answers struct {
	Approvals []api.Approval
	Workflows []api.Workflow // approved as a whole
}
