package workflow

import (
	"context"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// newest is the number of workflows that the list shows.
const newest = 200

// List is the screen of the newest workflows.
type List struct {
	install   string
	workflows []api.Workflow
}

// NewList returns the screen for an install, or for all if install is empty.
func NewList(install string) *List { return &List{install: install} }

// Load fetches the newest workflows.
func (l *List) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	got, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx,
		&api.ListWorkflowsParams{Install: l.install, Limit: newest}))
	return func() { l.workflows = got.Items }, err
}

// Page returns the workflows, one in each row.
func (l *List) Page(now time.Time) page.Page {
	p := page.Page{Title: "workflows", Command: "nuon workflows list"}
	if l.install != "" {
		p.Title += " of " + l.install
		p.Command += " --install " + console.ShellWord(l.install)
	}
	rows := make(page.List, 0, len(l.workflows))
	for _, w := range l.workflows {
		rows = append(rows, page.Row{
			ID: w.ID, Copy: w.ID, Open: "workflow " + w.ID, Command: console.CommandLine("nuon", "workflows", "get", w.ID),
			Detail: []string{workflows.Reason(w)},
			Cells: []page.Text{page.T(w.App + "/" + w.Install), page.T(fmt.Sprintf("%s %d", w.Kind, w.Number)),
				page.Status(string(w.Status)), page.Age(w.CreatedAt), page.T(console.Release(w.Release, w.Commit)),
				page.T(w.RequestedBy), {Text: workflows.Reason(w), Ink: page.Faint}},
		})
	}
	p.Sections = []page.Section{{Rows: rows,
		Columns: page.Columns("INSTALL", "WORKFLOW", "STATUS", "AGE", "RELEASE?", "BY?", "OUTCOME?"),
		Empty:   "No workflows yet: create an install with `nuon installs create NAME --app APP`."}}
	return p
}
