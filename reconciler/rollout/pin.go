package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// CodeNotComplete is the code of Pin's refusal for a release that is not complete.
const CodeNotComplete = "not_complete"

// Pin pins a locked install to one complete release of its app, which may be an
// earlier one: that release becomes its desired state, and what differs is behind. A
// person requests exactly this, so refusals of that desired state are deleted; other
// refusals stay. The caller audits the call. Errors: *refusal.Error.
func Pin(ctx context.Context, tx *store.Tx, install store.Install, number int, reason, by string) error {
	r, err := tx.ReleaseByNumber(ctx, tx.Org, install.AppID, int32(min(number, 1<<30))) //nolint:gosec // bounded
	if errors.Is(err, store.ErrNotFound) {
		return conflict(CodeUnknownRelease, "Use one that `nuon releases list` shows.",
			"the app of install %s has no release %d", install.Name, number)
	}
	if err != nil {
		return err
	}
	if r.Status != release.Complete {
		return conflict(CodeNotComplete,
			"Use a release that is complete, or wait until this one is: `nuon releases list` shows which are.",
			"release %d is %s: %s", number, r.Status, r.Reason)
	}
	if err := tx.PinInstall(ctx, store.PinInstallParams{OrgID: tx.Org, ID: install.ID, PinReleaseID: &r.ID,
		PinReason: reason, PinnedBy: by}); err != nil {
		return fmt.Errorf("pin install %s: %w", install.Name, err)
	}
	if err := RecordInstallChange(ctx, tx, install.ID, by, "the pin"); err != nil {
		return err
	}
	install.PinReleaseID, install.PinReason, install.PinnedBy = &r.ID, reason, by
	s, err := loadLocked(ctx, tx, install, nil)
	if err != nil {
		return err
	}
	for name, w := range s.desiredStates() {
		if w.rejection == nil {
			continue
		}
		if err := tx.DeleteRejection(ctx, tx.Org, s.components[name].row.ID, w.Digest); err != nil {
			return fmt.Errorf("pin install %s: %w", install.Name, err)
		}
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: install.ID})
}

// Unpin makes a locked install follow the newest complete release again.
func Unpin(ctx context.Context, tx *store.Tx, install store.Install, by string) error {
	if err := tx.PinInstall(ctx, store.PinInstallParams{OrgID: tx.Org, ID: install.ID}); err != nil {
		return fmt.Errorf("unpin install %s: %w", install.Name, err)
	}
	if err := RecordInstallChange(ctx, tx, install.ID, by, "the pin"); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: install.ID})
}

// ReleaseConfig returns the config of an install's release: the one that installs follow, or the
// one that it is pinned to. Before the first release it returns an app without components.
func ReleaseConfig(ctx context.Context, tx *store.Tx, install store.Install) (*appconfig.App, error) {
	part, err := newReleaseCache(nil).get(ctx, tx, install)
	if err != nil {
		return nil, fmt.Errorf("read the app of install %s: %w", install.Name, err)
	}
	if part.config == nil {
		return &appconfig.App{}, nil
	}
	return part.config, nil
}
