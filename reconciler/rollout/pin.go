package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// CodeNotBuilt is the code of the *workflow.Conflict that Pin gives for a version that cannot be had throughout.
const CodeNotBuilt = "not_built"

// Pin holds a locked install at one version of its app, an earlier one too: from now on that is what is wanted of it, and what differs
// is behind. A person asks for just this, so a no to it that was said before is forgotten; a no to anything else stays. The caller
// audits it. Errors: *workflow.Conflict.
func Pin(ctx context.Context, tx *store.Tx, install store.Install, number int, reason, by string) error {
	version, err := tx.VersionByNumber(ctx, tx.Org, install.AppID, int32(min(number, 1<<30))) //nolint:gosec // bounded
	if errors.Is(err, store.ErrNotFound) {
		return refuse(CodeUnknownVersion, "Use one that `nuon apps versions` lists.", "the app of install %s has no version %d", install.Name, number)
	}
	if err != nil {
		return err
	}
	part, err := readVersion(ctx, tx, install.AppID, version.ID)
	if err != nil {
		return err
	}
	if missing := part.unbuilt(); len(missing) > 0 {
		return refuse(CodeNotBuilt, "Name another version, or push the code of that one again.", "version %d cannot be had: %s", number, strings.Join(missing, "; "))
	}
	if err := tx.PinInstall(ctx, store.PinInstallParams{OrgID: tx.Org, ID: install.ID, PinVersionID: &version.ID, PinReason: reason, PinnedBy: by}); err != nil {
		return fmt.Errorf("pin install %s: %w", install.Name, err)
	}
	install.PinVersionID, install.PinReason, install.PinnedBy = &version.ID, reason, by
	s, err := load(ctx, tx, install)
	if err != nil {
		return err
	}
	for name, w := range s.desire() {
		if w.refusal == nil {
			continue
		}
		if err := tx.DropRefusal(ctx, tx.Org, s.places[name].row.ID, w.Digest); err != nil {
			return fmt.Errorf("pin install %s: %w", install.Name, err)
		}
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: install.ID})
}

// Unpin lets a locked install follow the app's current version again.
func Unpin(ctx context.Context, tx *store.Tx, install store.Install) error {
	if err := tx.PinInstall(ctx, store.PinInstallParams{OrgID: tx.Org, ID: install.ID}); err != nil {
		return fmt.Errorf("unpin install %s: %w", install.Name, err)
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: install.ID})
}

// unbuilt says which components of the version have no artifact, and will not get one by themselves.
func (p *appPart) unbuilt() []string {
	var missing []string
	for _, c := range p.components {
		if p.declared[c.Name].config == nil || p.artifacts[c.ID] != nil {
			continue
		}
		switch newest := p.newest[c.ID]; {
		case newest == nil:
			missing = append(missing, fmt.Sprintf("what %s is built from in it was never worked out", c.Name))
		case newest.Status == "failed":
			missing = append(missing, fmt.Sprintf("build %d of %s failed", newest.Number, c.Name))
		}
	}
	return missing
}

// Declared is what an install's version declares: the app's current one, or the one that it is held at; an app without components
// before the first version.
func Declared(ctx context.Context, tx *store.Tx, install store.Install) (*appconfig.App, error) {
	part, err := shared{}.of(ctx, tx, install)
	if err != nil {
		return nil, fmt.Errorf("read the app of install %s: %w", install.Name, err)
	}
	if part.config == nil {
		return &appconfig.App{}, nil
	}
	return part.config, nil
}
