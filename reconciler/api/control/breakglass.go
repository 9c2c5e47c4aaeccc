package control

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/breakglass"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListBreakGlass implements GET /v1/break-glass.
func (s *Server) ListBreakGlass(
	ctx context.Context, r ListBreakGlassRequestObject,
) (ListBreakGlassResponseObject, error) {
	var list api.BreakGlassList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, err := installFilter(ctx, tx, r.Params.Install)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		all, err := breakglass.List(ctx, tx, breakglass.Filter{
			Install: install, All: r.Params.All, Before: r.Params.Cursor, Most: most,
		})
		list.Items, list.Next = paged(all, most, func(b api.BreakGlassRequest) string { return b.ID })
		return err
	})
	return ListBreakGlass200JSONResponse(list), err
}

// RequestBreakGlass implements POST /v1/installs/{install}/break-glass.
func (s *Server) RequestBreakGlass(
	ctx context.Context, r RequestBreakGlassRequestObject,
) (RequestBreakGlassResponseObject, error) {
	if err := checkReason(r.Body.Reason); err != nil {
		return nil, err
	}
	var view api.BreakGlassRequest
	err := s.onInstall(ctx, r.Install, func(ctx context.Context, tx *store.Tx, install store.Install) (err error) {
		view, err = breakglass.Request(ctx, tx, install, callerOf(ctx).actor, *r.Body)
		return err
	})
	return RequestBreakGlass201JSONResponse(view), err
}

// RevokeBreakGlass implements POST /v1/installs/{install}/break-glass/revoke.
func (s *Server) RevokeBreakGlass(
	ctx context.Context, r RevokeBreakGlassRequestObject,
) (RevokeBreakGlassResponseObject, error) {
	var view api.BreakGlassRequest
	err := s.onInstall(ctx, r.Install, func(ctx context.Context, tx *store.Tx, install store.Install) (err error) {
		view, err = breakglass.Revoke(ctx, tx, install, callerOf(ctx).actor, *r.Body)
		return err
	})
	return RevokeBreakGlass200JSONResponse(view), err
}

// onInstall changes something of an install, which it locks.
func (s *Server) onInstall(ctx context.Context, key string,
	by func(context.Context, *store.Tx, store.Install) error) error {
	return s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, key)
		if err != nil {
			return err
		}
		if install, err = tx.LockInstall(ctx, tx.Org, install.ID); err != nil {
			return err
		}
		return by(ctx, tx, install)
	})
}
