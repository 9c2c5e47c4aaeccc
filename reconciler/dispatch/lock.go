package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// mostLockInfo bounds what Terraform reports about a lock's holder, in bytes.
const mostLockInfo = 16 << 10

// LockState takes the state lock of the job's install component for an attempt at work. It takes
// over a lock of an attempt that has ended or was superseded, which protects nothing, and a lock
// that this attempt already holds. It returns *LockedError if another attempt that may be at work
// holds the lock. Other errors: ErrNotFound, ErrNotRunning, ErrInvalid.
func (d *Dispatch) LockState(ctx context.Context, caller Caller, ref api.AttemptRef, lock api.StateLock) error {
	if !name(lock.ID) || len(lock.Info) > mostLockInfo {
		return invalid("a lock has an id of at most %d printable characters and at most %d bytes of information",
			mostStateName, mostLockInfo)
	}
	if len(lock.Info) == 0 {
		lock.Info = []byte("{}")
	}
	info, err := storableJSON(lock.Info)
	if err != nil {
		return err
	}
	err = d.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := hold(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		if !h.atWork() {
			return ErrNotRunning
		}
		subject, err := subjectOf(h.job)
		if err != nil {
			return err
		}
		if err := checkSubject(ctx, tx, subject); err != nil {
			return err
		}
		return takeLock(ctx, tx, store.TakeStateLockParams{
			OrgID: tx.Org, InstallComponentID: subject.component, LockID: lock.ID, Info: info, JobID: h.job.ID,
			Attempt: h.attempt.Number,
		})
	})
	if err != nil {
		return fmt.Errorf("lock the state for job %s: %w", ref.Job, err)
	}
	return nil
}

// triesOfLock is the number of tries for a lock that is released between two queries.
const triesOfLock = 3

func takeLock(ctx context.Context, tx *store.Tx, take store.TakeStateLockParams) error {
	for range triesOfLock {
		if taken, err := tx.TakeStateLock(ctx, take); err != nil || taken == 1 {
			return err
		}
		there, err := tx.HeldStateLock(ctx, tx.Org, take.InstallComponentID)
		if errors.Is(err, store.ErrNotFound) {
			continue // freed in between
		}
		if err != nil {
			return err
		}
		own := there.StateLock.JobID == take.JobID && there.StateLock.Attempt == take.Attempt
		if there.Live && !own {
			return lockedBy(there)
		}
		passed, err := tx.PassStateLock(ctx, store.PassStateLockParams{
			OrgID: tx.Org, InstallComponentID: take.InstallComponentID, LockID: take.LockID, Info: take.Info,
			JobID: take.JobID, Attempt: take.Attempt, FromJobID: there.StateLock.JobID,
			FromAttempt: there.StateLock.Attempt,
		})
		if err == nil && passed != 1 {
			err = errFence
		}
		return err
	}
	return errFence
}

func lockedBy(there store.HeldStateLockRow) *LockedError {
	return &LockedError{
		ID: there.StateLock.LockID, Info: there.StateLock.Info,
		Holder: fmt.Sprintf("attempt %d of job %s on runner %s",
			there.StateLock.Attempt, there.StateLock.JobID, there.Runner),
	}
}

// lockedByAnother describes the other attempt at work that holds the lock. It is empty if there is
// none.
func lockedByAnother(ctx context.Context, tx *store.Tx, component string, h held) (string, error) {
	there, err := tx.HeldStateLock(ctx, tx.Org, component)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	own := there.StateLock.JobID == h.job.ID && there.StateLock.Attempt == h.attempt.Number
	if err != nil || own || !there.Live {
		return "", err
	}
	return lockedBy(there).Holder, nil
}

// FreeLock releases the state lock of an attempt that has ended or was superseded. The caller holds
// the lock on the install's row and audits the release. It returns *LockedError while the attempt
// is its job's current one and may be at work, however long its runner has been silent, and
// ErrNotLocked if no attempt holds the lock.
func FreeLock(ctx context.Context, tx *store.Tx, component store.InstallComponent) error {
	there, err := tx.HeldStateLock(ctx, tx.Org, component.ID)
	if err != nil {
		return fmt.Errorf("unlock the state of %s: %w", component.Name, unlessFound(err, ErrNotLocked))
	}
	if there.Live {
		return fmt.Errorf("unlock the state of %s: %w", component.Name, lockedBy(there))
	}
	return tx.FreeStateLocks(ctx, tx.Org, there.StateLock.JobID, there.StateLock.Attempt)
}

// UnlockState releases the lock if this attempt holds it, and otherwise does nothing.
func (d *Dispatch) UnlockState(ctx context.Context, caller Caller, ref api.AttemptRef) error {
	err := d.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := hold(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		return tx.FreeStateLocks(ctx, tx.Org, h.job.ID, h.attempt.Number)
	})
	if err != nil {
		return fmt.Errorf("unlock the state for job %s: %w", ref.Job, err)
	}
	return nil
}
