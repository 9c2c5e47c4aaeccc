package build

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// scheduleActor is who requests the refreshes of a schedule, in the cause of a release.
const scheduleActor = "the schedule"

// retryRefresh is when a refresh is tried again that could not start, such as without a build runner or during another
// refresh.
const retryRefresh = 10 * time.Minute

// Schedule makes a refresh of the images of each of the org's apps due that has images and no time for it. It does
// nothing without an interval.
func (b *Builder) Schedule(ctx context.Context, org string) error {
	if b.refreshEvery <= 0 {
		return nil
	}
	return b.store.InTx(ctx, org, b.schedule)
}

func (b *Builder) schedule(ctx context.Context, tx *store.Tx) error {
	if b.refreshEvery <= 0 {
		return nil
	}
	return tx.AddDueRefreshes(ctx, b.refreshEvery.Seconds(), tx.Org)
}

// RefreshOnSchedule resolves the images of an app again, as Refresh does, and makes the next refresh due.
func (b *Builder) RefreshOnSchedule(ctx context.Context, org, appID string) error {
	return b.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.LockApp(ctx, org, appID)
		if errors.Is(err, store.ErrNotFound) || err == nil && b.refreshEvery <= 0 {
			return tx.ClearDue(ctx, org, store.DueImages, appID)
		}
		if err != nil {
			return err
		}
		next := b.refreshEvery
		var refused *refusal.Error
		switch err := b.refreshImages(ctx, tx, row); {
		case errors.As(err, &refused):
			next = min(next, retryRefresh)
		case err != nil:
			return fmt.Errorf("refresh the images of app %s: %w", row.Name, err)
		}
		return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: org, Kind: store.DueImages, ID: appID, InSeconds: next.Seconds()})
	})
}

// refreshImages starts a refresh of an app's images. It starts none if the app has no images that were built.
func (b *Builder) refreshImages(ctx context.Context, tx *store.Tx, row store.App) error {
	app, err := readApp(ctx, tx, row.ID)
	if errors.Is(err, errNothingToBuild) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, c := range app.components {
		one, err := readRefreshable(ctx, tx, c)
		if err != nil {
			return err
		}
		if c.config.Image != nil && one.before != nil {
			names = append(names, c.row.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err = b.Refresh(ctx, tx, row, RefreshRequest{Components: names, Actor: scheduleActor})
	return err
}
