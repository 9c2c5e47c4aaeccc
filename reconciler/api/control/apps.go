package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/garbage"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// appName is rule 12 of the format.
var appName = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// ListApps implements GET /v1/apps.
func (s *Server) ListApps(ctx context.Context, r ListAppsRequestObject) (ListAppsResponseObject, error) {
	var list api.AppList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		most := page(r.Params.Limit)
		rows, err := tx.ViewApps(ctx, tx.Org, r.Params.Cursor, most)
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most, func(a store.App) string { return a.Name })
		list.Items, err = viewApps(ctx, tx, rows)
		return err
	})
	return ListApps200JSONResponse(list), err
}

// GetApp implements GET /v1/apps/{app}.
func (s *Server) GetApp(ctx context.Context, r GetAppRequestObject) (GetAppResponseObject, error) {
	var app api.App
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		if app, err = viewApp(ctx, tx, row); err != nil {
			return err
		}
		app.Images, err = viewImageRefreshes(ctx, tx, row.ID)
		return err
	})
	return GetApp200JSONResponse(app), err
}

// viewImageRefreshes returns when the images of an app were resolved again last, and when next.
func viewImageRefreshes(ctx context.Context, tx *store.Tx, app string) (view api.ImageRefreshes, err error) {
	last, err := tx.LastRefresh(ctx, tx.Org, app)
	if err == nil {
		view.LastAt, view.LastError = last.CreatedAt, last.Error
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		view.NextAt, err = tx.NextRefresh(ctx, tx.Org, app)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return view, err
}

// CreateApp implements POST /v1/apps.
func (s *Server) CreateApp(ctx context.Context, r CreateAppRequestObject) (CreateAppResponseObject, error) {
	app, err := once(ctx, s, repeatable{
		operation: "createApp", key: r.Params.IdempotencyKey, request: r.Body,
	}, func(ctx context.Context, tx *store.Tx) (api.App, error) {
		return s.createApp(ctx, tx, *r.Body)
	})
	return CreateApp201JSONResponse(app), err
}

func (s *Server) createApp(ctx context.Context, tx *store.Tx, n api.NewApp) (api.App, error) {
	if !appName.MatchString(n.Name) {
		return api.App{}, badName("an app", n.Name)
	}
	if err := notLikeID("an app", "app", n.Name); err != nil {
		return api.App{}, err
	}
	directory := path.Clean(n.Directory)
	if !fs.ValidPath(directory) {
		return api.App{}, problem.New(http.StatusUnprocessableEntity, "bad_directory",
			quoted(n.Directory)+" is not a directory inside a repository",
			"Write it from the repository's root, such as apps/hello.")
	}
	params := store.AddAppParams{OrgID: tx.Org, ID: id.New("app"), Name: n.Name, Directory: directory}
	if n.Repository != "" {
		watch, err := s.watchFor(ctx, tx, n)
		if err != nil {
			return api.App{}, err
		}
		params.WatchID = &watch.ID
	}
	row, err := tx.AddApp(ctx, params)
	if _, taken := store.IsUniqueViolation(err); taken {
		return api.App{}, problem.Error{
			Status: http.StatusConflict, Code: "exists", Title: "app " + quoted(n.Name) + " already exists",
		}
	}
	if err != nil {
		return api.App{}, fmt.Errorf("create app %s: %w", n.Name, err)
	}
	// The watch may have been polled for another app already; then no new revision would arrive to
	// have this app's config read.
	if err := tx.SetDueIn(ctx, store.SetDueInParams{OrgID: tx.Org, Kind: store.DueApp, ID: row.ID}); err != nil {
		return api.App{}, err
	}
	if err := tx.Audit(ctx, callerOf(ctx).actor, "app.create", row.ID, map[string]any{"name": row.Name}); err != nil {
		return api.App{}, err
	}
	return viewApp(ctx, tx, row)
}

// DeleteApp implements DELETE /v1/apps/{app}.
func (s *Server) DeleteApp(ctx context.Context, r DeleteAppRequestObject) (DeleteAppResponseObject, error) {
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		app, err := tx.LockApp(ctx, tx.Org, found.ID) // the lock prevents a new install of it until the end
		if err != nil {
			return err
		}
		installs, err := tx.InstallNamesOfApp(ctx, tx.Org, app.ID, namesShown+1)
		if err != nil {
			return err
		}
		if len(installs) > 0 {
			return problem.New(http.StatusConflict, "in_use", "app "+app.Name+" has installs: "+someOf(installs),
				"`nuon installs deprovision` removes what is deployed, and `nuon installs forget` its record.")
		}
		if err := cancelBuilds(ctx, tx, app); err != nil {
			return err
		}
		if err := tx.ClearDue(ctx, tx.Org, store.DueApp, app.ID); err != nil {
			return err
		}
		if err := garbage.Forget(ctx, tx, app.ID); err != nil {
			return err
		}
		if err := fenced(tx.DropApp(ctx, tx.Org, app.ID)); err != nil {
			return fmt.Errorf("delete app %s: %w", app.Name, err)
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "app.delete", app.ID, map[string]any{"name": app.Name})
	})
	return DeleteApp204Response{}, err
}

