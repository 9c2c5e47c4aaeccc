package jobs

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Attempt is an attempt of the caller and its job, as read in this transaction.
type Attempt struct {
	Job  store.Job
	Row  store.Attempt
	Over bool // the lease or offer of the attempt has run out; only Expire sets it
}

// current reports whether its job is offered or runs through this attempt. Otherwise the attempt
// was superseded or the job has ended.
func (a Attempt) current() bool {
	status := JobStatus(a.Job.Status)
	return a.Job.Attempt == a.Row.Number && (status == JobOffered || status == JobRunning)
}

// AtWork reports whether the attempt runs its job and was not superseded, in contact or not.
func (a Attempt) AtWork() bool {
	return a.current() && JobStatus(a.Job.Status) == JobRunning && AttemptStatus(a.Row.Status).AtWork()
}

// Returned reports whether nothing of the attempt ran and its job continues without it: any other attempt that failed
// ended its job.
func (a Attempt) Returned() bool {
	return AttemptStatus(a.Row.Status) == AttemptFailed &&
		(a.Job.Attempt != a.Row.Number || !JobStatus(a.Job.Status).Ended())
}

// LockAttempt locks a job's row and reads one of its attempts if it belongs to the caller. Otherwise it
// returns ErrNotFound, so that a caller learns nothing about the jobs of others. It locks the row
// of the job's install first, as every writer of either row does: this avoids deadlocks and
// serializes all writes about a state.
func LockAttempt(ctx context.Context, tx *store.Tx, caller runners.Caller, ref api.AttemptRef) (Attempt, error) {
	if !Addressable(caller, ref) {
		return Attempt{}, ErrNotFound
	}
	job, err := lockJob(ctx, tx, ref.Job)
	if err != nil {
		return Attempt{}, orNotFound(err)
	}
	return withAttempt(ctx, tx, caller, job, ref.Attempt)
}

// lockJob locks the row of the job's install, then the row of the job.
func lockJob(ctx context.Context, tx *store.Tx, jobID string) (store.Job, error) {
	if err := tx.LockInstallOfJob(ctx, tx.Org, jobID); err != nil {
		return store.Job{}, err
	}
	return tx.LockJob(ctx, tx.Org, jobID)
}

// ReadRunningAttempt is reach for an attempt that must be at work; otherwise it returns ErrNotRunning. The
// attempt may have been superseded.
func ReadRunningAttempt(ctx context.Context, tx *store.Tx, caller runners.Caller, ref api.AttemptRef) (Attempt, error) {
	h, err := readAttempt(ctx, tx, caller, ref)
	if err == nil && !AttemptStatus(h.Row.Status).AtWork() {
		err = ErrNotRunning
	}
	return h, err
}

// readAttempt is hold without the lock, for readers.
func readAttempt(ctx context.Context, tx *store.Tx, caller runners.Caller, ref api.AttemptRef) (Attempt, error) {
	if !Addressable(caller, ref) {
		return Attempt{}, ErrNotFound
	}
	row, err := tx.JobWithRunner(ctx, tx.Org, ref.Job)
	if err != nil {
		return Attempt{}, orNotFound(err)
	}
	return withAttempt(ctx, tx, caller, row.Job, ref.Attempt)
}

func withAttempt(ctx context.Context, tx *store.Tx, caller runners.Caller, job store.Job, number int) (Attempt, error) {
	attempt, err := tx.AttemptOfJob(ctx, tx.Org, job.ID, int32(number))
	if err != nil {
		return Attempt{}, orNotFound(err)
	}
	if attempt.RunnerID != caller.Runner {
		return Attempt{}, ErrNotFound
	}
	return Attempt{Job: job, Row: attempt}, nil
}

// Addressable reports whether ref can be an attempt of the caller, before any query: Postgres
// accepts no NUL in a text and no number outside the range of its column.
func Addressable(caller runners.Caller, ref api.AttemptRef) bool {
	if ref.Attempt < 1 || ref.Attempt > math.MaxInt32 || !utf8.ValidString(ref.Job) ||
		strings.ContainsRune(ref.Job, 0) {
		return false
	}
	return caller.Job == "" || caller.Job == ref.Job && caller.Attempt == ref.Attempt
}

// orNotFound replaces the store's error for a missing row with ErrNotFound of this package.
func orNotFound(err error) error { return store.NotFoundAs(err, ErrNotFound) }
