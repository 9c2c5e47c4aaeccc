package install

import (
	"context"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/installs"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// pageSize is the page size of lists.
const pageSize = 500

// List is the screen of all installs, or of those of an app in a status.
type List struct {
	app, status string
	installs    []api.InstallSummary
}

// NewList returns the screen for an app, or for all if app is empty, and for a status.
func NewList(app, status string) *List { return &List{app: app, status: status} }

// Load fetches all pages of the list.
func (l *List) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	all, err := apiclient.ListAll(func(cursor string) ([]api.InstallSummary, string, error) {
		got, err := apiclient.Decode[api.InstallList](client.ListInstalls(ctx,
			&api.ListInstallsParams{App: l.app, Status: l.status, Cursor: cursor, Limit: pageSize}))
		return got.Items, got.Next, err
	})
	return func() { l.installs = all }, err
}

// Page returns the installs, one in each row.
func (l *List) Page(time.Time) page.Page {
	p := page.Page{Title: "installs", Command: "nuon installs list", Marks: true}
	if l.app != "" {
		p.Title += " of " + l.app
		p.Command += " --app " + console.ShellWord(l.app)
	}
	if l.status != "" {
		p.Title += ", " + page.Status(l.status).Text
		p.Command += " --status " + console.ShellWord(l.status)
	}
	rows := make(page.List, 0, len(l.installs))
	for _, i := range l.installs {
		rows = append(rows, summaryRow(i))
	}
	p.Sections = []page.Section{{Rows: rows,
		Columns: page.Columns("NAME", "APP", "STATUS", "RELEASE", "HEALTH?", "DRIFT?", "LAST WORKFLOW?", "AGE?",
			"REASON?"),
		Empty: "No installs: create one with `nuon installs create NAME --app APP`."}}
	return p
}

// summaryRow returns the row of an install.
func summaryRow(i api.InstallSummary) page.Row {
	name := i.App + "/" + i.Name
	release := console.Release(i.Release, i.Commit)
	if i.Release != i.Latest && i.Latest > 0 {
		release += " of " + console.Release(i.Latest, "")
	}
	last, age := page.Text{Text: "-", Ink: page.Faint}, page.Text{}
	if w := i.LastWorkflow; w.ID != "" {
		last, age = page.T(w.Kind+" "+w.Status), page.Age(w.CreatedAt)
	}
	search := []string{string(i.Status), i.Runner}
	for label, value := range i.Labels {
		search = append(search, label+"="+value)
	}
	detail := []string{i.Reason}
	if len(i.Behind) > 0 {
		detail = append(detail, "behind: "+strings.Join(i.Behind, ", "))
	}
	return page.Row{
		ID: i.ID, Open: "install " + name, Copy: i.ID, Detail: detail,
		Command: console.CommandLine("nuon", "installs", "get", name),
		Search:  strings.Join(search, " "),
		Cells: []page.Text{page.T(i.Name), page.T(i.App), page.Status(string(i.Status)), page.T(release),
			page.Status(string(i.Health)), page.Drift(installs.DriftNames(i.Drift)), last, age,
			{Text: i.Reason, Ink: page.Faint}},
	}
}