// cancelBuilds cancels the builds of an app that may be running.
func cancelBuilds(ctx context.Context, tx *store.Tx, app store.App) error {
	open, err := tx.OpenJobsOfApp(ctx, tx.Org, app.ID)
	if err != nil {
		return err
	}
	for _, job := range open {
		if err := jobs.Cancel(ctx, tx, job, "app "+app.Name+" was deleted"); err != nil {
			return err
		}
	}
	return nil
}

// badName refuses a name that violates appName.
func badName(what, name string) error {
	return problem.New(http.StatusUnprocessableEntity, "bad_name", what+" cannot be named "+quoted(name),
		"Use lower-case letters, digits, - and _, at most 63.")
}

// notLikeID refuses a name in the form of an id of the same kind. Requests find a record by its id or its name, so the
// id of another record could mean the one with that name.
func notLikeID(what, prefix, name string) error {
	if !id.Valid(prefix, name) {
		return nil
	}
	return problem.New(http.StatusUnprocessableEntity, "bad_name",
		what+" cannot be named "+quoted(name)+": it has the form of an id", "Choose a name that people recognize.")
}

// watchFor finds or creates the watch of a new app.
func (s *Server) watchFor(ctx context.Context, tx *store.Tx, n api.NewApp) (store.Watch, error) {
	credential := ""
	if n.Credential != "" {
		c, err := tx.LockCredential(ctx, tx.Org, n.Credential)
		if err != nil {
			return store.Watch{}, named("credential", n.Credential, err)
		}
		credential = c.ID
	}
	ref := orElse(n.Ref, "main")
	if err := s.services.Repositories.Check(n.Repository, ref); err != nil {
		return store.Watch{}, repositoryRefusal(err)
	}
	watch, err := s.services.Repositories.Connect(ctx, tx, n.Repository, ref, credential)
	return watch, repositoryRefusal(err)
}

// ListAppVersions implements GET /v1/apps/{app}/versions.
func (s *Server) ListAppVersions(
	ctx context.Context, r ListAppVersionsRequestObject,
) (ListAppVersionsResponseObject, error) {
	var list api.AppVersionList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		rows, err := tx.ViewVersionsOfApp(ctx, store.ViewVersionsOfAppParams{
			OrgID: tx.Org, AppID: app.ID, Before: beforeNumber(r.Params.Cursor), Most: most,
		})
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most,
			func(v store.ViewVersionsOfAppRow) string { return strconv.Itoa(int(v.Number)) })
		list.Items = each(rows,
			func(v store.ViewVersionsOfAppRow) api.AppVersion { return viewVersionOf(store.ViewAppVersionsRow(v)) })
		return nil
	})
	return ListAppVersions200JSONResponse(list), err
}

// ListComponents implements GET /v1/apps/{app}/components.
func (s *Server) ListComponents(
	ctx context.Context, r ListComponentsRequestObject,
) (ListComponentsResponseObject, error) {
	var list api.ComponentList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		config, err := currentConfig(ctx, tx, app)
		if err != nil {
			return err
		}
		builds, err := newestBuilds(ctx, tx, app.ID)
		if err != nil {
			return err
		}
		rows, err := tx.ViewComponents(ctx, tx.Org, app.ID)
		deployed := config.Deployed()
		list.Items = each(rows, func(c store.Component) api.Component {
			return api.Component{
				ID: c.ID, Name: c.Name, Kind: c.Kind, Problem: c.Problem,
				DependsOn: append([]string{}, deployed.DependsOn(c.Name)...), Build: builds[c.Name],
			}
		})
		return err
	})
	return ListComponents200JSONResponse(list), err
}

