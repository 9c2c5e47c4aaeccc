package tfstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Get returns the newest sealed Terraform state of the install component that the job works on.
// With a version other than 0 it returns that version, if the job's spec names it for a restore.
// Errors: ErrNoState, ErrNotFound, ErrNotRunning, and refusal.ErrInvalid for a job without a state or with
// another version in its spec.
func (s *Service) Get(ctx context.Context, caller runners.Caller, ref api.AttemptRef, version int) (api.State, error) {
	var state api.State
	err := s.store.ReadTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := jobs.ReadRunningAttempt(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		subject, err := jobs.SubjectOf(h.Job)
		if err != nil {
			return err
		}
		row, err := readState(ctx, tx, subject, version)
		if err != nil {
			return store.NotFoundAs(err, ErrNoState)
		}
		state = api.State{Serial: row.Serial, Lineage: row.Lineage, Digest: row.Digest}
		return json.Unmarshal(row.Sealed, &state.Sealed)
	})
	if err != nil {
		return api.State{}, fmt.Errorf("state for job %s: %w", ref.Job, err)
	}
	return state, nil
}

func readState(ctx context.Context, tx *store.Tx, subject jobs.Subject, version int) (store.State, error) {
	if version == 0 {
		return tx.NewestState(ctx, tx.Org, subject.Component)
	}
	if version != subject.Restore.Version {
		return store.State{}, refusal.Invalidf("the job's spec does not name version %d of the state", version)
	}
	return tx.StateOfVersion(ctx, tx.Org, subject.Component, int32(version)) //nolint:gosec // the spec's version is a row's
}

// Put stores a state of a job that may write one, whenever it arrives: as the newest version
// if it follows that one (see DecideStatus), otherwise as a contested one, which it reports. A state
// that is already stored changes nothing, so a runner may send its spool twice. An attempt that was
// superseded or has ended may still deliver what it wrote. Errors: ErrNotFound, ErrNotRunning for
// an attempt that was never accepted or never started, refusal.ErrInvalid, ErrLimit.
func (s *Service) Put(
	ctx context.Context, caller runners.Caller, ref api.AttemptRef, state api.State,
) (contested bool, err error) {
	if err := validState(state); err != nil {
		return false, err
	}
	sealed, err := json.Marshal(state.Sealed)
	if err != nil {
		return false, fmt.Errorf("keep a state of job %s: %w", ref.Job, err)
	}
	var full string
	err = s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		full = ""
		h, err := jobs.LockAttempt(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		if status := jobs.AttemptStatus(h.Row.Status); status == jobs.AttemptOffered || status == jobs.AttemptWithdrawn {
			return jobs.ErrNotRunning.With("it was never accepted")
		}
		if h.Returned() {
			return jobs.ErrNotRunning.With("it was returned as not started")
		}
		in := incoming{by: h, state: state, sealed: sealed, bytes: int64(len(state.Sealed.Ciphertext))}
		if in.subject, err = jobs.SubjectOf(h.Job); err != nil {
			return err
		}
		if err := checkComponentExists(ctx, tx, in.subject); err != nil {
			return err
		}
		contested, full, err = s.put(ctx, tx, in)
		return err
	})
	if err == nil && full != "" {
		err = ErrLimit.With("%s", full)
	}
	if err != nil {
		return false, fmt.Errorf("keep a state of job %s: %w", ref.Job, err)
	}
	return contested, nil
}

// put stores a state, or records why it exceeds a limit.
func (s *Service) put(ctx context.Context, tx *store.Tx, in incoming) (contested bool, full string, err error) {
	known, err := tx.KnownState(ctx, store.KnownStateParams{
		OrgID: tx.Org, InstallComponentID: in.subject.Component, Serial: in.state.Serial, Lineage: in.state.Lineage,
		Digest: in.state.Digest,
	})
	found := err == nil
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, "", err
	case found && known.Here:
		return Status(known.Status) == StatusContested, "", nil
	}
	usage, err := countStored(ctx, tx, in)
	if err != nil {
		return false, "", err
	}
	if err := checkMayWrite(in, usage); err != nil {
		return false, "", err
	}
	if full, err = s.evictVersions(ctx, tx, in, usage); err != nil {
		return false, "", err
	}
	switch dismissed := found && Status(known.Status) == StatusDismissed; {
	case full != "" && dismissed:
		return false, "", nil // a person decided that it is not needed
	case full != "":
		return false, full, withhold(ctx, tx, in, usage, full)
	case dismissed:
		return false, "", tx.FillState(ctx, store.FillStateParams{
			Sealed: in.sealed, OrgID: tx.Org, InstallComponentID: in.subject.Component, Version: known.Version,
		})
	case found: // it was withheld
		if err := tx.RemoveState(ctx, tx.Org, in.subject.Component, known.Version); err != nil {
			return false, "", err
		}
		if err := enqueueRollout(ctx, tx, in.by); err != nil {
			return false, "", err
		}
	}
	contested, err = addState(ctx, tx, in, usage)
	return contested, "", err
}

// checkMayWrite returns refusal.ErrInvalid for a state that the job may not write.
func checkMayWrite(in incoming, usage store.StateUsageRow) error {
	any, again := writes(in.by.Job.Kind)
	if any || again && usage.AttemptVersions == 0 {
		return nil
	}
	return refusal.Invalidf("a job of kind %s writes no Terraform state", in.by.Job.Kind)
}

