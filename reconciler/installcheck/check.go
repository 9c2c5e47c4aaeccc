// Package installcheck schedules the jobs by which the runner of an install checks something from time to time, for
// example its health, one at a time.
//
// It never decides what to check, when the next check is due, or what a result means: packages installhealth and
// installsecrets do, and call it.
package installcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Kind is a kind of check: the kind of its jobs, the kind of their owner in package jobs, whose id is the install's,
// and the kind of its due items.
type Kind string

// The kinds of checks.
const (
	Health  Kind = store.DueHealth
	Secrets Kind = store.DueSecrets
)

// Reconcile locks an install and calls check with it. It returns no error for a deleted install, of which no check is
// due any more.
func (k Kind) Reconcile(ctx context.Context, s *store.Store, org, installID string,
	check func(ctx context.Context, tx *store.Tx, install store.Install) error,
) error {
	err := s.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, org, installID)
		if errors.Is(err, store.ErrNotFound) {
			return k.ClearDue(ctx, tx, installID)
		}
		if err != nil {
			return err
		}
		return check(ctx, tx, install)
	})
	if err != nil {
		return fmt.Errorf("check the %s of install %s: %w", k, installID, err)
	}
	return nil
}

// Runner returns the runner of an install. available is false if there is none, or if it takes no jobs now: a delayed
// check is worthless.
func Runner(ctx context.Context, tx *store.Tx, install store.Install) (runner store.Runner, available bool, err error) {
	found, err := tx.RunnersByID(ctx, tx.Org, []string{install.RunnerID})
	if err != nil || len(found) == 0 {
		return runner, false, err
	}
	return found[0], runners.UnavailableReason(found[0], tx.Now()) == "", nil
}

// Start enqueues a check of an install, unless one is queued or running.
func (k Kind) Start(ctx context.Context, tx *store.Tx, install store.Install, reason string, spec api.JobSpec,
) (started bool, err error) {
	open, err := tx.OwnerHasOpenJob(ctx, tx.Org, string(k), install.ID)
	if err != nil || open {
		return false, err
	}
	_, err = jobs.Enqueue(ctx, tx, jobs.NewJob{Runner: install.RunnerID, Kind: string(k), OwnerKind: string(k),
		OwnerID: install.ID, InstallID: install.ID, Reason: reason, Spec: spec})
	return err == nil, err
}

// End makes the next check due after one that has ended, and deletes the jobs of earlier checks.
func (k Kind) End(ctx context.Context, tx *store.Tx, job store.Job, next time.Duration) error {
	err := tx.DeleteEndedJobsOfOwner(ctx, store.DeleteEndedJobsOfOwnerParams{OrgID: tx.Org, OwnerKind: string(k),
		OwnerID: job.OwnerID, Keep: job.ID})
	if err != nil {
		return err
	}
	return k.SetDueIn(ctx, tx, job.OwnerID, next)
}

// SetDueIn sets when the next check of an install is due.
func (k Kind) SetDueIn(ctx context.Context, tx *store.Tx, install string, in time.Duration) error {
	return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: tx.Org, Kind: string(k), ID: install, InSeconds: in.Seconds()})
}

// ClearDue makes no check of an install due any more.
func (k Kind) ClearDue(ctx context.Context, tx *store.Tx, install string) error {
	return tx.ClearDue(ctx, tx.Org, string(k), install)
}