// currentConfig returns the app's current version, or an app without components before the first
// one.
func currentConfig(ctx context.Context, tx *store.Tx, app store.App) (*appconfig.App, error) {
	config := &appconfig.App{}
	if app.VersionID == nil {
		return config, nil
	}
	v, err := tx.AppVersionByID(ctx, tx.Org, *app.VersionID)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(v.Config, config); err != nil {
		return nil, fmt.Errorf("read app version %s: %w", v.ID, err)
	}
	return config, nil
}

func findApp(ctx context.Context, tx *store.Tx, key string) (store.App, error) {
	app, err := tx.ViewApp(ctx, tx.Org, key)
	if err != nil {
		return store.App{}, named("app", key, err)
	}
	return app, nil
}

func viewApp(ctx context.Context, tx *store.Tx, a store.App) (api.App, error) {
	all, err := viewApps(ctx, tx, []store.App{a})
	if err != nil {
		return api.App{}, err
	}
	return all[0], nil
}

// viewApps returns apps with their repositories, newest revisions, versions and releases. The
// number of queries does not depend on the number of apps.
func viewApps(ctx context.Context, tx *store.Tx, rows []store.App) ([]api.App, error) {
	watches, err := tx.WatchesByID(ctx, tx.Org, idsOf(rows, func(a store.App) *string { return a.WatchID }))
	if err != nil {
		return nil, err
	}
	revisions, err := viewRevisions(ctx, tx, idsOf(watches, func(w store.Watch) *string { return w.RevisionID }))
	if err != nil {
		return nil, err
	}
	versions, err := tx.ViewAppVersions(ctx, tx.Org, idsOf(rows, func(a store.App) *string { return a.VersionID }))
	if err != nil {
		return nil, err
	}
	releases, err := tx.ViewNewestReleases(ctx, each(rows, func(a store.App) string { return a.ID }), tx.Org)
	if err != nil {
		return nil, err
	}
	unbuilt, err := viewUnbuilt(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	releaseOf := byID(releases, func(r store.ViewNewestReleasesRow) string { return r.AppID })
	watchOf := byID(watches, func(w store.Watch) string { return w.ID })
	versionOf := byID(versions, func(v store.ViewAppVersionsRow) string { return v.ID })
	return eachErr(rows, func(a store.App) (api.App, error) {
		app := api.App{
			ID: a.ID, Name: a.Name, Directory: a.Directory, CreatedAt: a.CreatedAt, Diagnostics: []api.Diagnostic{},
			Unbuilt: unbuilt[a.ID],
		}
		if err := json.Unmarshal(a.Diagnostics, &app.Diagnostics); err != nil {
			return api.App{}, fmt.Errorf("read diagnostics of app %s: %w", a.Name, err)
		}
		if a.WatchID != nil {
			w := watchOf[*a.WatchID]
			app.Repository, app.Ref, app.Problem = w.URL, w.Ref, w.Error
			if w.RevisionID != nil {
				app.Revision = revisions[*w.RevisionID]
			}
		}
		if a.VersionID != nil {
			app.Version = viewVersionOf(versionOf[*a.VersionID])
		}
		if r, any := releaseOf[a.ID]; any {
			if app.Release, err = viewRelease(store.ViewReleaseRow(r)); err != nil {
				return api.App{}, err
			}
		}
		return app, nil
	})
}

// viewUnbuilt returns the components of apps that cannot be built, or whose newest build has not
// succeeded, by app.
func viewUnbuilt(ctx context.Context, tx *store.Tx, apps []store.App) (map[string][]api.UnbuiltComponent, error) {
	rows, err := tx.ViewUnbuilt(ctx, tx.Org, each(apps, func(a store.App) string { return a.ID }))
	out := map[string][]api.UnbuiltComponent{}
	for _, r := range rows {
		c := api.UnbuiltComponent{Name: r.Name, Problem: r.Problem}
		if r.BuildID != "" {
			c.Build = api.NewestBuild{ID: r.BuildID, Number: int(r.Number), Status: api.BuildStatus(r.Status), Error: r.Error}
			if r.EndedAt != nil {
				c.Build.EndedAt = *r.EndedAt
			}
		}
		out[r.AppID] = append(out[r.AppID], c)
	}
	return out, err
}

func viewVersionOf(v store.ViewAppVersionsRow) api.AppVersion {
	return api.AppVersion{
		ID: v.ID, Number: int(v.Number), Digest: v.Digest, Commit: v.Commit, Reason: v.Reason, CreatedAt: v.CreatedAt,
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
