package runner

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/runners"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

// Page returns everything about the runner.
func (s *Screen) Page(now time.Time) page.Page {
	r := s.runner
	p := page.Page{Title: "runner " + s.name, Command: console.CommandLine("nuon", "runners", "get", s.name), Live: true}
	if r.ID == "" {
		return p
	}
	status := page.Status(runners.Status(r))
	p.Facts = []page.Fact{{Label: "status", Text: status.Text, Ink: status.Ink}}
	add := func(label, text string) {
		if text != "" {
			p.Facts = append(p.Facts, page.Fact{Label: label, Text: text})
		}
	}
	add("kind", string(r.Kind))
	if !r.LastSeen.IsZero() {
		add("last seen", screen.Ago(now.Sub(r.LastSeen))+" ago")
	}
	add("version", r.Version)
	if r.Capacity > 0 {
		add("capacity", fmt.Sprintf("%d jobs at once", r.Capacity))
	}
	if r.Policy.Pods {
		add("executor", runners.ExecutorOfPods)
	}
	for _, words := range runners.Restrictions(r.Policy) {
		add("runner file", words)
	}
	jobs := page.List{}
	for _, a := range r.Attempts {
		jobs = append(jobs, page.Row{ID: a.Job, Copy: a.Job, Open: "logs " + a.Job,
			Command: console.CommandLine("nuon", "logs", a.Job),
			Cells: []page.Text{page.T(a.Job), page.T(a.Kind), page.T(cmp.Or(a.Install, "-")),
				page.Status(runners.AttemptStatus(a)), page.Age(a.OfferedAt), page.T(fmt.Sprint(a.Attempt))}})
	}
	installs := page.List{}
	for _, i := range s.installs {
		name := i.App + "/" + i.Name
		installs = append(installs, page.Row{ID: i.ID, Copy: i.ID, Open: "install " + name,
			Command: console.CommandLine("nuon", "installs", "get", name), Detail: []string{i.Reason},
			Cells: []page.Text{page.T(name), page.Status(string(i.Status)), {Text: i.Reason, Ink: page.Faint}}})
	}
	p.Sections = []page.Section{
		{Title: "jobs", Rows: jobs, Columns: page.Columns("JOB", "KIND", "INSTALL", "STATUS", "AGE", "ATTEMPT?"),
			Empty: "No job runs now."},
		{Title: "installs", Rows: installs, Columns: page.Columns("INSTALL", "STATUS", "REASON?"),
			Empty: "No install uses this runner."},
	}
	return p
}
