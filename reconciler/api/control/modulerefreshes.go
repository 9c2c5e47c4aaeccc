package control

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// CreateModuleRefresh implements POST /v1/apps/{app}/module-refreshes.
func (s *Server) CreateModuleRefresh(
	ctx context.Context, r CreateModuleRefreshRequestObject,
) (CreateModuleRefreshResponseObject, error) {
	var out api.ModuleRefresh
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		app, err := tx.LockApp(ctx, tx.Org, found.ID) // its inputs stay the same while they are read
		if err != nil {
			return err
		}
		actor := callerOf(ctx).actor
		started, err := s.services.Builds.Refresh(ctx, tx, app, build.RefreshRequest{
			Components: r.Body.Components, DryRun: r.Body.DryRun, Actor: actor,
		})
		if err != nil {
			return err
		}
		if out, err = viewModuleRefresh(ctx, tx, app, started); err != nil {
			return err
		}
		return tx.Audit(ctx, actor, "build.refresh", started, map[string]any{
			"app": app.Name, "components": r.Body.Components, "dry_run": r.Body.DryRun,
		})
	})
	return CreateModuleRefresh201JSONResponse(out), err
}

// GetModuleRefresh implements GET /v1/apps/{app}/module-refreshes/{refresh}.
func (s *Server) GetModuleRefresh(
	ctx context.Context, r GetModuleRefreshRequestObject,
) (GetModuleRefreshResponseObject, error) {
	var out api.ModuleRefresh
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		out, err = viewModuleRefresh(ctx, tx, app, r.Refresh)
		return err
	})
	return GetModuleRefresh200JSONResponse(out), err
}

// CancelModuleRefresh implements POST /v1/apps/{app}/module-refreshes/{refresh}/cancel.
func (s *Server) CancelModuleRefresh(
	ctx context.Context, r CancelModuleRefreshRequestObject,
) (CancelModuleRefreshResponseObject, error) {
	var out api.ModuleRefresh
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		row, err := tx.ViewModuleRefresh(ctx, tx.Org, app.ID, r.Refresh)
		if err != nil {
			return named("refresh", r.Refresh, err)
		}
		actor := callerOf(ctx).actor
		if err := s.services.Builds.CancelRefresh(ctx, tx, row, actor+" cancelled the refresh"); err != nil {
			return err
		}
		if out, err = viewModuleRefresh(ctx, tx, app, row.ID); err != nil {
			return err
		}
		return tx.Audit(ctx, actor, "build.refresh_cancel", row.ID, map[string]any{"app": app.Name})
	})
	return CancelModuleRefresh200JSONResponse(out), err
}

func viewModuleRefresh(ctx context.Context, tx *store.Tx, app store.App, id string) (api.ModuleRefresh, error) {
	row, err := tx.ViewModuleRefresh(ctx, tx.Org, app.ID, id)
	if err != nil {
		return api.ModuleRefresh{}, named("refresh", id, err)
	}
	out := api.ModuleRefresh{
		ID: row.ID, App: app.Name, Status: api.ModuleRefreshStatus(row.Status), DryRun: row.DryRun,
		RequestedBy: row.RequestedBy, Error: row.Error, Release: int(row.Release), CreatedAt: row.CreatedAt,
		Components: []api.RefreshedComponent{},
	}
	if row.EndedAt != nil {
		out.EndedAt = *row.EndedAt
	}
	parts, err := tx.ModuleRefreshComponents(ctx, tx.Org, row.ID)
	if err != nil {
		return out, err
	}
	waits, err := waitsOf(ctx, tx, each(parts, func(p store.ModuleRefreshComponentsRow) *string {
		return &p.ModuleRefreshComponent.JobID
	}))
	if err != nil {
		return out, err
	}
	for _, p := range parts {
		one := p.ModuleRefreshComponent
		changes, err := build.Changes(one)
		if err != nil {
			return out, err
		}
		out.Components = append(out.Components, api.RefreshedComponent{
			Component: p.Name, Status: api.RefreshedComponentStatus(one.Status), Job: one.JobID, Waits: waits[one.JobID],
			Error: one.Error, Build: one.BuildID, Changes: changes,
		})
	}
	return out, nil
}
