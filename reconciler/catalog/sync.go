package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ErrUploaded is the refusal to poll the repository of an app that has none.
var ErrUploaded = refusal.New(refusal.Conflict, "not_connected", "the app is not connected to a repository",
	"Upload its directory: `nuon sync` does so.")

// SyncNow polls and reads everything that an app is made of: its repository, its config with the
// files that it refers to, the repositories of its components, and their builds. It returns the
// newest revision of the app's repository, or nil if it has none. A repository that cannot be read
// and errors in the config are not errors of SyncNow: the watch and the app report them.
func (c *Catalog) SyncNow(ctx context.Context, org, appID string) (*store.Revision, error) {
	at, err := c.loadState(ctx, org, appID)
	if err != nil {
		return nil, fmt.Errorf("sync app %s: %w", appID, err)
	}
	if at.watch == nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, ErrUploaded)
	}
	if err := c.observer.Poll(ctx, org, at.watch.ID); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, err)
	}
	if err := c.readApp(ctx, org, appID, true); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, err)
	}
	if err := c.pollComponents(ctx, org, appID, at.watch.ID); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, err)
	}
	if err := c.build(ctx, org, appID); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, err)
	}
	if at, err = c.loadState(ctx, org, appID); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", appID, err)
	}
	return at.revision, nil
}

// build starts the builds of an app. They are enqueued as well and retried, so a registry that
// does not accept a source now is another server's refusal.
func (c *Catalog) build(ctx context.Context, org, appID string) error {
	err := c.builder.Reconcile(ctx, org, appID)
	var refused *oci.Error
	if errors.As(err, &refused) {
		return refusal.New(refusal.Upstream, "registry_refused", err.Error(),
			"The control plane tries again until the registry accepts it.")
	}
	return err
}

// pollComponents polls the repositories that only components name.
func (c *Catalog) pollComponents(ctx context.Context, org, appID, done string) error {
	var components []store.Component
	err := c.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) (err error) {
		components, err = tx.ComponentsOfApp(ctx, org, appID)
		return err
	})
	if err != nil {
		return err
	}
	polled := map[string]bool{done: true}
	for _, component := range components {
		if component.WatchID == nil || polled[*component.WatchID] {
			continue
		}
		polled[*component.WatchID] = true
		if err := c.observer.Poll(ctx, org, *component.WatchID); err != nil {
			return err
		}
	}
	return nil
}
