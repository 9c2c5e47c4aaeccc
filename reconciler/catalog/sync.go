package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ErrUploaded says that an app has no repository to look at.
var ErrUploaded = errors.New("the app is not connected to a repository; upload its directory")

// SyncNow looks at everything that an app is made of, now: its repository, its config with the files that it refers to elsewhere, the
// repositories of its components, and what is to be built of them. It gives the newest revision of the app's repository, nil when there is none. What keeps a
// repository from being read, or is wrong in the config, is no error here: the watch and the app say it.
func (c *Catalog) SyncNow(ctx context.Context, org, appID string) (*store.Revision, error) {
	at, err := c.position(ctx, org, appID)
	if err != nil {
		return nil, fmt.Errorf("sync app %s: %w", appID, err)
	}
	if at.watch == nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, ErrUploaded)
	}
	if err := c.observer.Poll(ctx, org, at.watch.ID); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, err)
	}
	if err := c.takeIn(ctx, org, appID, true); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, err)
	}
	if err := c.pollComponents(ctx, org, appID, at.watch.ID); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, err)
	}
	if err := c.builder.Reconcile(ctx, org, appID); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", at.app.Name, err)
	}
	if at, err = c.position(ctx, org, appID); err != nil {
		return nil, fmt.Errorf("sync app %s: %w", appID, err)
	}
	return at.revision, nil
}

// pollComponents looks at the repositories that only components name.
func (c *Catalog) pollComponents(ctx context.Context, org, appID, done string) error {
	var components []store.Component
	err := c.store.In(ctx, org, func(ctx context.Context, tx *store.Tx) (err error) {
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
