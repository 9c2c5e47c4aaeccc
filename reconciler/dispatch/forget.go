package dispatch

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// AtWorkError reports a job that changes something at a customer's and has not ended.
type AtWorkError struct {
	Job    store.Job
	Runner string // name
}

// Error names the job and its runner.
func (e *AtWorkError) Error() string {
	return fmt.Sprintf("runner %s is at work on job %s (%s)", e.Runner, e.Job.ID, e.Job.Kind)
}

// CancelOfInstall cancels all jobs of an install that is about to be forgotten. The caller holds the install's row. *AtWorkError while
// an apply or an action is under way: what it does would be lost, and nobody could be told of its end.
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

// checkSubject returns ErrNotFound when the install component that a job works on is not known any more: its install was forgotten.
// Whoever hands in a state of it is refused for good, so that its runner ends.
func checkSubject(ctx context.Context, tx *store.Tx, of subject) error {
	_, err := tx.InstallComponentByID(ctx, tx.Org, of.component)
	return orNotFound(err)
}
