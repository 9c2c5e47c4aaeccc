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

// Caller is an authenticated runner, or one attempt on it. Job is empty if the runner used its own
// key.
type Caller struct {
	Org     string
	Runner  string
	Job     string
	Attempt int

	key  string // hash of the runner key in the request
	kind string // kind of the runner with that key
}

// Genuine reports whether this control plane issued the token, without a lookup. A genuine token
// may have been revoked. Genuine returns true while the token keys cannot be read.
func (d *Dispatch) Genuine(ctx context.Context, plain string) bool {
	keys, err := d.store.Tokens(ctx)
	return err != nil || keys.Genuine(plain)
}

// Authenticate returns the holder of a runner key or an attempt token, or ErrUnknownToken if there
// is none. It does not look up tokens that this control plane did not issue.
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
	err = d.store.ReadTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
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
				OrgID: caller.Org, JobID: caller.Job, Number: int32(number), TokenHash: hash,
				LateSeconds: lateDelivery.Seconds(),
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

// AuthenticateIdle is Authenticate for a request that only polls for work. It skips the lookup for
// a key whose runner found no work a moment ago if no notification has arrived since. A claim
// checks the key again before it offers a job.
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

// held is an attempt of the caller and its job, as read in this transaction.
type held struct {
	job     store.Job
	attempt store.Attempt
	over    bool // the lease or offer of the attempt has run out; only Expire sets it
}

// current reports whether its job is offered or runs through this attempt. Otherwise the attempt
// was superseded or the job has ended.
func (h held) current() bool {
	status := JobStatus(h.job.Status)
	return h.job.Attempt == h.attempt.Number && (status == JobOffered || status == JobRunning)
}

// atWork reports whether the attempt runs its job and was not superseded, in contact or not.
func (h held) atWork() bool {
	return h.current() && JobStatus(h.job.Status) == JobRunning && AttemptStatus(h.attempt.Status).atWork()
}

// hold locks a job's row and reads one of its attempts if it belongs to the caller. Otherwise it
// returns ErrNotFound, so that a caller learns nothing about the jobs of others. It locks the row
// of the job's install first, as every writer of either row does: this avoids deadlocks and
// serializes all writes about a state.
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

// lockJob locks the row of the job's install, then the row of the job.
func lockJob(ctx context.Context, tx *store.Tx, jobID string) (store.Job, error) {
	if err := tx.LockInstallOfJob(ctx, tx.Org, jobID); err != nil {
		return store.Job{}, err
	}
	return tx.LockJob(ctx, tx.Org, jobID)
}

// reachAtWork is reach for an attempt that must be at work; otherwise it returns ErrNotRunning. The
// attempt may have been superseded.
func reachAtWork(ctx context.Context, tx *store.Tx, caller Caller, ref api.AttemptRef) (held, error) {
	h, err := reach(ctx, tx, caller, ref)
	if err == nil && !AttemptStatus(h.attempt.Status).atWork() {
		err = ErrNotRunning
	}
	return h, err
}

// reach is hold without the lock, for readers.
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

// addressable reports whether ref can be an attempt of the caller, before any query: Postgres
// accepts no NUL in a text and no number outside the range of its column.
func addressable(caller Caller, ref api.AttemptRef) bool {
	if ref.Attempt < 1 || ref.Attempt > math.MaxInt32 || !utf8.ValidString(ref.Job) ||
		strings.ContainsRune(ref.Job, 0) {
		return false
	}
	return caller.Job == "" || caller.Job == ref.Job && caller.Attempt == ref.Attempt
}

// orNotFound replaces the store's error for a missing row with ErrNotFound of this package.
func orNotFound(err error) error { return unlessFound(err, ErrNotFound) }

// unlessFound replaces the store's error for a missing row with another error.
func unlessFound(err, none error) error {
	if errors.Is(err, store.ErrNotFound) {
		return none
	}
	return err
}
