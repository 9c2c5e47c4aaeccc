package workflow

import (
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Page returns the steps as a tree.
func (s *Screen) Page(now time.Time) page.Page {
	w := s.workflow
	if w.ID == "" {
		return page.Page{Title: "workflow " + s.name, Command: console.CommandLine("nuon", "workflows", "get", s.name)}
	}
	p := page.Page{
		Title:   fmt.Sprintf("%s %d of %s/%s", w.Kind, w.Number, w.App, w.Install),
		Command: console.CommandLine("nuon", "workflows", "get", w.ID), Live: w.Status == api.WorkflowStatusRunning,
	}
	status := page.Status(string(w.Status))
	p.Facts = []page.Fact{{Label: "status", Text: status.Text + " " + workflows.Duration(w, now), Ink: status.Ink}}
	if w.Release > 0 {
		p.Facts = append(p.Facts, page.Fact{Label: "release", Text: console.Release(w.Release, w.Commit)})
	}
	for _, f := range workflows.Facts(w) {
		p.Facts = append(p.Facts, page.Fact{Text: f})
	}
	var rows page.List
	for _, l := range workflows.Tree(w.Steps, now) {
		rows = append(rows, s.row(l, now))
	}
	p.Select = s.current()
	p.Sections = []page.Section{{Title: "steps", Rows: rows,
		Columns: page.Columns("STEP", "STATUS", "TIME", "ATTEMPTS?", "REASON?"), Empty: "No steps: nothing to do."}}
	return p
}

// row returns the row of a step.
func (s *Screen) row(l workflows.TreeLine, now time.Time) page.Row {
	of, w := l.Step, s.workflow
	if of.ID == "" {
		return page.Row{ID: l.Left, Cells: []page.Text{{Text: strings.TrimPrefix(l.Left, "  "), Ink: page.Faint}}}
	}
	r := page.Row{ID: of.ID, Copy: of.ID,
		Command: console.CommandLine("nuon", "logs", "workflow", w.ID, "--step", of.ID),
		Open:    fmt.Sprintf("logs workflow %s --step %s", w.ID, of.ID)}
	if of.Approval != "" && of.Status == api.StepStatusWaiting {
		r.Open, r.Command = "review "+of.Approval, console.CommandLine("nuon", "review", of.Approval)
	}
	tries := ""
	if of.Tries > 1 {
		tries = fmt.Sprint(of.Tries)
	}
	r.Cells = []page.Text{page.T(strings.TrimPrefix(l.Left, "  ")), page.Status(string(of.Status)),
		page.T(workflows.StepDuration(of, now)), page.T(tries), {Text: of.Reason + l.Also, Ink: page.Faint}}
	if of.Reason != "" {
		r.Detail = append(r.Detail, of.Reason)
	}
	if waits := s.waitsFor(of); waits != "" {
		r.Detail = append(r.Detail, "waits for "+waits)
	}
	if len(r.Detail) == 0 {
		r.Detail = []string{strings.TrimSpace(l.Left) + " is " + string(of.Status)}
	}
	return r
}

// current returns the ID of the step to look at first: one that failed, waits or runs, in this
// order; "" if there is none.
func (s *Screen) current() string {
	for _, status := range []api.StepStatus{api.StepStatusFailed, api.StepStatusWaiting, api.StepStatusRunning} {
		for _, of := range s.workflow.Steps {
			if of.Status == status {
				return of.ID
			}
		}
	}
	return ""
}

// waitsFor names the steps that a step needs and that have not ended.
func (s *Screen) waitsFor(of api.Step) string {
	if of.Status != api.StepStatusPending {
		return ""
	}
	var names []string
	for _, other := range s.workflow.Steps {
		for _, id := range of.Needs {
			if other.ID == id && other.EndedAt.IsZero() {
				names = append(names, fmt.Sprintf("%s %s", other.Kind, workflows.StepName(other)))
			}
		}
	}
	return strings.Join(names, ", ")
}
