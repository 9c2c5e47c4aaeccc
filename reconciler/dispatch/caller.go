package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// Caller is a runner, or one attempt on it: Job is empty for a runner that shows its own key.
type Caller struct {
	Org     string
	Runner  string
	Job     string
	Attempt int
}

// Authenticate finds out who holds a runner key or an attempt token; ErrUnknownToken if nobody does.
func (d *Dispatch) Authenticate(ctx context.Context, plain string) (Caller, error) {
	prefix, parts, hash, ok := token.Parse(plain)
	if !ok || prefix != token.Runner && prefix != token.Attempt {
		return Caller{}, ErrUnknownToken
	}
	caller := Caller{Org: parts[0]}
	err := d.store.Read(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		switch {
		case prefix == token.Runner && len(parts) == 2:
			runner, err := tx.RunnerOfKey(ctx, caller.Org, parts[1], hash)
			caller.Runner = runner.ID
			return err
		case prefix == token.Attempt && len(parts) == 3:
			number, err := strconv.ParseInt(parts[2], 10, 32)
			if err != nil {
				return store.ErrNotFound
			}
			caller.Job, caller.Attempt = parts[1], int(number)
			caller.Runner, err = tx.RunnerOfAttemptToken(ctx, store.RunnerOfAttemptTokenParams{
				OrgID: caller.Org, JobID: caller.Job, Number: int32(number), TokenHash: hash,
			})
			return err
		}
		return store.ErrNotFound
	})
	if errors.Is(err, store.ErrNotFound) {
		return Caller{}, ErrUnknownToken
	}
	if err != nil {
		return Caller{}, fmt.Errorf("look up a runner's token: %w", err)
	}
	return caller, nil
}

// held is an attempt of the caller's with its job, as read in this transaction.
type held struct {
	job     store.Job
	attempt store.Attempt
	over    bool // the attempt's lease (or offer) has run out, by the database's clock
}

// current says that the attempt is the one through which its job is offered or runs; what is not has been superseded, or has
// ended.
func (h held) current() bool {
	status := JobStatus(h.job.Status)
	return h.job.Attempt == h.attempt.Number && (status == JobOffered || status == JobRunning)
}

// atWork says that the attempt runs its job and is not superseded, in contact or not.
func (h held) atWork() bool {
	return h.current() && JobStatus(h.job.Status) == JobRunning && AttemptStatus(h.attempt.Status).atWork()
}

// hold locks a job's row and reads one attempt of it, if it is the caller's. Whatever is not gives ErrNotFound, so that nobody
// learns what others have. All who write a job or attempt lock in this order.
func hold(ctx context.Context, tx *store.Tx, caller Caller, ref api.AttemptRef) (held, error) {
	if !addressable(caller, ref) {
		return held{}, ErrNotFound
	}
	job, err := tx.LockJob(ctx, tx.Org, ref.Job)
	if err != nil {
		return held{}, orNotFound(err)
	}
	return withAttempt(ctx, tx, caller, job, ref.Attempt)
}

// reachAtWork is reach for an attempt that must be at work, else ErrNotRunning. It may have been superseded.
func reachAtWork(ctx context.Context, tx *store.Tx, caller Caller, ref api.AttemptRef) (held, error) {
	h, err := reach(ctx, tx, caller, ref)
	if err == nil && !AttemptStatus(h.attempt.Status).atWork() {
		err = ErrNotRunning
	}
	return h, err
}

// reach is hold without the lock, for those who only read.
func reach(ctx context.Context, tx *store.Tx, caller Caller, ref api.AttemptRef) (held, error) {
	if !addressable(caller, ref) {
		return held{}, ErrNotFound
	}
	row, err := tx.JobWithRunner(ctx, tx.Org, ref.Job)
	if err != nil {
		return held{}, orNotFound(err)
	}
	return withAttempt(ctx, tx, caller, row.Job, ref.Attempt)
}

func withAttempt(ctx context.Context, tx *store.Tx, caller Caller, job store.Job, number int) (held, error) {
	row, err := tx.AttemptOfJob(ctx, tx.Org, job.ID, int32(number))
	if err != nil {
		return held{}, orNotFound(err)
	}
	if row.Attempt.RunnerID != caller.Runner {
		return held{}, ErrNotFound
	}
	return held{job: job, attempt: row.Attempt, over: row.Over}, nil
}

// addressable refuses what can be no attempt of the caller's before the database is asked: it takes no NUL and no number beyond
// its column.
func addressable(caller Caller, ref api.AttemptRef) bool {
	if ref.Attempt < 1 || ref.Attempt > math.MaxInt32 || !utf8.ValidString(ref.Job) || strings.ContainsRune(ref.Job, 0) {
		return false
	}
	return caller.Job == "" || caller.Job == ref.Job && caller.Attempt == ref.Attempt
}

// orNotFound turns the store's word for no row into this package's.
func orNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return ErrNotFound
	}
	return err
}
