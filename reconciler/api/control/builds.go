package control

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListBuilds implements GET /v1/builds.
func (s *Server) ListBuilds(ctx context.Context, r ListBuildsRequestObject) (ListBuildsResponseObject, error) {
	var list api.BuildList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.Params.App)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		rows, err := tx.ViewBuilds(ctx, store.ViewBuildsParams{
			OrgID: tx.Org, AppID: app.ID, Component: r.Params.Component, Before: before(r.Params.Cursor), Most: most,
		})
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most, func(b store.ViewBuildsRow) string { return b.Build.ID })
		waits, err := waitsOf(ctx, tx, each(rows, func(b store.ViewBuildsRow) *string { return b.Build.JobID }))
		list.Items = each(rows,
			func(b store.ViewBuildsRow) api.Build { return viewBuild(b.Build, b.Component, b.InputDigest, waits) })
		return err
	})
	return ListBuilds200JSONResponse(list), err
}

// GetBuild implements GET /v1/builds/{build}.
func (s *Server) GetBuild(ctx context.Context, r GetBuildRequestObject) (GetBuildResponseObject, error) {
	var found api.Build
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		found, err = findBuild(ctx, tx, r.Build)
		return err
	})
	return GetBuild200JSONResponse(found), err
}

// RetryBuild implements POST /v1/builds/{build}/retry.
func (s *Server) RetryBuild(ctx context.Context, r RetryBuildRequestObject) (RetryBuildResponseObject, error) {
	var made api.Build
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		old, err := findBuild(ctx, tx, r.Build)
		if err != nil {
			return err
		}
		again, err := s.services.Builds.Retry(ctx, tx, old.ID)
		if err != nil {
			return err
		}
		if made, err = findBuild(ctx, tx, again); err != nil {
			return err
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "build.retry", old.ID, map[string]any{"build": again})
	})
	return RetryBuild200JSONResponse(made), err
}

func findBuild(ctx context.Context, tx *store.Tx, key string) (api.Build, error) {
	b, err := tx.ViewBuild(ctx, tx.Org, key)
	if err != nil {
		return api.Build{}, named("build", key, err)
	}
	waits, err := waitsOf(ctx, tx, []*string{b.Build.JobID})
	if err != nil {
		return api.Build{}, err
	}
	view := viewBuild(b.Build, b.Component, b.InputDigest, waits)
	view.Modules, err = build.Modules(ctx, tx, b.Build.ID, b.Build.ModulesTool)
	return view, err
}

// newestBuilds returns the newest builds of an app's current components, by component.
func newestBuilds(ctx context.Context, tx *store.Tx, app string) (map[string]api.Build, error) {
	rows, err := tx.ViewNewestBuilds(ctx, tx.Org, app)
	if err != nil {
		return nil, err
	}
	waits, err := waitsOf(ctx, tx, each(rows, func(b store.ViewNewestBuildsRow) *string { return b.Build.JobID }))
	builds := make(map[string]api.Build, len(rows))
	for _, b := range rows {
		builds[b.Component] = viewBuild(b.Build, b.Component, b.InputDigest, waits)
	}
	return builds, err
}

// viewBuild returns the API representation of a build. waits explains why jobs have not started, by
// job.
func viewBuild(b store.Build, component, inputDigest string, waits map[string]string) api.Build {
	out := api.Build{
		ID: b.ID, Component: component, Number: int(b.Number), Status: api.BuildStatus(b.Status),
		InputDigest: inputDigest,
		Repository:  b.Repository, Commit: b.Commit, ArtifactDigest: b.ArtifactDigest, Reason: b.Reason, Error: b.Error,
		CreatedAt: b.CreatedAt,
	}
	if b.JobID != nil {
		out.Job, out.Waits = *b.JobID, waits[*b.JobID]
	} else if b.Status == "queued" {
		out.Waits = "there is no build runner yet: create one with `nuon runners create --kind build NAME`"
	}
	if b.EndedAt != nil {
		out.EndedAt = *b.EndedAt
	}
	return out
}
