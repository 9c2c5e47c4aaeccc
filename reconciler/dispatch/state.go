package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// State returns the newest sealed Terraform state of the install component that the job works on.
// With a version other than 0 it returns that version, if the job's spec names it for a restore.
// Errors: ErrNoState, ErrNotFound, ErrNotRunning, and ErrInvalid for a job without a state or with
// another version in its spec.
func (d *Dispatch) State(ctx context.Context, caller Caller, ref api.AttemptRef, version int) (api.State, error) {
	var state api.State
	err := d.store.ReadTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := reachAtWork(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		subject, err := subjectOf(h.job)
		if err != nil {
			return err
		}
		row, err := readState(ctx, tx, subject, version)
		if err != nil {
			return unlessFound(err, ErrNoState)
		}
		state = api.State{Serial: row.Serial, Lineage: row.Lineage, Digest: row.Digest}
		return json.Unmarshal(row.Sealed, &state.Sealed)
	})
	if err != nil {
		return api.State{}, fmt.Errorf("state for job %s: %w", ref.Job, err)
	}
	return state, nil
}

func readState(ctx context.Context, tx *store.Tx, subject subject, version int) (store.State, error) {
	if version == 0 {
		return tx.NewestState(ctx, tx.Org, subject.component)
	}
	if version != subject.restore.Version {
		return store.State{}, invalid("the job's spec does not name version %d of the state", version)
	}
	return tx.StateOfVersion(ctx, tx.Org, subject.component, int32(version)) //nolint:gosec // the spec's version is a row's
}

// PutState stores a state of a job that may write one, whenever it arrives: as the newest version
// if it follows that one (see standing), otherwise as a contested one, which it reports. A state
// that is already stored changes nothing, so a runner may send its spool twice. An attempt that was
// superseded or has ended may still deliver what it wrote. Errors: ErrNotFound, ErrNotRunning for
// an attempt that was never accepted, ErrInvalid, *NoRoomError.
func (d *Dispatch) PutState(
	ctx context.Context, caller Caller, ref api.AttemptRef, state api.State,
) (contested bool, err error) {
	if err := validState(state); err != nil {
		return false, err
	}
	sealed, err := json.Marshal(state.Sealed)
	if err != nil {
		return false, fmt.Errorf("keep a state of job %s: %w", ref.Job, err)
	}
	var full string
	err = d.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		full = ""
		h, err := hold(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		if status := AttemptStatus(h.attempt.Status); status == AttemptOffered || status == AttemptWithdrawn {
			return fmt.Errorf("%w: it was never accepted", ErrNotRunning)
		}
		in := incoming{by: h, state: state, sealed: sealed, bytes: int64(len(state.Sealed.Ciphertext))}
		if in.subject, err = subjectOf(h.job); err != nil {
			return err
		}
		if err := checkSubject(ctx, tx, in.subject); err != nil {
			return err
		}
		contested, full, err = d.putState(ctx, tx, in)
		return err
	})
	if err == nil && full != "" {
		err = &NoRoomError{Reason: full}
	}
	if err != nil {
		return false, fmt.Errorf("keep a state of job %s: %w", ref.Job, err)
	}
	return contested, nil
}

// putState stores a state, or records why it exceeds a limit.
func (d *Dispatch) putState(ctx context.Context, tx *store.Tx, in incoming) (contested bool, full string, err error) {
	known, err := tx.KnownState(ctx, store.KnownStateParams{
		OrgID: tx.Org, InstallComponentID: in.subject.component, Serial: in.state.Serial, Lineage: in.state.Lineage,
		Digest: in.state.Digest,
	})
	found := err == nil
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, "", err
	case found && known.Here:
		return StateStatus(known.Status) == StateContested, "", nil
	}
	if err := mayWrite(ctx, tx, in); err != nil {
		return false, "", err
	}
	if full, err = d.makeRoom(ctx, tx, in); err != nil {
		return false, "", err
	}
	switch dismissed := found && StateStatus(known.Status) == StateDismissed; {
	case full != "" && dismissed:
		return false, "", nil // a person decided that it is not needed
	case full != "":
		return false, full, d.withhold(ctx, tx, in, full)
	case dismissed:
		return false, "", tx.FillState(ctx, store.FillStateParams{
			Sealed: in.sealed, OrgID: tx.Org, InstallComponentID: in.subject.component, Version: known.Version,
		})
	case found: // it was withheld
		if err := tx.RemoveState(ctx, tx.Org, in.subject.component, known.Version); err != nil {
			return false, "", err
		}
		if err := lookAtInstall(ctx, tx, in.by); err != nil {
			return false, "", err
		}
	}
	contested, err = addState(ctx, tx, in)
	return contested, "", err
}

