package rollout

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// rangeSize is how many installs are reconciled in one transaction when their app has
// changed: enough to read shared data rarely, and few enough that a person's answer
// to one of them waits only a moment.
const rangeSize = 25

// FanOut reconciles every install of an app, range by range. It is requested once when an app's new
// release is complete, however many builds the release had. A second request while ranges wait adds
// nothing.
func (r *Rollout) FanOut(ctx context.Context, org, appID string) error {
	var ranges []store.InstallRangesRow
	err := r.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) (err error) {
		if ranges, err = tx.InstallRanges(ctx, rangeSize, org, appID); err != nil || len(ranges) <= 1 {
			return err
		}
		var work []river.JobArgs
		for _, part := range ranges {
			work = append(work, queue.RolloutRange{Org: org, App: appID, First: part.First, Last: part.Last})
		}
		return tx.Enqueue(ctx, work...)
	})
	if err != nil {
		return fmt.Errorf("roll out to the installs of app %s: %w", appID, err)
	}
	if len(ranges) == 1 {
		return r.ReconcileRange(ctx, queue.RolloutRange{Org: org, App: appID, First: ranges[0].First, Last: ranges[0].Last})
	}
	return nil
}

// ReconcileRange is Reconcile for a range of an app's installs, in one transaction. An
// install that is locked by other work gets a separate task. If the range cannot be
// reconciled as a whole, each of its installs does, so that one install blocks no other.
func (r *Rollout) ReconcileRange(ctx context.Context, q queue.RolloutRange) error {
	var ids []string
	err := r.store.InTx(ctx, q.Org, func(ctx context.Context, tx *store.Tx) (err error) {
		in := store.InstallsOfRangeParams{OrgID: q.Org, AppID: q.App, First: q.First, Last: q.Last}
		if ids, err = tx.InstallsOfRange(ctx, in); err != nil {
			return err
		}
		installs, err := tx.LockInstallRange(ctx, store.LockInstallRangeParams(in))
		if err != nil {
			return err
		}
		locked := map[string]bool{}
		for _, install := range installs {
			locked[install.ID] = true
		}
		if err := tx.Enqueue(ctx, resyncs(q.Org, ids, locked)...); err != nil || len(installs) == 0 {
			return err
		}
		_, _, err = r.reconcile(ctx, tx, installs)
		return err
	})
	if err == nil || ctx.Err() != nil || len(ids) == 0 { // without ids, the range itself is retried
		return err
	}
	slog.WarnContext(ctx, "reconcile installs one by one", "app", q.App, "installs", len(ids), "error", err)
	again := r.store.InTx(ctx, q.Org, func(ctx context.Context, tx *store.Tx) error {
		return tx.Enqueue(ctx, resyncs(q.Org, ids, nil)...)
	})
	if again != nil {
		return fmt.Errorf("roll out to %d installs of app %s: %w", len(ids), q.App, again)
	}
	return nil
}

// resyncs returns tasks for the installs that are not done.
func resyncs(org string, installs []string, done map[string]bool) []river.JobArgs {
	var work []river.JobArgs
	for _, install := range installs {
		if !done[install] {
			work = append(work, queue.Resync{Org: org, Install: install})
		}
	}
	return work
}
