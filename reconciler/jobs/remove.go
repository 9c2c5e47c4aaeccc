package jobs

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// RunningJobError reports a running job that changes something in a customer's account.
type RunningJobError struct {
	Job    store.Job
	Runner string // name
}

// Error names the job and its runner.
func (e *RunningJobError) Error() string {
	return fmt.Sprintf("runner %s is running job %s (%s)", e.Runner, e.Job.ID, e.Job.Kind)
}

// CancelInstallJobs cancels all jobs of an install that is about to be forgotten. The caller holds
// the lock on the install's row. It returns *RunningJobError while an apply or an action runs: its
// changes would be lost, and its end could not be recorded.
func CancelInstallJobs(ctx context.Context, tx *store.Tx, install, reason string) error {
	rows, err := tx.OpenJobsOfInstall(ctx, tx.Org, install)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if JobStatus(row.Job.Status) == JobRunning && !repeatable(row.Job.Kind) {
			return &RunningJobError{Job: row.Job, Runner: row.Runner}
		}
	}
	for _, row := range rows {
		if err := Cancel(ctx, tx, row.Job.ID, reason); err != nil {
			return err
		}
	}
	return nil
}
