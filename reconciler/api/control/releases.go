package control

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/preview"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListReleases implements GET /v1/apps/{app}/releases.
func (s *Server) ListReleases(ctx context.Context, r ListReleasesRequestObject) (ListReleasesResponseObject, error) {
	var list api.ReleaseList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		rows, err := tx.ViewReleases(ctx, store.ViewReleasesParams{
			OrgID: tx.Org, AppID: app.ID, Before: beforeNumber(r.Params.Cursor), Most: most,
		})
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most, func(r store.ViewReleasesRow) string { return strconv.Itoa(int(r.Number)) })
		list.Items, err = eachErr(rows,
			func(r store.ViewReleasesRow) (api.Release, error) { return viewRelease(store.ViewReleaseRow(r)) })
		return err
	})
	return ListReleases200JSONResponse(list), err
}

// GetRelease implements GET /v1/apps/{app}/releases/{release}.
func (s *Server) GetRelease(ctx context.Context, r GetReleaseRequestObject) (GetReleaseResponseObject, error) {
	var out api.Release
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		out, err = wholeRelease(ctx, tx, app, r.Release)
		return err
	})
	return GetRelease200JSONResponse(out), err
}

// DiffRelease implements GET /v1/apps/{app}/releases/{release}/diff.
func (s *Server) DiffRelease(ctx context.Context, r DiffReleaseRequestObject) (DiffReleaseResponseObject, error) {
	var out api.ReleaseDiff
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		from, err := releaseRow(ctx, tx, app, r.Params.From)
		if err != nil {
			return err
		}
		to, err := releaseRow(ctx, tx, app, r.Release)
		if err != nil {
			return err
		}
		as := func(r store.ViewReleaseRow) store.Release {
			return store.Release{ID: r.ID, Number: r.Number, VersionID: r.VersionID}
		}
		if out, err = preview.Releases(ctx, tx, as(from), as(to)); err != nil {
			return err
		}
		if out.From, err = viewRelease(from); err != nil {
			return err
		}
		out.To, err = viewRelease(to)
		return err
	})
	return DiffRelease200JSONResponse(out), err
}

// CreatePartialRelease implements POST /v1/apps/{app}/releases.
func (s *Server) CreatePartialRelease(
	ctx context.Context, r CreatePartialReleaseRequestObject,
) (CreatePartialReleaseResponseObject, error) {
	var out api.Release
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		app, err := tx.LockApp(ctx, tx.Org, found.ID) // releases are numbered under its lock
		if err != nil {
			return err
		}
		actor := callerOf(ctx).actor
		made, err := s.services.Builds.ReleasePartial(ctx, tx, app, actor)
		if err != nil {
			return err
		}
		if err := tx.Audit(ctx, actor, "release.partial", made.ID, map[string]any{
			"app": app.Name, "release": made.Number,
		}); err != nil {
			return err
		}
		out, err = wholeRelease(ctx, tx, app, int(made.Number))
		return err
	})
	return CreatePartialRelease201JSONResponse(out), err
}

// releaseRow finds a release by its number.
func releaseRow(ctx context.Context, tx *store.Tx, app store.App, number int) (store.ViewReleaseRow, error) {
	// No release has a number outside the range of the column.
	row, err := tx.ViewRelease(ctx, tx.Org, app.ID, int32(max(-1, min(number, math.MaxInt32)))) //nolint:gosec // bounded right here
	if isNotFound(err) {
		err = problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("app %s has no release %d", app.Name, number),
			"`nuon releases list "+app.Name+"` lists those that it has.")
	}
	return row, err
}

// wholeRelease returns a release with its components.
func wholeRelease(ctx context.Context, tx *store.Tx, app store.App, number int) (api.Release, error) {
	row, err := releaseRow(ctx, tx, app, number)
	if err != nil {
		return api.Release{}, err
	}
	out, err := viewRelease(row)
	if err != nil {
		return out, err
	}
	components, err := tx.ReleaseComponents(ctx, tx.Org, row.ID)
	out.Components = each(components, func(c store.ReleaseComponentsRow) api.ReleasedComponent {
		return api.ReleasedComponent{
			Name: c.Name, Kind: c.Kind, Build: int(c.Build), BuildID: c.BuildID, Status: c.Status,
			Artifact: c.Artifact, Input: c.InputDigest,
			Commit: c.Commit, KeptFrom: int(c.KeptFrom), Problem: c.Problem,
		}
	})
	return out, err
}

func viewRelease(r store.ViewReleaseRow) (api.Release, error) {
	out := api.Release{
		ID: r.ID, Number: int(r.Number), Digest: r.Digest, Version: int(r.Version),
		Status: api.ReleaseStatus(r.Status), Reason: r.Reason, Cause: r.Cause,
		Partial: r.Partial, CreatedAt: r.CreatedAt,
	}
	if r.CompletedAt != nil {
		out.CompletedAt = *r.CompletedAt
	}
	commits, err := release.Commits(store.Release{Number: r.Number, Commits: r.Commits})
	out.Commits = each(commits, func(c release.Commit) api.ReleasedCommit {
		return api.ReleasedCommit{
			Repository: c.Repository, Ref: c.Ref, Commit: c.Commit, Subject: c.Subject, Upload: c.Upload,
		}
	})
	out.Commit = release.Name(commits)
	return out, err
}
