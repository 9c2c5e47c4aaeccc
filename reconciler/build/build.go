package build

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TreeReader returns the files of a revision (observe.Observer).
type TreeReader interface {
	Tree(ctx context.Context, org, revisionID string) (*gittree.Tree, error)
}

// Builder is the service of this package, and the owner of build jobs for package jobs. It is safe for
// concurrent use.
type Builder struct {
	store   *store.Store
	trees   TreeReader
	sources SourceStore
	// refreshEvery is how often the images of apps are resolved again; zero for never.
	refreshEvery time.Duration
}

// New returns the service.
func New(s *store.Store, trees TreeReader, sources SourceStore) *Builder {
	return &Builder{store: s, trees: trees, sources: sources}
}

// RefreshEvery sets how often the images of apps are resolved again; zero means never. Call it before any other method.
func (b *Builder) RefreshEvery(every time.Duration) { b.refreshEvery = every }

// Reconcile determines the input of every component of an app's current version and creates the
// missing builds. It changes nothing if nothing has changed since the last call. A component whose
// code cannot be built stays as it was, with the problem as text, and the others continue. An error
// means that something outside the app (the registry, a mirror, the database) failed: call
// Reconcile again later.
func (b *Builder) Reconcile(ctx context.Context, org, appID string) error {
	app, err := b.read(ctx, org, appID)
	if errors.Is(err, errNothingToBuild) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read app %s: %w", appID, err)
	}
	findings, troubles := b.inspectAll(ctx, org, app)
	if err := b.compare(ctx, org, findings); err != nil {
		return fmt.Errorf("build app %s: %w", app.row.Name, err)
	}
	troubles = errors.Join(troubles, b.packAll(ctx, org, findings))
	if err := b.save(ctx, org, app, findings, troubles == nil); err != nil {
		return fmt.Errorf("build app %s: %w", app.row.Name, err)
	}
	if troubles != nil {
		return fmt.Errorf("build app %s: %w", app.row.Name, troubles)
	}
	return nil
}

// ReleasePartial makes a release of the buildable components of a locked app's newest release, and
// rolls it out.
func (*Builder) ReleasePartial(ctx context.Context, tx *store.Tx, app store.App, actor string) (*store.Release, error) {
	made, err := release.CreatePartial(ctx, tx, app, actor)
	if err != nil {
		return nil, err
	}
	return made, enqueueRollout(ctx, tx, *made)
}

// BuildRunnerAdded enqueues the builds that waited for the org's first build runner. Call it in the
// transaction that creates the runner.
func (b *Builder) BuildRunnerAdded(ctx context.Context, tx *store.Tx) error {
	apps, err := tx.AppsWithBuildsWithoutJob(ctx, tx.Org)
	if err != nil {
		return fmt.Errorf("find builds that wait for a runner: %w", err)
	}
	for _, app := range apps {
		if err := tx.Enqueue(ctx, queue.Build{Org: tx.Org, App: app}); err != nil {
			return err
		}
	}
	return nil
}
