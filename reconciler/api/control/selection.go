package control

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// selection is which installs a list shows, and where it starts.
type selection struct {
	rows   store.ViewInstallsParams
	status api.InstallSummaryStatus // empty for any
}

// selectionOf reads the filters of a list. What they name must exist, so that a typo does not give
// an empty list.
func selectionOf(ctx context.Context, tx *store.Tx, p api.ListInstallsParams) (selection, error) {
	f := selection{
		rows:   store.ViewInstallsParams{OrgID: tx.Org, Labels: json.RawMessage("{}")},
		status: api.InstallSummaryStatus(p.Status),
	}
	f.rows.AfterApp, f.rows.AfterName, _ = strings.Cut(p.Cursor, "/")
	if p.App != "" {
		app, err := findApp(ctx, tx, p.App)
		if err != nil {
			return f, err
		}
		f.rows.AppID = app.ID
	}
	if p.Runner != "" {
		runner, err := tx.ViewRunner(ctx, tx.Org, p.Runner)
		if err == nil {
			err = runnerIsSeen(ctx, tx, runner)
		}
		if err != nil {
			return f, named("runner", p.Runner, err)
		}
		f.rows.RunnerID = runner.ID
	}
	if p.Label != "" {
		name, value, both := strings.Cut(p.Label, "=")
		if !both || name == "" {
			return f, problem.New(http.StatusUnprocessableEntity, "bad_label", quoted(p.Label)+" is not a label",
				"Write it as NAME=VALUE.")
		}
		f.rows.Labels, _ = json.Marshal(map[string]string{name: value}) // texts always encode
	}
	err := oneOf(p.Status == "" || f.status.Valid(), "bad_status", "status of an install", p.Status,
		"new", "current", "behind", "waiting_for_approval", "deploying", "stalled", "rejected", "waiting",
		"deprovisioning", "deprovisioned")
	return f, err
}

// page returns the installs of one page, and the cursor of the next one. A status is computed and
// not a column, so page reads batches of installs until it has a full page of those with the
// status.
func (f selection) page(
	ctx context.Context, tx *store.Tx, most int,
) (items []api.InstallSummary, next string, err error) {
	items = []api.InstallSummary{}
	f.rows.Most = int32(most) + 1 //nolint:gosec // bounded by page
	if f.status != "" {
		f.rows.Most = pageMost
	}
	for {
		rows, err := tx.ViewInstalls(ctx, f.rows)
		if err != nil {
			return nil, "", err
		}
		all, err := summaries(ctx, tx, rows)
		if err != nil {
			return nil, "", err
		}
		for _, one := range all {
			if f.status != "" && one.Status != f.status {
				continue
			}
			if len(items) == most {
				last := items[most-1]
				return items, last.App + "/" + last.Name, nil
			}
			items = append(items, one)
		}
		if len(rows) < int(f.rows.Most) {
			return items, "", nil
		}
		last := rows[len(rows)-1]
		f.rows.AfterApp, f.rows.AfterName = last.App, last.Install.Name
	}
}
