package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// errNothingToBuild reports that an app does not exist or has no version, so nothing can be built.
var errNothingToBuild = errors.New("nothing to build")

// appState is an app before its inputs are determined.
type appState struct {
	row          store.App
	version      store.AppVersion
	config       appconfig.App
	configBroken bool            // the newest revision's config has errors, so the version is an older one
	revision     *store.Revision // at which the config was read; nil for an uploaded app
	readAt       *store.Revision // revision, or if its config has errors, the revision of the version
	watch        *store.Watch    // of the app's repository; nil for an uploaded app
	released     bool            // the newest release was made of the version
	components   []componentState
}

// componentState is a component or the source of actions, and the place of its code.
type componentState struct {
	row           store.Component
	config        appconfig.Component
	ownRepository bool // its code is in the config, or in the app's own repository at the app's commit
	inline        bool // built from the config alone: a text or a fetched chart; no revision in an uploaded app
	revision      *store.Revision
	watch         *store.Watch // the watch of the revision
	watchError    string       // why revision is nil, if its repository could not be read
	url           string
	current       *store.ComponentInput
}

func (b *Builder) read(ctx context.Context, org, appID string) (app appState, err error) {
	err = b.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		app, err = readApp(ctx, tx, appID)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return app, errNothingToBuild
	}
	return app, err
}

func readApp(ctx context.Context, tx *store.Tx, appID string) (app appState, err error) {
	if app.row, err = tx.AppByID(ctx, tx.Org, appID); err != nil {
		return app, err
	}
	if app.row.VersionID == nil {
		return app, errNothingToBuild
	}
	if app.version, err = tx.AppVersionByID(ctx, tx.Org, *app.row.VersionID); err != nil {
		return app, err
	}
	if err := json.Unmarshal(app.version.Config, &app.config); err != nil {
		return app, fmt.Errorf("read app version %d: %w", app.version.Number, err)
	}
	var found appconfig.Diagnostics
	if err := json.Unmarshal(app.row.Diagnostics, &found); err != nil {
		return app, fmt.Errorf("read diagnostics: %w", err)
	}
	app.configBroken = found.HasErrors()
	if app.row.RevisionID != nil {
		revision, err := tx.WatchRevision(ctx, tx.Org, *app.row.RevisionID)
		if err != nil {
			return app, err
		}
		app.revision, app.readAt = &revision, &revision
	}
	if app.configBroken && app.version.RevisionID != nil {
		revision, err := tx.WatchRevision(ctx, tx.Org, *app.version.RevisionID)
		if err != nil {
			return app, err
		}
		app.readAt = &revision
	}
	if app.row.WatchID != nil {
		watch, err := tx.WatchByID(ctx, tx.Org, *app.row.WatchID)
		if err != nil {
			return app, err
		}
		app.watch = &watch
	}
	newest, err := tx.NewestRelease(ctx, tx.Org, appID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return app, err
	}
	app.released = err == nil && newest.VersionID == app.version.ID
	rows, err := tx.ComponentsOfApp(ctx, tx.Org, appID)
	if err != nil {
		return app, err
	}
	built := app.config.Built()
	for _, row := range rows {
		component, err := readComponent(ctx, tx, &app, built, row)
		if err != nil {
			return app, fmt.Errorf("read component %s: %w", row.Name, err)
		}
		app.components = append(app.components, component)
	}
	return app, nil
}

// currentInput returns the input that a component has, or nil.
func (a appState) currentInput(componentID string) *store.ComponentInput {
	for _, c := range a.components {
		if c.row.ID == componentID {
			return c.current
		}
	}
	return nil
}

func readComponent(
	ctx context.Context, tx *store.Tx, app *appState, built []appconfig.Component, row store.Component,
) (componentState, error) {
	component := componentState{row: row}
	i := slices.IndexFunc(built, func(c appconfig.Component) bool { return c.Name == row.Name })
	if i < 0 {
		return component, fmt.Errorf("it is not in app version %d", app.version.Number)
	}
	config := built[i]
	component.config, component.inline = config, config.Source == nil
	component.ownRepository = component.inline || config.Source.IsAppRepository()
	if row.InputID != nil {
		current, err := tx.ComponentInputByID(ctx, tx.Org, *row.InputID)
		if err != nil {
			return component, err
		}
		component.current = &current
	}
	if row.WatchID == nil {
		return component, nil
	}
	watch, err := tx.WatchByID(ctx, tx.Org, *row.WatchID)
	if err != nil {
		return component, err
	}
	component.url, component.watch = watch.URL, &watch
	switch {
	case component.ownRepository:
		component.revision = app.revision
	case watch.RevisionID != nil:
		revision, err := tx.WatchRevision(ctx, tx.Org, *watch.RevisionID)
		if err != nil {
			return component, err
		}
		component.revision = &revision
	default:
		component.watchError = watch.Error
	}
	return component, nil
}
