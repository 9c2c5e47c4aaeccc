package tfstate

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Status is the status of a state version. The column's constraint has the same values.
type Status string

// The statuses of a state version.
const (
	StatusKept      Status = "kept"      // it is or was the newest version
	StatusContested Status = "contested" // two attempts really changed resources; a person decides
	StatusDismissed Status = "dismissed" // it is listed and has no effect any more
	StatusWithheld  Status = "withheld"  // it exceeded a limit: its runner stores it, and its component waits
)

// Evidence is the input of DecideStatus: a state that a runner delivers, and its surroundings.
type Evidence struct {
	Author        jobs.Attempt
	Delivered     api.State
	Newest        *store.State // the newest kept version; nil if none exists
	LockHolder    string       // describes the other attempt at work that holds the lock; empty if there is none
	FoundAbsent   bool         // its attempt is over, and since then its component was found to be absent
	RecordedSince bool         // its attempt is over, and it was recorded what is applied of its component
}

// DecideStatus decides the status of a state that is delivered for the first time. It is kept if it
// follows the newest kept version, that is, if all of this holds: the newest version comes from the
// same attempt or existed when the attempt was accepted; it has the same lineage and a lower
// serial; no other attempt at work holds the lock; no later check found the component absent; and
// the attempt is at work, or it was not recorded since what is applied of the component.
// It does not matter whether the attempt is still current, because its changes are real. Any other
// state is contested, and the reason names both sides. (An attempt that reads a version kept after
// its accept writes nothing: its plan was made on the version before and is stale.)
//
// A runner delivers the states of an attempt before its result, so what arrives after what is applied was recorded
// comes from a machine that was replaced while it worked, or from a hostile one. If such a state were kept, the
// component would have to be planned again, and a runner could make any number of workflows.
func DecideStatus(w Evidence) (Status, string) {
	author := fmt.Sprintf("attempt %d of job %s", w.Author.Row.Number, w.Author.Job.ID)
	if w.LockHolder != "" {
		return StatusContested, fmt.Sprintf("%s wrote it while %s held the state lock", author, w.LockHolder)
	}
	if w.FoundAbsent {
		return StatusContested, author + " wrote it, and a later check found that nothing exists"
	}
	recorded := author + " delivered it after a plan or an apply had recorded what is applied"
	if w.Newest == nil {
		if w.RecordedSince {
			return StatusContested, recorded
		}
		return StatusKept, ""
	}
	own := w.Newest.JobID == w.Author.Job.ID && w.Newest.Attempt == w.Author.Row.Number
	other := fmt.Sprintf("version %d (serial %d), which attempt %d of job %s wrote",
		w.Newest.Version, w.Newest.Serial, w.Newest.Attempt, w.Newest.JobID)
	switch {
	case w.Newest.Lineage != w.Delivered.Lineage:
		return StatusContested, fmt.Sprintf("%s wrote it with lineage %s, and that of %s, is %s",
			author, runners.PrintableShort(w.Delivered.Lineage), other, runners.PrintableShort(w.Newest.Lineage))
	case own && w.Delivered.Serial < w.Newest.Serial:
		return StatusDismissed, fmt.Sprintf("it arrived after version %d (serial %d) of the same attempt",
			w.Newest.Version, w.Newest.Serial)
	case !own && w.Newest.Version > w.Author.Row.BaseVersion:
		return StatusContested, fmt.Sprintf("%s wrote it (serial %d) and did not know %s", author, w.Delivered.Serial, other)
	case w.Delivered.Serial <= w.Newest.Serial:
		return StatusContested, fmt.Sprintf("%s wrote it with serial %d, which is not after %s",
			author, w.Delivered.Serial, other)
	case w.RecordedSince:
		return StatusContested, recorded
	}
	return StatusKept, ""
}

// recordContested records in the audit log that a version is contested and enqueues a reconcile of the
// install. The audit log gets one record of an attempt as long as a contested version of it waits for a
// person: an attempt may write any number of versions.
func recordContested(ctx context.Context, tx *store.Tx, h jobs.Attempt, component string, version int32,
	reason string) error {
	if err := recordState(ctx, tx, h, "state.contested", component, version, reason); err != nil {
		return err
	}
	return enqueueRollout(ctx, tx, h)
}

// recordState audits a version that arrived in an unusual way.
func recordState(
	ctx context.Context, tx *store.Tx, h jobs.Attempt, action, component string, version int32, reason string,
) error {
	row, err := tx.JobWithRunner(ctx, tx.Org, h.Job.ID)
	if err != nil {
		return err
	}
	return tx.Audit(ctx, "runner "+row.Runner.Name, action, component, map[string]any{
		"version": version, "job": h.Job.ID, "attempt": h.Row.Number, "reason": reason,
	})
}

// Dismiss records a person's decision that a contested or withheld version is not needed: it stays
// listed, and its component continues. reason names the person. The caller holds the lock on the
// install's row and audits the decision. Errors: ErrNotContested.
func Dismiss(ctx context.Context, tx *store.Tx, component store.InstallComponent, version int32, reason string) error {
	changed, err := tx.DismissState(ctx, store.DismissStateParams{
		OrgID: tx.Org, InstallComponentID: component.ID, Version: version, Reason: reason,
	})
	if err == nil && changed != 1 {
		err = ErrNotContested
	}
	if err != nil {
		return fmt.Errorf("dismiss version %d of the state of %s: %w", version, component.Name, err)
	}
	// The attempt that wrote it changed resources that no plan has seen.
	if err := tx.MarkAppliedUnknown(ctx, tx.Org, component.ID); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: component.InstallID})
}

// Abandon records a person's decision that a component's state cannot be decrypted any more: all
// versions stay listed without effect, and a leftover lock is released. reason names the person.
// The caller holds the lock on the install's row, has checked that no job of the component is
// running, and audits the decision.
func Abandon(ctx context.Context, tx *store.Tx, component store.InstallComponent, reason string) error {
	if err := FreeLock(ctx, tx, component); err != nil && !errors.Is(err, ErrNotLocked) {
		return err
	}
	changed, err := tx.DismissStates(ctx, reason, tx.Org, component.ID)
	if err == nil && changed == 0 {
		err = ErrNoState
	}
	if err != nil {
		return fmt.Errorf("abandon the state of %s: %w", component.Name, err)
	}
	return nil
}

// dismissRestored dismisses the version that a state was restored from if that version was contested.
func dismissRestored(ctx context.Context, tx *store.Tx, component string, from, as int32) error {
	_, err := tx.DismissState(ctx, store.DismissStateParams{
		OrgID: tx.Org, InstallComponentID: component, Version: from, Reason: fmt.Sprintf("restored as version %d", as),
	})
	return err
}

// newestKept returns the version that the next plan would read, or nil if there is none.
func newestKept(ctx context.Context, tx *store.Tx, component string) (*store.State, error) {
	newest, err := tx.NewestState(ctx, tx.Org, component)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &newest, nil
}
