package control

import (
	"context"
	"net/http"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// maxReason bounds a person's reason for a pin, in bytes.
const maxReason = 500

// PinInstall implements POST /v1/installs/{install}/pin.
func (s *Server) PinInstall(ctx context.Context, r PinInstallRequestObject) (PinInstallResponseObject, error) {
	if r.Body.Release < 1 {
		return nil, problem.New(http.StatusUnprocessableEntity, "bad_release", "releases are numbered from 1",
			"Use one that `nuon releases list` shows.")
	}
	if len(r.Body.Reason) > maxReason || strings.ContainsFunc(r.Body.Reason, unicode.IsControl) {
		return nil, problem.New(http.StatusUnprocessableEntity, "bad_reason",
			"the reason is too long or has a control character", "Write one line of at most 500 bytes.")
	}
	install, err := s.moveInstall(ctx, r.Install, func(ctx context.Context, tx *store.Tx, row store.Install) error {
		actor := callerOf(ctx).actor
		if err := rollout.Pin(ctx, tx, row, r.Body.Release, r.Body.Reason, actor); err != nil {
			return err
		}
		return tx.Audit(ctx, actor, "install.pin", row.ID, map[string]any{
			"release": r.Body.Release, "reason": r.Body.Reason,
		})
	})
	return PinInstall200JSONResponse(install), err
}

// UnpinInstall implements DELETE /v1/installs/{install}/pin.
func (s *Server) UnpinInstall(ctx context.Context, r UnpinInstallRequestObject) (UnpinInstallResponseObject, error) {
	install, err := s.moveInstall(ctx, r.Install, func(ctx context.Context, tx *store.Tx, row store.Install) error {
		if row.PinReleaseID == nil {
			return nil
		}
		actor := callerOf(ctx).actor
		if err := rollout.Unpin(ctx, tx, row, actor); err != nil {
			return err
		}
		return tx.Audit(ctx, actor, "install.unpin", row.ID, nil)
	})
	return UnpinInstall200JSONResponse(install), err
}

// moveInstall changes the desired state of an install, reconciles the install at once, and returns
// its new state.
func (s *Server) moveInstall(
	ctx context.Context, key string, move func(context.Context, *store.Tx, store.Install) error,
) (install api.Install, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, _, err := findInstall(ctx, tx, key)
		if err != nil {
			return err
		}
		// Locked before it is read: of two concurrent changes to different things, neither
		// overwrites the other.
		row, err := tx.LockInstall(ctx, tx.Org, found.ID)
		if err != nil {
			return err
		}
		install.ID = row.ID
		return move(ctx, tx, row)
	})
	if err != nil {
		return install, err
	}
	logContinueError(ctx, s.services.Rollout.Reconcile(ctx, callerOf(ctx).org.ID, install.ID))
	err = s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		install, err = s.viewInstall(ctx, tx, install.ID)
		return err
	})
	return install, err
}
