package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// StateStatus is how a version of a state counts; the column's constraint has the same words.
type StateStatus string

// How a version counts.
const (
	StateKept      StateStatus = "kept"      // it is the newest, or was
	StateContested StateStatus = "contested" // two attempts really did something; a person decides
	StateDismissed StateStatus = "dismissed" // it is listed, and means nothing any more
	StateWithheld  StateStatus = "withheld"  // there was no room for it: its runner keeps it, and its component waits
)

// written is what is known when a state is handed in.
type written struct {
	by     held
	next   api.State
	newest *store.State // the newest kept version; nil when there is none
	held   string       // in words, which other attempt at work holds the lock; empty when none does
	gone   bool         // its attempt is over, and since then its component was found not to be there
}

// standing decides how a state counts that is handed in for the first time. It is kept when it follows on the newest kept
// version: that one is its own attempt's, or was there when the attempt was accepted; it is of the same lineage and of a lower
// serial; nobody else is at work under the lock; and nobody has found in the meantime that there is nothing to keep. Whether the
// attempt is still its job's does not matter: what it did, it did. Whatever is not kept so is contested, and the reason names
// both sides. (An attempt that reads a version that was kept after its accept writes nothing: what it was to apply was planned on
// the one before, and is stale.)
func standing(w written) (StateStatus, string) {
	author := fmt.Sprintf("attempt %d of job %s", w.by.attempt.Number, w.by.job.ID)
	if w.held != "" {
		return StateContested, fmt.Sprintf("%s wrote it while %s held the state lock", author, w.held)
	}
	if w.gone {
		return StateContested, author + " wrote it, and since then it was found that nothing is there"
	}
	if w.newest == nil {
		return StateKept, ""
	}
	own := w.newest.JobID == w.by.job.ID && w.newest.Attempt == w.by.attempt.Number
	other := fmt.Sprintf("version %d (serial %d), which attempt %d of job %s wrote", w.newest.Version, w.newest.Serial, w.newest.Attempt, w.newest.JobID)
	switch {
	case w.newest.Lineage != w.next.Lineage:
		return StateContested, fmt.Sprintf("%s wrote it with lineage %s, and that of %s, is %s", author, shown(w.next.Lineage), other, shown(w.newest.Lineage))
	case own && w.next.Serial < w.newest.Serial:
		return StateDismissed, fmt.Sprintf("it arrived after version %d (serial %d) of the same attempt", w.newest.Version, w.newest.Serial)
	case !own && w.newest.Version > w.by.attempt.BaseVersion:
		return StateContested, fmt.Sprintf("%s wrote it (serial %d) and did not know %s", author, w.next.Serial, other)
	case w.next.Serial <= w.newest.Serial:
		return StateContested, fmt.Sprintf("%s wrote it with serial %d, which is not after %s", author, w.next.Serial, other)
	}
	return StateKept, ""
}

// contest says to everybody concerned that a version is contested.
func contest(ctx context.Context, tx *store.Tx, h held, component string, version int32, reason string) error {
	if err := recordState(ctx, tx, h, "state.contested", component, version, reason); err != nil {
		return err
	}
	return lookAtInstall(ctx, tx, h)
}

// recordState audits a version that did not come in the ordinary way.
func recordState(ctx context.Context, tx *store.Tx, h held, action, component string, version int32, reason string) error {
	row, err := tx.JobWithRunner(ctx, tx.Org, h.job.ID)
	if err != nil {
		return err
	}
	return tx.Audit(ctx, "runner "+row.Runner.Name, action, component, map[string]any{
		"version": version, "job": h.job.ID, "attempt": h.attempt.Number, "reason": reason,
	})
}

// Dismiss is a person's word that a contested or withheld version is not needed: it stays listed, and its component goes on. reason names the
// person. The caller holds the install's row and audits it. ErrNotContested.
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
	// Whoever wrote it did something that no plan has seen.
	if err := tx.ForgetApplied(ctx, tx.Org, component.ID); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: component.InstallID})
}

// Abandon is a person's word that nobody can open a component's state any more: all versions stay listed and count for nothing, and
// a lock that an attempt left falls. reason names the person. The caller holds the install's row, has made sure that nobody is at
// work on the component, and audits it.
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

// restored settles the version that a state was restored from, if it was contested.
func restored(ctx context.Context, tx *store.Tx, component string, from, as int32) error {
	_, err := tx.DismissState(ctx, store.DismissStateParams{
		OrgID: tx.Org, InstallComponentID: component, Version: from, Reason: fmt.Sprintf("restored as version %d", as),
	})
	return err
}

// newestKept is the version that the next plan would read; nil when there is none.
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