// addState stores the state as the next version, with the status that DecideStatus decides. usage is from before it
// removed other versions.
func addState(ctx context.Context, tx *store.Tx, in incoming, usage store.StateUsageRow) (contested bool, err error) {
	subject, h, state := in.subject, in.by, in.state
	newest, err := newestKept(ctx, tx, subject.Component)
	if err != nil {
		return false, err
	}
	other, err := otherLockHolder(ctx, tx, subject.Component, h)
	if err != nil {
		return false, err
	}
	evidence := Evidence{Author: h, Delivered: state, Newest: newest, LockHolder: other}
	if evidence.FoundAbsent, evidence.RecordedSince, err = recordedSince(ctx, tx, subject.Component, h); err != nil {
		return false, err
	}
	status, reason := DecideStatus(evidence)
	if any, _ := writes(h.Job.Kind); !any && status != StatusKept {
		return false,
			refusal.Invalidf("a job of kind %s writes no Terraform state, and this one does not follow on the newest: %s",
				h.Job.Kind, reason)
	}
	restores := status == StatusKept && subject.Restore.Version != 0
	if restores {
		reason = fmt.Sprintf("restores version %d", subject.Restore.Version)
	}
	version, err := tx.InsertState(ctx, store.InsertStateParams{
		OrgID: tx.Org, InstallComponentID: subject.Component, Serial: state.Serial,
		Lineage: state.Lineage, Digest: state.Digest,
		Sealed: in.sealed, KeyID: state.Sealed.KeyID, Bytes: int32(min(in.bytes, math.MaxInt32)), //nolint:gosec // bounded
		JobID: h.Job.ID, Attempt: h.Row.Number, Status: string(status), Reason: reason,
	})
	if err != nil {
		return false, err
	}
	if status == StatusKept && isLate(h, newest) {
		if err := recordState(
			ctx, tx, h, "state.late", subject.Component, version, "its attempt had ended when it arrived",
		); err != nil {
			return false, err
		}
	}
	switch {
	case restores:
		err = dismissRestored(ctx, tx, subject.Component, int32(subject.Restore.Version), version) //nolint:gosec // the spec's version is a row's
	case status == StatusContested && usage.Contested:
		err = enqueueRollout(ctx, tx, h)
	case status == StatusContested:
		err = recordContested(ctx, tx, h, subject.Component, version, reason)
	}
	return status == StatusContested, err
}

// isLate reports whether a state is the first that an attempt delivers after its end. The audit log
// records that one and not each state of a spool.
func isLate(h jobs.Attempt, newest *store.State) bool {
	if h.AtWork() {
		return false
	}
	own := newest != nil && newest.JobID == h.Job.ID && newest.Attempt == h.Row.Number
	return !own || h.Row.EndedAt == nil || newest.CreatedAt.Before(*h.Row.EndedAt)
}

// recordedSince returns what was recorded about the component since a finished attempt was accepted. The accept of an
// apply makes it unknown what is applied. It becomes known again when the apply succeeds or turns out to have done
// nothing, or when a later plan or apply finds it out. absent reports that nothing exists, and known that the
// component has what was planned.
func recordedSince(
	ctx context.Context, tx *store.Tx, component string, h jobs.Attempt,
) (absent, known bool, err error) {
	if h.AtWork() {
		return false, false, nil
	}
	place, err := tx.InstallComponentByID(ctx, tx.Org, component)
	return place.AppliedArtifact == "", place.AppliedDigest != "", err
}

// maxNameLength bounds lineage, digest and lock id, in bytes.
const maxNameLength = 200

func validState(state api.State) error {
	switch {
	case state.Serial < 0:
		return refusal.Invalidf("the serial of a state must not be negative")
	case !name(state.Lineage) || !name(state.Digest):
		return refusal.Invalidf("a state must have a lineage and a digest of at most %d printable characters", maxNameLength)
	case state.Sealed.IsZero():
		return refusal.Invalidf("a state must be sealed before it is sent")
	case !name(state.Sealed.KeyID):
		return refusal.Invalidf("a sealed state must have a key id")
	}
	return nil
}

// name reports whether a text is printable, not empty and within maxNameLength.
func name(text string) bool {
	if text == "" || len(text) > maxNameLength {
		return false
	}
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return false
		}
	}
	return true
}

// writes reports which states a job of a kind may write. An apply, which includes a restore, may
// write any number of versions. A plan may deliver again the newest version that its runner
// delivered before, for a control plane that was restored from an older backup.
func writes(kind string) (any, again bool) {
	return kind == string(api.JobSpecKindApply), kind == string(api.JobSpecKindPlan)
}

// checkComponentExists returns ErrNotFound if the install component that a job works on does not exist any
// more because its install was forgotten. A runner that delivers a state of it gets this permanent
// error and stops retrying.
func checkComponentExists(ctx context.Context, tx *store.Tx, of jobs.Subject) error {
	_, err := tx.InstallComponentByID(ctx, tx.Org, of.Component)
	return store.NotFoundAs(err, jobs.ErrNotFound)
}
