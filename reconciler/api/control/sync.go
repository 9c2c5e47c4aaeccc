package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// SyncApp implements POST /v1/apps/{app}/sync, which polls at once.
func (s *Server) SyncApp(ctx context.Context, r SyncAppRequestObject) (SyncAppResponseObject, error) {
	org := callerOf(ctx).org.ID
	var app store.App
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		app, err = findApp(ctx, tx, r.App)
		return err
	})
	if err != nil {
		return nil, err
	}
	if app.WatchID == nil {
		return nil, problem.Error{
			Status: http.StatusConflict, Code: "not_connected",
			Title:  "app " + app.Name + " is not connected to a repository",
			Detail: "Upload its directory: `nuon sync` does so.",
		}
	}
	detail := map[string]any{}
	revision, err := s.services.Catalog.SyncNow(ctx, org, app.ID)
	if revision != nil {
		detail["commit"] = revision.Commit
	}
	// A sync that fails, or whose client has gone, may have stored a version, which is built.
	auditErr := s.change(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		return tx.Audit(ctx, callerOf(ctx).actor, "app.sync", app.ID, detail)
	})
	if err != nil {
		return nil, err
	}
	if auditErr != nil {
		return nil, auditErr
	}
	sync, err := s.syncOf(ctx, app.ID, nil)
	if err != nil {
		return nil, err
	}
	if sync.App.Problem != "" {
		return nil, problem.Error{Status: http.StatusBadGateway, Code: "repository_unreadable", Title: sync.App.Problem}
	}
	if want, have := r.Body.Commit, sync.App.Revision.Commit; want != "" && want != have {
		return nil, problem.Error{
			Status: http.StatusConflict, Code: "unpushed",
			Title: fmt.Sprintf("%s of %s is at commit %.7s, not at %.7s",
				sync.App.Ref, sync.App.Repository, have, want),
			Detail: "Push your commit first, or sync what was pushed with `nuon sync --app NAME`.",
		}
	}
	return SyncApp200JSONResponse(sync), nil
}

// GetSync implements GET /v1/apps/{app}/sync.
func (s *Server) GetSync(ctx context.Context, r GetSyncRequestObject) (GetSyncResponseObject, error) {
	if !r.Params.Installs {
		sync, err := s.syncOf(ctx, r.App, nil)
		return GetSync200JSONResponse(sync), err
	}
	var since int64
	if r.Params.Since != "" {
		var err error
		if since, err = strconv.ParseInt(r.Params.Since, 10, 64); err != nil || since <= 0 {
			return nil, problem.New(http.StatusUnprocessableEntity, "bad_mark",
				"since is not a mark that this request returned", "Omit it to get all installs.")
		}
	}
	sync, err := s.syncOf(ctx, r.App, &since)
	return GetSync200JSONResponse(sync), err
}

// UploadAppVersion implements POST /v1/apps/{app}/versions.
func (s *Server) UploadAppVersion(
	ctx context.Context, r UploadAppVersionRequestObject,
) (UploadAppVersionResponseObject, error) {
	c := callerOf(ctx)
	var app store.App
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		app, err = findApp(ctx, tx, r.App)
		return err
	})
	if err != nil {
		return nil, err
	}
	if app.WatchID != nil {
		return nil, problem.Error{
			Status: http.StatusConflict, Code: "connected",
			Title:  "app " + app.Name + " is connected to a repository, which is its only source",
			Detail: "Commit, push, and run `nuon sync`.",
		}
	}
	_, err = s.services.Catalog.Upload(ctx, c.org.ID, app.ID, "uploaded by "+c.actor, r.Body,
		func(ctx context.Context, tx *store.Tx) error {
			return tx.Audit(ctx, c.actor, "app.upload", app.ID, nil)
		})
	if err != nil {
		return nil, err
	}
	sync, err := s.syncOf(ctx, app.ID, nil)
	return UploadAppVersion200JSONResponse(sync), err
}

// syncOf returns the progress of an app's current version. Unless since is nil, it includes the
// installs that changed since that mark, or all if it is 0.
func (s *Server) syncOf(ctx context.Context, key string, since *int64) (api.Sync, error) {
	sync := api.Sync{Builds: []api.Build{}, Done: true}
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findApp(ctx, tx, key)
		if err != nil {
			return err
		}
		if sync.App, err = viewApp(ctx, tx, row); err != nil {
			return err
		}
		if err := fillBuilds(ctx, tx, row, &sync); err != nil || since == nil {
			return err
		}
		mark, err := tx.ReadMark(ctx) // read before the installs: what changes while they are read is after it
		if err != nil {
			return err
		}
		sync.Mark = strconv.FormatInt(mark, 10)
		if *since == 0 {
			sync.Installs, err = followers(ctx, tx, row.ID)
		} else {
			sync.Installs, err = changedFollowers(ctx, tx, row.ID, *since)
		}
		return err
	})
	return sync, err
}

// changedFollowers returns the installs of an app that changed since a mark. Its cost grows with
// their number, not with that of all installs.
func changedFollowers(ctx context.Context, tx *store.Tx, app string, since int64) ([]api.InstallSummary, error) {
	rows, err := tx.ChangedInstalls(ctx, tx.Org, app, since)
	if err != nil {
		return nil, err
	}
	return summaries(ctx, tx,
		each(rows, func(r store.ChangedInstallsRow) store.ViewInstallsRow { return store.ViewInstallsRow(r) }))
}

// followers returns all installs of an app as they are stored, page by page: a client that waits
// until all have a version must not miss those after the first page.
func followers(ctx context.Context, tx *store.Tx, app string) ([]api.InstallSummary, error) {
	all := []api.InstallSummary{}
	page := store.ViewInstallsParams{OrgID: tx.Org, AppID: app, Labels: json.RawMessage("{}"), Most: pageMost}
	for {
		rows, err := tx.ViewInstalls(ctx, page)
		if err != nil {
			return nil, err
		}
		found, err := summaries(ctx, tx, rows)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if len(rows) < pageMost {
			return all, nil
		}
		page.AfterApp, page.AfterName = rows[len(rows)-1].App, rows[len(rows)-1].Install.Name
	}
}

// fillBuilds adds the build of each component of the current version.
func fillBuilds(ctx context.Context, tx *store.Tx, app store.App, sync *api.Sync) error {
	components, err := tx.ViewComponents(ctx, tx.Org, app.ID)
	if err != nil {
		return err
	}
	builds, err := newestBuilds(ctx, tx, app.ID)
	if err != nil {
		return err
	}
	for _, c := range components {
		b, built := builds[c.Name]
		switch {
		case c.Problem != "":
			sync.Failed = true
		case !built:
			sync.Done = false
			continue
		}
		if !built {
			continue
		}
		sync.Builds = append(sync.Builds, b)
		switch b.Status {
		case api.BuildStatusQueued, api.BuildStatusRunning:
			sync.Done = false
		case api.BuildStatusFailed:
			sync.Failed = true
		}
		if b.Commit != sync.App.Revision.Commit {
			sync.Unchanged = append(sync.Unchanged, c.Name)
		}
	}
	sync.Failed = sync.Failed || hasError(sync.App.Diagnostics)
	if r := sync.App.Release; r.Status == api.ReleaseBuilding || r.Number == 0 && app.VersionID != nil && !sync.Failed {
		sync.Done = false
	}
	return nil
}

func hasError(all []api.Diagnostic) bool {
	for _, d := range all {
		if d.Severity == "error" {
			return true
		}
	}
	return false
}
