package tfstate

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// maxLockInfo bounds what Terraform reports about a lock's holder, in bytes.
const maxLockInfo = 16 << 10

// Lock takes the state lock of the job's install component for an attempt at work. It takes
// over a lock of an attempt that has ended or was superseded, which protects nothing, and a lock
// that this attempt already holds. It returns *LockedError if another attempt that may be at work
// holds the lock. Other errors: ErrNotFound, ErrNotRunning, refusal.ErrInvalid.
func (s *Service) Lock(ctx context.Context, caller runners.Caller, ref api.AttemptRef, lock api.StateLock) error {
	if !name(lock.ID) || len(lock.Info) > maxLockInfo {
		return refusal.Invalidf("a lock must have an id of at most %d printable characters and at most %d bytes of "+
			"information",
			maxNameLength, maxLockInfo)
	}
	if len(lock.Info) == 0 {
		lock.Info = []byte("{}")
	}
	info, err := store.CleanJSON(lock.Info)
	if err != nil {
		return refusal.Invalidf("%v", err)
	}
	err = s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := jobs.LockAttempt(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		if !h.AtWork() {
			return jobs.ErrNotRunning
		}
		subject, err := jobs.SubjectOf(h.Job)
		if err != nil {
			return err
		}
		if err := checkComponentExists(ctx, tx, subject); err != nil {
			return err
		}
		return acquireLock(ctx, tx, store.TakeStateLockParams{
			OrgID: tx.Org, InstallComponentID: subject.Component, LockID: lock.ID, Info: info, JobID: h.Job.ID,
			Attempt: h.Row.Number,
		})
	})
	if err != nil {
		return fmt.Errorf("lock the state for job %s: %w", ref.Job, err)
	}
	return nil
}

// lockAttempts is the number of tries for a lock that is released between two queries.
const lockAttempts = 3

func acquireLock(ctx context.Context, tx *store.Tx, take store.TakeStateLockParams) error {
	for range lockAttempts {
		if taken, err := tx.TakeStateLock(ctx, take); err != nil || taken == 1 {
			return err
		}
		held, err := tx.HeldStateLock(ctx, tx.Org, take.InstallComponentID)
		if errors.Is(err, store.ErrNotFound) {
			continue // freed in between
		}
		if err != nil {
			return err
		}
		own := held.StateLock.JobID == take.JobID && held.StateLock.Attempt == take.Attempt
		if held.Live && !own {
			return lockedBy(held)
		}
		passed, err := tx.PassStateLock(ctx, store.PassStateLockParams{
			OrgID: tx.Org, InstallComponentID: take.InstallComponentID, LockID: take.LockID, Info: take.Info,
			JobID: take.JobID, Attempt: take.Attempt, FromJobID: held.StateLock.JobID,
			FromAttempt: held.StateLock.Attempt,
		})
		if err == nil && passed != 1 {
			err = jobs.ErrChanged
		}
		return err
	}
	return jobs.ErrChanged
}

func lockedBy(held store.HeldStateLockRow) *LockedError {
	return &LockedError{
		ID: held.StateLock.LockID, Info: held.StateLock.Info,
		Holder: fmt.Sprintf("attempt %d of job %s on runner %s",
			held.StateLock.Attempt, held.StateLock.JobID, held.Runner),
	}
}

// otherLockHolder describes the other attempt at work that holds the lock. It is empty if there is
// none.
func otherLockHolder(ctx context.Context, tx *store.Tx, component string, h jobs.Attempt) (string, error) {
	held, err := tx.HeldStateLock(ctx, tx.Org, component)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	own := held.StateLock.JobID == h.Job.ID && held.StateLock.Attempt == h.Row.Number
	if err != nil || own || !held.Live {
		return "", err
	}
	return lockedBy(held).Holder, nil
}

// FreeLock releases the state lock of an attempt that has ended or was superseded. The caller holds
// the lock on the install's row and audits the release. It returns *LockedError while the attempt
// is its job's current one and may be at work, however long its runner has been silent, and
// ErrNotLocked if no attempt holds the lock.
func FreeLock(ctx context.Context, tx *store.Tx, component store.InstallComponent) error {
	held, err := tx.HeldStateLock(ctx, tx.Org, component.ID)
	if err != nil {
		return fmt.Errorf("unlock the state of %s: %w", component.Name, store.NotFoundAs(err, ErrNotLocked))
	}
	if held.Live {
		return fmt.Errorf("unlock the state of %s: %w", component.Name, lockedBy(held))
	}
	return tx.FreeStateLocks(ctx, tx.Org, held.StateLock.JobID, held.StateLock.Attempt)
}

// Unlock releases the lock if this attempt holds it, and otherwise does nothing.
func (s *Service) Unlock(ctx context.Context, caller runners.Caller, ref api.AttemptRef) error {
	err := s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := jobs.LockAttempt(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		return tx.FreeStateLocks(ctx, tx.Org, h.Job.ID, h.Row.Number)
	})
	if err != nil {
		return fmt.Errorf("unlock the state for job %s: %w", ref.Job, err)
	}
	return nil
}
