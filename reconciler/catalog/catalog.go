package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/configfetch"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Builder determines what to build of an app (reconciler/build).
type Builder interface {
	Reconcile(ctx context.Context, org, app string) error
}

// Catalog is the service of this package. It is safe for concurrent use.
type Catalog struct {
	store    *store.Store
	observer *observe.Observer
	builder  Builder
	fetcher  *configfetch.Fetcher
	unpacked chan struct{}
}

// New returns the service. SyncNow and Upload call builder and wait for it; otherwise builds are
// enqueued.
func New(s *store.Store, observer *observe.Observer, builder Builder) *Catalog {
	return &Catalog{store: s, observer: observer, builder: builder, fetcher: configfetch.New(configfetch.Options{}),
		unpacked: make(chan struct{}, maxUnpacked)}
}

// Reconcile reads an app's config from the newest revision of its repository, unless that was done
// and no file that it refers to elsewhere was missing then, and enqueues its builds. For an
// uploaded app, and one whose repository was not polled yet, it only enqueues the builds.
func (c *Catalog) Reconcile(ctx context.Context, org, appID string) error {
	if err := c.readApp(ctx, org, appID, false); err != nil {
		return err
	}
	return c.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.AppByID(ctx, org, appID); errors.Is(err, store.ErrNotFound) {
			return tx.ClearDue(ctx, org, store.DueApp, appID)
		} else if err != nil {
			return err
		}
		if err := setDueIn(ctx, tx, appID, rereadInterval); err != nil {
			return err
		}
		return tx.Enqueue(ctx, queue.Build{Org: org, App: appID})
	})
}

// The intervals after which an app is reconciled without a request, so that no lost or abandoned
// request has a lasting effect: the registry may have been down for longer than its build was
// retried. soon applies after a config was read by a caller that continues with the builds itself,
// in case it fails before.
const (
	rereadInterval = 15 * time.Minute
	retryInterval  = time.Minute
)

func setDueIn(ctx context.Context, tx *store.Tx, appID string, in time.Duration) error {
	return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: tx.Org, Kind: store.DueApp, ID: appID, InSeconds: in.Seconds()})
}

// readApp is Reconcile without the builds. again reads a revision that was read before, because
// files elsewhere that the config refers to may have changed.
func (c *Catalog) readApp(ctx context.Context, org, appID string, again bool) (err error) {
	at, err := c.loadState(ctx, org, appID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // the app was deleted
	}
	if err != nil {
		return fmt.Errorf("read app %s: %w", appID, err)
	}
	if at.revision == nil || at.isRead() && !again && !at.hasUnreadFiles() {
		return nil
	}
	ctx, span := telemetry.StartSpan(telemetry.Extract(ctx, at.revision.Trace), "catalog",
		slog.String("org", org), slog.String("app", appID), slog.String("revision", at.revision.ID))
	defer func() { span.End(err) }()
	tree, err := c.observer.Tree(ctx, org, at.revision.ID)
	if err != nil {
		return fmt.Errorf("read the config of app %s: %w", at.app.Name, err)
	}
	config, found, err := c.readConfig(ctx, tree, at.app.Directory, at.watch)
	if err := errors.Join(err, tree.Err()); err != nil {
		return fmt.Errorf("read the config of app %s: %w", at.app.Name, err)
	}
	if config != nil {
		found = append(found, c.checkSources(config, true)...)
	}
	if err := c.save(ctx, org, at, config, found); err != nil {
		return fmt.Errorf("load the config of app %s: %w", at.app.Name, err)
	}
	return nil
}

// appState is what is stored about an app before its config is read.
type appState struct {
	app      store.App
	watch    *store.Watch
	revision *store.Revision
	current  *store.AppVersion
}

// isRead reports whether the newest revision was read.
func (p appState) isRead() bool { return p.app.RevisionID != nil && *p.app.RevisionID == p.revision.ID }

func (c *Catalog) loadState(ctx context.Context, org, appID string) (at appState, err error) {
	err = c.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		app, err := tx.AppByID(ctx, org, appID)
		if err != nil {
			return err
		}
		at, err = stateOf(ctx, tx, app)
		return err
	})
	return at, err
}

func stateOf(ctx context.Context, tx *store.Tx, app store.App) (appState, error) {
	at := appState{app: app}
	if app.VersionID != nil {
		current, err := tx.AppVersionByID(ctx, tx.Org, *app.VersionID)
		if err != nil {
			return at, err
		}
		at.current = &current
	}
	if app.WatchID == nil {
		return at, nil
	}
	watch, err := tx.WatchByID(ctx, tx.Org, *app.WatchID)
	if err != nil {
		return at, err
	}
	at.watch = &watch
	if watch.RevisionID == nil {
		return at, nil
	}
	revision, err := tx.WatchRevision(ctx, tx.Org, *watch.RevisionID)
	at.revision = &revision
	return at, err
}

// readConfig loads the config in a directory of a tree, which belongs to a watch if there is one.
// If it returns no config, the diagnostics state why; the only error is the end of ctx.
func (c *Catalog) readConfig(
	ctx context.Context, tree fs.FS, directory string, watch *store.Watch,
) (*appconfig.App, appconfig.Diagnostics, error) {
	if !fs.ValidPath(directory) {
		return nil, appconfig.Diagnostics{configError(ruleDirectory,
			"the directory "+directory+" is not one inside the repository",
			"give the app a directory such as . or apps/shop, without .. and without a slash at either end")}, nil
	}
	if !isDirectory(tree, directory) {
		return nil, appconfig.Diagnostics{configError(ruleDirectory, "the directory "+directory+" is not in the repository",
			"commit the app's config there, or give the app the directory in which it is")}, nil
	}
	below, err := fs.Sub(tree, directory)
	if err != nil {
		return nil, appconfig.Diagnostics{
			configError(ruleDirectory, err.Error(), "give the app a directory inside the repository"),
		}, nil
	}
	return c.load(ctx, below, watch, appconfig.Options{Root: tree, Directory: directory})
}

func isDirectory(tree fs.FS, name string) bool {
	info, err := fs.Stat(tree, name)
	return err == nil && info.IsDir()
}

// checkSources refuses components and sources of actions whose repository this control plane never reads, judged by the
// form of its address.
func (c *Catalog) checkSources(config *appconfig.App, connected bool) (found appconfig.Diagnostics) {
	for _, component := range config.Built() {
		source := component.Source
		if source == nil {
			continue // it is built from the config alone
		}
		if source.IsAppRepository() {
			if !connected {
				found = append(found,
					configError(ruleSource,
						fmt.Sprintf(`%s: repo = "." is the repository that the app lives in, and this app was uploaded`,
							component.Title()),
						"name the repository's URL, or connect the app to its repository"))
			}
			continue
		}
		if err := c.observer.CheckForm(source.URL(), source.Branch); err != nil {
			found = append(found, configError(ruleSource, fmt.Sprintf("%s: %s", component.Title(), err), ""))
		}
	}
	return found
}

// The rules that only a control plane can check.
const (
	ruleDirectory = "app-directory" // the app's directory is in its repository
	ruleSource    = "source"        // this control plane reads the repository of each component
)

// configError returns an error about the config as a whole.
func configError(rule, message, hint string) appconfig.Diagnostic {
	return appconfig.Diagnostic{
		File: ".", Line: 1, Column: 1, Severity: diagnostic.Error, Rule: rule, Message: message, Hint: hint,
	}
}
