package app

import (
	"cmp"
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/apps"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// pageSize is the page size of lists.
const pageSize = 500

// List is the screen of all apps.
type List struct{ apps []api.App }

// NewList returns the screen.
func NewList() *List { return &List{} }

// Load fetches all pages of the list.
func (l *List) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	all, err := apiclient.ListAll(func(cursor string) ([]api.App, string, error) {
		got, err := apiclient.Decode[api.AppList](client.ListApps(ctx, &api.ListAppsParams{Cursor: cursor, Limit: pageSize}))
		return got.Items, got.Next, err
	})
	return func() { l.apps = all }, err
}

// Page returns the apps, one in each row.
func (l *List) Page(time.Time) page.Page {
	rows := make(page.List, 0, len(l.apps))
	for _, a := range l.apps {
		problem := apps.Problem(a)
		r := page.Row{ID: a.ID, Copy: a.ID, Open: "app " + a.Name, Command: "nuon apps get " + a.Name,
			Cells: []page.Text{page.T(a.Name), page.T(console.Release(a.Release.Number, a.Release.Commit)),
				page.Status(string(a.Release.Status)), page.Age(a.Release.CreatedAt), page.T(a.Repository),
				{Text: problem, Ink: page.Bad}}}
		if problem != "" {
			r.Detail = []string{problem}
		} else {
			r.Detail = []string{cmp.Or(a.Release.Cause, "no release yet: create one with `nuon sync --app "+a.Name+"`")}
		}
		rows = append(rows, r)
	}
	return page.Page{Title: "apps", Command: "nuon apps list", Sections: []page.Section{{Rows: rows,
		Columns: page.Columns("NAME", "RELEASE", "STATUS", "AGE", "REPOSITORY?", "PROBLEM?"),
		Empty:   "No apps yet: create a config with `nuon init`, and the app with `nuon apps create NAME`."}}}
}
