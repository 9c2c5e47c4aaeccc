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

	key  string // hash of the runner key that was shown
	kind string // of the runner that showed it
}

// Genuine reports whether this control plane made a token, without a lookup. It may be void all the same. While nobody can know, it is.
func (d *Dispatch) Genuine(ctx context.Context, plain string) bool {
	keys, err := d.store.Tokens(ctx)
	return err != nil || keys.Genuine(plain)
}

// Authenticate finds out who holds a runner key or an attempt token; ErrUnknownToken if nobody does. What this control plane did not
// make is not looked up.
func (d *Dispatch) Authenticate(ctx context.Context, plain string) (Caller, error) {
	keys, err := d.store.Tokens(ctx)
	if err != nil {
		return Caller{}, fmt.Errorf("look up a runner's token: %w", err)
	}
	prefix, parts, hash, ok := keys.Parse(plain)
	if !ok || prefix != token.Runner && prefix != token.Attempt {
		return Caller{}, ErrUnknownToken
	}
	caller, next := Caller{Org: parts[0]}, false
	err = d.store.Read(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		switch {
		case prefix == token.Runner && len(parts) == 2:
			row, err := tx.RunnerOfKey(ctx, hash, caller.Org, parts[1])
			caller.Runner, caller.key, caller.kind, next = parts[1], string(hash), row.Kind, row.Next
			return err
		case prefix == token.Attempt && len(parts) == 3:
			number, err := strconv.ParseInt(parts[2], 10, 32)
			if err != nil {
				return store.ErrNotFound
			}
			caller.Job, caller.Attempt = parts[1], int(number)
			caller.Runner, err = tx.RunnerOfAttemptToken(ctx, store.RunnerOfAttemptTokenParams{
				OrgID: caller.Org, JobID: caller.Job, Number: int32(number), TokenHash: hash, LateSeconds: lateDelivery.Seconds(),
			})
			return err
		}
		return store.ErrNotFound
	})
	if err == nil && next {
		err = d.promote(ctx, caller, hash)
	}
	if errors.Is(err, store.ErrNotFound) {
		return Caller{}, ErrUnknownToken
	}
	if err != nil {
		return Caller{}, fmt.Errorf("look up a runner's token: %w", err)
	}
	return caller, nil
}

// AuthenticateIdle is Authenticate for a request that only asks for work: a key whose runner found none a moment ago, with
// nothing having happened since, is not looked up again. A claim looks at the key itself before it gives anything out.
func (d *Dispatch) AuthenticateIdle(ctx context.Context, plain string) (Caller, error) {
	keys, err := d.store.Tokens(ctx)
	if err != nil {
		return Caller{}, fmt.Errorf("look up a runner's token: %w", err)
	}
	if prefix, parts, hash, ok := keys.Parse(plain); ok && prefix == token.Runner && len(parts) == 2 {
		if caller, known := d.idle.admit(parts[0], parts[1], string(hash)); known {
			return caller, nil
		}
	}
	return d.Authenticate(ctx, plain)
}

// held is an attempt of the caller's with its job, as read in this transaction.
type held struct {
	job     store.Job
	attempt store.Attempt
	over    bool // the attempt's lease (or offer) has run out; only Expire asks for that
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
// learns what others have. Before the job it locks the install that the job is for, as all do who write either: so no two wait
// for each other, and what is written about a state is written by one at a time.
func hold(ctx context.Context, tx *store.Tx, caller Caller, ref api.AttemptRef) (held, error) {
	if !addressable(caller, ref) {
		return held{}, ErrNotFound
	}
	job, err := lockJob(ctx, tx, ref.Job)
	if err != nil {
		return held{}, orNotFound(err)
	}
	return withAttempt(ctx, tx, caller, job, ref.Attempt)
}

// lockJob locks a job's row, and before it that of its install.
func lockJob(ctx context.Context, tx *store.Tx, jobID string) (store.Job, error) {
	if err := tx.LockInstallOfJob(ctx, tx.Org, jobID); err != nil {
		return store.Job{}, err
	}
	return tx.LockJob(ctx, tx.Org, jobID)
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
	attempt, err := tx.AttemptOfJob(ctx, tx.Org, job.ID, int32(number))
	if err != nil {
		return held{}, orNotFound(err)
	}
	if attempt.RunnerID != caller.Runner {
		return held{}, ErrNotFound
	}
	return held{job: job, attempt: attempt}, nil
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
func orNotFound(err error) error { return unlessFound(err, ErrNotFound) }

// unlessFound turns the store's word for no row into another.
func unlessFound(err, none error) error {
	if errors.Is(err, store.ErrNotFound) {
		return none
	}
	return err
}
