package home

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/cli/status"
)

// Page returns the action items, and the installs of each app in groups of the same state.
func (s *Screen) Page(time.Time) page.Page {
	needs := page.Section{Title: "needs you", Columns: page.Columns("KIND", "WHAT", "AGE", "WHY?"),
		Empty: "Nothing needs you."}
	var items page.List
	for _, m := range s.status.Waiting {
		items = append(items, itemRow(m))
	}
	needs.Rows = items
	fleet := page.Section{Title: "fleet",
		Columns: page.Columns("APP", "INSTALLS", "RELEASE", "STATUS", "HEALTH", "BEHIND?", "DRIFT?", "LAST WORKFLOW?",
			"AGE?"),
		Empty: "No apps yet: create a config with `nuon init`, and the app with `nuon apps create NAME`."}
	var groups page.List
	for _, a := range s.status.Apps {
		for _, g := range a.Groups {
			groups = append(groups, groupRow(a, g))
		}
		if len(a.Groups) == 0 {
			groups = append(groups, page.Row{ID: a.Name, Open: "app " + a.Name, Copy: a.Name,
				Cells:  []page.Text{page.T(a.Name), {Text: "none", Ink: page.Faint}},
				Detail: []string{a.Without()}, Command: console.CommandLine("nuon", "apps", "get", a.Name)})
		}
	}
	fleet.Rows = groups
	p := page.Page{Title: "home", Command: "nuon status", Sections: []page.Section{needs, fleet}}
	if y := s.status.System; y != nil && len(y.Troubles) > 0 {
		p.Facts = append(p.Facts, page.Fact{Text: y.Line(), Ink: page.Bad})
	}
	return p
}

// itemRow returns the row of an action item.
func itemRow(m status.ActionItem) page.Row {
	r := page.Row{ID: fmt.Sprint(m.Kind, m.App, m.Component, m.Runner, m.What, m.Installs), Open: target(m),
		Command: m.Command, Detail: []string{m.Headline()}, Search: strings.Join(m.Installs, " "),
		Copy: m.Command}
	if m.Why != "" {
		r.Detail = append(r.Detail, m.Why)
	}
	since := page.Text{}
	if m.Since != nil {
		since = page.Age(*m.Since)
	}
	ink := page.Bad
	switch m.Kind {
	case status.KindApproval, status.KindWaiting, status.KindProgress, status.KindStale, status.KindDrift:
		ink = page.Warn
	}
	r.Cells = []page.Text{{Text: string(m.Kind), Ink: ink}, page.T(m.Headline()), since, {Text: m.Why, Ink: page.Faint}}
	return r
}

// target returns what enter opens for an action item.
func target(m status.ActionItem) string {
	install := "installs " + m.App
	if len(m.Installs) == 1 {
		install = "install " + m.App + "/" + m.Installs[0]
	}
	switch m.Kind {
	case status.KindApproval, status.KindBlocked:
		return strings.TrimPrefix(m.Command, "nuon ")
	case status.KindBuild:
		if strings.HasPrefix(m.Command, "nuon logs ") {
			return strings.TrimPrefix(m.Command, "nuon ")
		}
		return "app " + m.App
	case status.KindApp:
		return "app " + m.App
	case status.KindRunner:
		if m.Runner != "" {
			return "runner " + m.Runner
		}
		return "runners"
	case status.KindSystem:
		return "runners"
	}
	return install
}

// groupRow returns the row of a group of installs.
func groupRow(a status.App, g status.Group) page.Row {
	r := page.Row{ID: a.Name + fmt.Sprint(g.Installs), Search: strings.Join(g.Installs, " "), Copy: g.Installs[0],
		Open:    "installs " + a.Name + " " + g.Status,
		Command: console.CommandLine("nuon", "installs", "list", "--app", a.Name, "--status", g.Status)}
	if len(g.Installs) == 1 {
		name := a.Name + "/" + g.Installs[0]
		r.Open, r.Command = "install "+name, console.CommandLine("nuon", "installs", "get", name)
	}
	last, age := page.Text{Text: "-", Ink: page.Faint}, page.Text{}
	if w := g.Last; w != nil {
		last = page.T(strings.TrimSpace(w.Kind + " " + w.Status))
		if at := w.EndedAt; !at.IsZero() {
			age = page.Age(at)
		} else if !w.CreatedAt.IsZero() {
			age = page.Age(w.CreatedAt)
		}
	}
	r.Cells = []page.Text{page.T(a.Name), page.T(status.InstallNames(g.Installs)), page.T(g.ReleaseOf(a.Release)),
		page.Status(g.Status), page.Status(g.Health), page.T(cmp.Or(strings.Join(g.Behind, ", "), "-")),
		page.Drift(g.Drift), last, age}
	r.Detail = []string{strings.Join(g.Installs, ", ")}
	return r
}
