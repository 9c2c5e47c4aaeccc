package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// summaries returns the status of installs, in their order, from stored data, with a small number
// of queries for all of them.
func summaries(ctx context.Context, tx *store.Tx, rows []store.ViewInstallsRow) ([]api.InstallSummary, error) {
	views, err := rollout.LoadStoredViews(ctx, tx,
		each(rows, func(r store.ViewInstallsRow) store.Install { return r.Install }))
	if err != nil {
		return nil, err
	}
	return summarize(ctx, tx, rows, views)
}

// summarize converts views of installs to their API representation.
func summarize(
	ctx context.Context, tx *store.Tx, rows []store.ViewInstallsRow, views []rollout.View,
) ([]api.InstallSummary, error) {
	runners, err := tx.RunnersByID(ctx, tx.Org,
		each(rows, func(r store.ViewInstallsRow) string { return r.Install.RunnerID }))
	if err != nil {
		return nil, err
	}
	runner := map[string]store.Runner{}
	for _, r := range runners {
		runner[r.ID] = r
	}
	workflows, err := tx.LastWorkflows(ctx,
		each(rows, func(r store.ViewInstallsRow) string { return r.Install.ID }), tx.Org)
	if err != nil {
		return nil, err
	}
	last := map[string]store.Workflow{}
	for _, w := range workflows {
		last[w.InstallID] = w
	}
	out, now := make([]api.InstallSummary, 0, len(rows)), tx.Now()
	for n, row := range rows {
		one, err := summary(row, views[n], runner[row.Install.RunnerID], now)
		if err != nil {
			return nil, err
		}
		if w, any := last[row.Install.ID]; any {
			one.LastWorkflow = workflowRef(w)
		}
		out = append(out, one)
	}
	return out, nil
}

func summary(
	row store.ViewInstallsRow, v rollout.View, runner store.Runner, now time.Time,
) (api.InstallSummary, error) {
	i := row.Install
	v.App, v.RunnerUnavailable = row.App, runners.UnavailableReason(runner, now)
	online := v.RunnerUnavailable == ""
	s := api.InstallSummary{
		ID: i.ID, Name: i.Name, App: row.App, Release: int(v.AppliedRelease()), Target: int(v.Release.Number),
		Latest: int(v.Latest), Behind: v.Behind,
		RejectedAt: v.RejectedAt(),
		Health:     api.InstallSummaryHealth(v.Health(online)), Unhealthy: v.Unhealthy(), Drift: v.Drift(),
		Runner:       runner.Name,
		RunnerOnline: online, ManagedBy: api.InstallSummaryManagedBy(i.ManagedBy),
	}
	status, reason := v.Status()
	s.Status, s.Reason, s.Blocked = api.InstallSummaryStatus(status), reason, v.Blocked()
	if i.PinReleaseID != nil {
		s.Pinned = int(v.Release.Number)
	}
	commits, err := release.Commits(v.Release)
	if err != nil {
		return s, err
	}
	s.Commit = release.Name(commits)
	if err := json.Unmarshal(i.Labels, &s.Labels); err != nil {
		return s, fmt.Errorf("read the labels of install %s: %w", i.Name, err)
	}
	return s, nil
}

func workflowRef(w store.Workflow) api.WorkflowRef {
	ref := api.WorkflowRef{
		ID: w.ID, Number: int(w.Number), Kind: w.Kind, Status: w.Status, Outcome: w.Outcome, CreatedAt: w.CreatedAt,
	}
	if w.EndedAt != nil {
		ref.EndedAt = *w.EndedAt
	}
	return ref
}

// standing returns the status of one install.
func standing(ctx context.Context, tx *store.Tx, install store.Install) (rollout.View, error) {
	views, err := rollout.LoadViews(ctx, tx, []store.Install{install})
	if err != nil {
		return rollout.View{}, err
	}
	return views[0], nil
}
