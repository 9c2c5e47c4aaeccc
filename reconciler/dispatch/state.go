package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// State gives the newest sealed Terraform state of the install component that the job works on. Errors: ErrNoState, ErrNotFound,
// ErrNotRunning, ErrInvalid for a job without a state.
func (d *Dispatch) State(ctx context.Context, caller Caller, ref api.AttemptRef) (api.State, error) {
	var state api.State
	err := d.store.Read(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := reachAtWork(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		component, err := componentOf(h.job)
		if err != nil {
			return err
		}
		row, err := tx.NewestState(ctx, tx.Org, component)
		if errors.Is(err, store.ErrNotFound) {
			return ErrNoState
		}
		if err != nil {
			return err
		}
		state = api.State{Serial: row.Serial, Lineage: row.Lineage, Digest: row.Digest}
		return json.Unmarshal(row.Sealed, &state.Sealed)
	})
	if err != nil {
		return api.State{}, fmt.Errorf("state for job %s: %w", ref.Job, err)
	}
	return state, nil
}

// PutState keeps a new version of the state. What is kept already is taken again without a word, so a runner may send its spool
// twice; and an attempt that has ended may still deliver what it wrote, as long as nothing newer is there. Errors:
// ErrStateConflict, ErrNotFound, ErrNotRunning, ErrInvalid.
func (d *Dispatch) PutState(ctx context.Context, caller Caller, ref api.AttemptRef, state api.State) error {
	if err := validState(state); err != nil {
		return err
	}
	sealed, err := json.Marshal(state.Sealed)
	if err != nil {
		return fmt.Errorf("keep a state of job %s: %w", ref.Job, err)
	}
	err = d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := hold(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		if err := mayWrite(h); err != nil {
			return err
		}
		component, err := componentOf(h.job)
		if err != nil {
			return err
		}
		known := store.HasStateParams{OrgID: tx.Org, InstallComponentID: component, Serial: state.Serial, Lineage: state.Lineage, Digest: state.Digest}
		if has, err := tx.HasState(ctx, known); err != nil || has {
			return err
		}
		if err := lockedByNobodyElse(ctx, tx, component, h); err != nil {
			return err
		}
		return appendState(ctx, tx, component, h, state, sealed)
	})
	if _, raced := store.IsConflict(err); raced {
		err = fmt.Errorf("%w: another version was kept at the same moment", ErrStateConflict)
	}
	if err != nil {
		return fmt.Errorf("keep a state of job %s: %w", ref.Job, err)
	}
	return nil
}

// appendState writes the state as the next version, if it is a successor of the newest.
func appendState(ctx context.Context, tx *store.Tx, component string, h held, state api.State, sealed json.RawMessage) error {
	newest, err := tx.NewestState(ctx, tx.Org, component)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil {
		if err := succeeds(newest, state); err != nil {
			return err
		}
	}
	return tx.InsertState(ctx, store.InsertStateParams{
		OrgID: tx.Org, InstallComponentID: component, Version: newest.Version + 1, Serial: state.Serial, Lineage: state.Lineage,
		Digest: state.Digest, Sealed: sealed, JobID: h.job.ID, Attempt: h.attempt.Number,
	})
}

// mayWrite says whether an attempt's state is taken at all: it began, and no other attempt has its job.
func mayWrite(h held) error {
	status := AttemptStatus(h.attempt.Status)
	switch {
	case status == AttemptOffered, status == AttemptWithdrawn:
		return fmt.Errorf("%w: it was never accepted", ErrNotRunning)
	case h.attempt.Number != h.job.Attempt, status.atWork() && !h.atWork():
		return fmt.Errorf("%w: another attempt has taken this one's place", ErrStateConflict)
	}
	return nil
}

// succeeds refuses a state that does not follow on the newest one: of another lineage, or of no higher serial.
func succeeds(newest store.State, next api.State) error {
	switch {
	case newest.Lineage != next.Lineage:
		return fmt.Errorf("%w: it is of lineage %s, and what is kept is of lineage %s", ErrStateConflict, shown(next.Lineage), newest.Lineage)
	case next.Serial < newest.Serial:
		return fmt.Errorf("%w: its serial is %d, and serial %d is kept already", ErrStateConflict, next.Serial, newest.Serial)
	case next.Serial == newest.Serial:
		return fmt.Errorf("%w: another state of serial %d is kept already", ErrStateConflict, next.Serial)
	}
	return nil
}

// mostStateName bounds lineage, digest and lock id, in bytes.
const mostStateName = 200

func validState(state api.State) error {
	switch {
	case state.Serial < 0:
		return invalid("a state's serial is not negative")
	case !name(state.Lineage) || !name(state.Digest):
		return invalid("a state has a lineage and a digest of at most %d printable characters", mostStateName)
	case state.Sealed.IsZero():
		return invalid("a state is sealed before it is sent")
	case !name(state.Sealed.KeyID):
		return invalid("a sealed state names its key")
	}
	return nil
}

// name says that a text is printable, not empty and not long.
func name(text string) bool {
	if text == "" || len(text) > mostStateName {
		return false
	}
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return false
		}
	}
	return true
}
