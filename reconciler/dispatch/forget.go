package dispatch

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// AtWorkError reports a running job that changes something in a customer's account.
type AtWorkError struct {
	Job    store.Job
	Runner string // name
}

// Error names the job and its runner.
func (e *AtWorkError) Error() string {
	return fmt.Sprintf("runner %s is at work on job %s (%s)", e.Runner, e.Job.ID, e.Job.Kind)
}

// CancelOfInstall cancels all jobs of an install that is about to be forgotten. The caller holds
// the lock on the install's row. It returns *AtWorkError while an apply or an action runs: its
// changes would be lost, and its end could not be recorded.
func CancelOfInstall(ctx context.Context, tx *store.Tx, install, reason string) error {
	rows, err := tx.OpenJobsOfInstall(ctx, tx.Org, install)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if JobStatus(row.Job.Status) == JobRunning && !repeatable(row.Job.Kind) {
			return &AtWorkError{Job: row.Job, Runner: row.Runner}
		}
	}
	for _, row := range rows {
		if err := Cancel(ctx, tx, row.Job.ID, reason); err != nil {
			return err
		}
	}
	return nil
}

// checkSubject returns ErrNotFound if the install component that a job works on does not exist any
// more because its install was forgotten. A runner that delivers a state of it gets this permanent
// error and stops retrying.
func checkSubject(ctx context.Context, tx *store.Tx, of subject) error {
	_, err := tx.InstallComponentByID(ctx, tx.Org, of.component)
	return orNotFound(err)
}