// mayWrite returns ErrInvalid for a state that the job may not write.
func mayWrite(ctx context.Context, tx *store.Tx, in incoming) error {
	any, again := writes(in.by.job.Kind)
	if any {
		return nil
	}
	room, err := roomFor(ctx, tx, in)
	if err == nil && (!again || room.AttemptVersions > 0) {
		err = invalid("a job of kind %s writes no Terraform state", in.by.job.Kind)
	}
	return err
}

// addState stores the state as the next version, with the status that standing decides.
func addState(ctx context.Context, tx *store.Tx, in incoming) (contested bool, err error) {
	subject, h, state := in.subject, in.by, in.state
	newest, err := newestKept(ctx, tx, subject.component)
	if err != nil {
		return false, err
	}
	other, err := lockedByAnother(ctx, tx, subject.component, h)
	if err != nil {
		return false, err
	}
	gone, err := foundGone(ctx, tx, subject.component, h)
	if err != nil {
		return false, err
	}
	status, reason := standing(written{by: h, next: state, newest: newest, held: other, gone: gone})
	if any, _ := writes(h.job.Kind); !any && status != StateKept {
		return false,
			invalid("a job of kind %s writes no Terraform state, and this one does not follow on the newest: %s",
				h.job.Kind, reason)
	}
	restores := status == StateKept && subject.restore.Version != 0
	if restores {
		reason = fmt.Sprintf("restores version %d", subject.restore.Version)
	}
	version, err := tx.InsertState(ctx, store.InsertStateParams{
		OrgID: tx.Org, InstallComponentID: subject.component, Serial: state.Serial,
		Lineage: state.Lineage, Digest: state.Digest,
		Sealed: in.sealed, KeyID: state.Sealed.KeyID, Bytes: int32(min(in.bytes, math.MaxInt32)), //nolint:gosec // bounded
		JobID: h.job.ID, Attempt: h.attempt.Number, Status: string(status), Reason: reason,
	})
	if err != nil {
		return false, err
	}
	if err := unsettle(ctx, tx, h, subject.component); err != nil {
		return false, err
	}
	if status == StateKept && isLate(h, newest) {
		if err := recordState(
			ctx, tx, h, "state.late", subject.component, version, "its attempt was over when it came",
		); err != nil {
			return false, err
		}
	}
	switch {
	case restores:
		err = restored(ctx, tx, subject.component, int32(subject.restore.Version), version) //nolint:gosec // the spec's version is a row's
	case status == StateContested:
		err = contest(ctx, tx, h, subject.component, version, reason)
	}
	return status == StateContested, err
}

// isLate reports whether a state is the first that an attempt delivers after its end. The audit log
// records that one and not each state of a spool.
func isLate(h held, newest *store.State) bool {
	if h.atWork() {
		return false
	}
	own := newest != nil && newest.JobID == h.job.ID && newest.Attempt == h.attempt.Number
	return !own || h.attempt.EndedAt == nil || newest.CreatedAt.Before(*h.attempt.EndedAt)
}

// unsettle clears the recorded applied artifact when an attempt that is no longer at work wrote a
// state: the end of its job did not cover that write, and later plans did not see it. The component
// is planned again; a plan without changes needs no approval.
func unsettle(ctx context.Context, tx *store.Tx, h held, component string) error {
	if h.atWork() || h.job.InstallID == nil {
		return nil
	}
	if err := tx.MarkAppliedUnknown(ctx, tx.Org, component); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: *h.job.InstallID})
}

// foundGone reports whether a check for what a finished attempt may have created found nothing, so
// that its component counts as absent. From its accept until such a check the component has an
// applied artifact, known or not.
func foundGone(ctx context.Context, tx *store.Tx, component string, h held) (bool, error) {
	if h.atWork() {
		return false, nil
	}
	place, err := tx.InstallComponentByID(ctx, tx.Org, component)
	return place.AppliedArtifact == "", err
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

// name reports whether a text is printable, not empty and within mostStateName.
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
