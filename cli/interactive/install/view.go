package install

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/installs"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/cli/workflows"
)

// Page returns everything about the install.
func (s *Screen) Page(now time.Time) page.Page {
	i := s.install
	p := page.Page{Title: s.full(), Command: console.CommandLine("nuon", "installs", "get", s.full())}
	if i.ID == "" {
		return p
	}
	status := page.Status(string(i.Status))
	p.Facts = []page.Fact{{Label: "status", Text: status.Text + ": " + i.Reason, Ink: status.Ink}}
	for _, f := range installs.Facts(i) {
		p.Facts = append(p.Facts, page.Fact{Text: strings.TrimSpace(f)})
	}
	p.Sections = []page.Section{s.components(), s.history(), s.stateRows(), s.related(), s.outputs(), s.inputs()}
	return p
}

// components returns the components, each with its objects that are not healthy.
func (s *Screen) components() page.Section {
	var rows page.List
	for _, c := range s.install.Components {
		r := page.Row{
			ID: c.ID, Copy: c.ID, Detail: []string{c.Reason},
			Command: console.CommandLine("nuon", "logs", "workflow", "latest:"+s.full(), "--step", c.Name),
			Open:    fmt.Sprintf("logs workflow latest:%s --step %s", s.full(), c.Name),
			Cells: []page.Text{page.T(c.Name), page.T(c.Kind), page.Status(string(c.Status)),
				page.Status(string(c.Health.Status)), page.Age(c.AppliedAt), {Text: c.Reason, Ink: page.Faint}},
		}
		if id := s.approvals[c.Name]; id != "" {
			r.Open, r.Command = "review "+id, console.CommandLine("nuon", "review", id)
		}
		rows = append(rows, r)
		for _, o := range c.Health.Objects {
			rows = append(rows, page.Row{ID: c.ID + o.Object.String(), Copy: o.Object.String(), Detail: []string{o.Reason},
				Cells: []page.Text{page.T("  " + o.Object.String()), page.T("object"), {},
					page.Status(string(o.Status)), {}, {Text: o.Reason, Ink: page.Faint}}})
		}
	}
	return page.Section{Title: "components", Rows: rows,
		Columns: page.Columns("NAME", "KIND", "STATUS", "HEALTH", "APPLIED?", "REASON?"),
		Empty:   "No components: the app has no release yet."}
}

// history returns the newest workflows. The details of one contain the command to roll back to
// its release.
func (s *Screen) history() page.Section {
	var rows page.List
	for _, w := range s.workflows {
		r := page.Row{ID: w.ID, Copy: w.ID, Open: "workflow " + w.ID,
			Command: console.CommandLine("nuon", "workflows", "get", w.ID), Detail: []string{workflows.Reason(w)},
			Cells: []page.Text{page.T(fmt.Sprintf("%s %d", w.Kind, w.Number)), page.Status(string(w.Status)),
				page.T(console.Release(w.Release, w.Commit)), page.Age(moved(w)), page.T(w.RequestedBy),
				{Text: workflows.Reason(w), Ink: page.Faint}}}
		if s.earlier(w) {
			r.Command = console.CommandLine("nuon", "installs", "rollback", s.full(), "--to", strconv.Itoa(w.Release))
			r.Detail = append(r.Detail, "To return to this release: "+r.Command)
		}
		rows = append(rows, r)
	}
	return page.Section{Title: "history", Rows: rows,
		Columns: page.Columns("WORKFLOW", "STATUS", "RELEASE", "AGE", "BY?", "OUTCOME?"),
		Empty:   "No workflows yet."}
}

// related returns what else there is to open.
func (s *Screen) related() page.Section {
	i := s.install
	link := func(what, text, line string, command ...string) page.Row {
		return page.Row{ID: what, Open: line, Copy: text, Command: console.CommandLine(command...),
			Cells: []page.Text{page.T(what), page.T(text)}}
	}
	online := "offline"
	if i.RunnerOnline {
		online = "online"
	}
	return page.Section{Title: "related", Columns: page.Columns("", ""), Rows: page.List{
		link("app", i.App, "app "+i.App, "nuon", "apps", "get", i.App),
		link("runner", i.Runner+", "+online, "runner "+i.Runner, "nuon", "runners", "get", i.Runner),
		link("review", "plans that wait here", "review "+s.full(), "nuon", "review", s.full()),
		link("why", "the chain of causes", "explain install "+s.full(), "nuon", "explain", "install", s.full()),
		link("audit", "who changed it", "audit "+i.ID, "nuon", "audit", "--subject", i.ID),
	}}
}

// outputs returns the outputs of all components; those that are sensitive without their values.
func (s *Screen) outputs() page.Section {
	var rows page.List
	for _, c := range s.install.Components {
		for _, o := range c.Outputs {
			value := installs.ShownValue(string(o.Value), o.Sensitive)
			rows = append(rows, page.Row{ID: "output " + c.Name + "." + o.Name, Copy: value, Detail: []string{value},
				Cells: []page.Text{page.T(c.Name), page.T(o.Name), page.T(value)}})
		}
	}
	return page.Section{Title: "outputs", Rows: rows, Columns: page.Columns("COMPONENT", "NAME", "VALUE"),
		Empty: "No outputs."}
}

// inputs returns the inputs; those that are sensitive without their values.
func (s *Screen) inputs() page.Section {
	var rows page.List
	for _, in := range s.install.Inputs {
		value := installs.ShownValue(in.Value, in.Sensitive)
		rows = append(rows, page.Row{ID: "input " + in.Name, Copy: value,
			Cells: []page.Text{page.T(in.Name), page.T(value)}})
	}
	return page.Section{Title: "inputs", Rows: rows, Columns: page.Columns("NAME", "VALUE"),
		Empty: "None set: the app's defaults apply."}
}
