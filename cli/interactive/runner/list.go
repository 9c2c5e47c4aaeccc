package runner

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/runners"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// pageSize is the page size of lists.
const pageSize = 500

// List is the screen of all runners.
type List struct{ runners []api.Runner }

// NewList returns the screen.
func NewList() *List { return &List{} }

// Load fetches all pages of the list.
func (l *List) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	all, err := apiclient.ListAll(func(cursor string) ([]api.Runner, string, error) {
		got, err := apiclient.Decode[api.RunnerList](client.ListRunners(ctx,
			&api.ListRunnersParams{Cursor: cursor, Limit: pageSize}))
		return got.Items, got.Next, err
	})
	return func() { l.runners = all }, err
}

// Page returns the runners, one in each row.
func (l *List) Page(time.Time) page.Page {
	rows := make(page.List, 0, len(l.runners))
	for _, r := range l.runners {
		rows = append(rows, page.Row{ID: r.ID, Copy: r.ID, Open: "runner " + r.Name,
			Command: console.CommandLine("nuon", "runners", "get", r.Name), Detail: runners.Restrictions(r.Policy),
			Cells: []page.Text{page.T(r.Name), page.T(string(r.Kind)), page.Status(runners.Status(r)),
				page.Age(r.LastSeen), page.T(r.Version)}})
	}
	return page.Page{Title: "runners", Command: "nuon runners list", Sections: []page.Section{{Rows: rows,
		Columns: page.Columns("NAME", "KIND", "STATUS", "LAST SEEN", "VERSION?"),
		Empty:   "No runners: create one with `nuon runners create NAME`."}}}
}
