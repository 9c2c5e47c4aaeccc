package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/apps"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/diff"
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
		r := page.Row{ID: a.ID, Copy: a.ID, Open: "app " + a.Name,
			Command: console.CommandLine("nuon", "apps", "get", a.Name),
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
	return page.Page{Title: "apps", Command: "nuon apps list", Marks: true, Sections: []page.Section{{Rows: rows,
		Columns: page.Columns("NAME", "RELEASE", "STATUS", "AGE", "REPOSITORY?", "PROBLEM?"),
		Empty:   "No apps yet: create a config with `nuon init`, and the app with `nuon apps create NAME`."}}}
}

// Actions returns what can be done with one app, or with those that are marked.
func (l *List) Actions() []page.Action {
	return []page.Action{{Key: screen.Bind("s", "sync", "s"), Command: l.sync,
		Question: func(r page.Row) string { return fmt.Sprintf(syncQuestion, appOf(r)) },
		Several: func(rows []page.Row) string {
			names := make([]string, 0, len(rows))
			for _, r := range rows {
				names = append(names, appOf(r))
			}
			return fmt.Sprintf(syncQuestion, diff.Plural(len(rows), "app", "apps")+": "+strings.Join(names, ", "))
		}}}
}

const syncQuestion = "Read the newest commit and build what changed of %s?"

// appOf returns the name of the app of a row.
func appOf(r page.Row) string { return strings.TrimPrefix(r.Open, "app ") }

func (l *List) sync(r page.Row) ([]string, error) {
	n := slices.IndexFunc(l.apps, func(a api.App) bool { return a.ID == r.ID })
	if n < 0 {
		return nil, errors.New("there is no app here")
	}
	return syncOf(l.apps[n])
}

// syncOf returns the command that syncs an app with its repository.
func syncOf(a api.App) ([]string, error) {
	if a.Repository == "" {
		return nil, fmt.Errorf("%s is uploaded from its directory: run nuon sync there", a.Name)
	}
	return []string{"sync", "--app", a.Name, "--no-wait"}, nil
}
