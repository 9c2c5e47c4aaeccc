package rollout

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// LoadStoredViews reads the status of installs, in their order, from what Reconcile
// has stored. Nothing is computed, so a list costs its rows. It sets Unresolved for
// an install that has not been reconciled since its release changed.
func LoadStoredViews(ctx context.Context, tx *store.Tx, installs []store.Install) ([]View, error) {
	ids := make([]string, 0, len(installs))
	for _, install := range installs {
		ids = append(ids, install.ID)
	}
	places, err := tx.StoredComponentsOfInstalls(ctx, tx.Org, ids)
	if err != nil {
		return nil, fmt.Errorf("status of %d installs: %w", len(installs), err)
	}
	placesOf := groupBy(places, func(p store.StoredComponentsOfInstallsRow) string { return p.InstallID })
	releases, err := tx.ReleasesOfInstalls(ctx, tx.Org, ids)
	if err != nil {
		return nil, fmt.Errorf("status of %d installs: %w", len(installs), err)
	}
	releaseOf, views := map[string]store.ReleasesOfInstallsRow{}, make([]View, 0, len(installs))
	for _, r := range releases {
		releaseOf[r.InstallID] = r
	}
	for _, install := range installs {
		v, r := newView(install), releaseOf[install.ID]
		v.Release = store.Release{
			ID: r.ReleaseID, AppID: install.AppID, Number: r.Number, Status: r.Status, Reason: r.Reason, Partial: r.Partial,
			Commits: r.Commits, VersionID: r.VersionID,
		}
		v.Latest, v.Newest = r.Latest, store.Release{Number: r.Newest, Status: r.NewestStatus, Reason: r.NewestReason}
		v.Unresolved = install.ResolvedReleaseID != r.ReleaseID
		for _, p := range placesOf[install.ID] {
			v.addStored(p)
		}
		views = append(views, v)
	}
	return views, addActivity(ctx, tx, views, ids)
}

// addStored adds a component as stored.
func (v *View) addStored(p store.StoredComponentsOfInstallsRow) {
	v.Components = append(v.Components, store.InstallComponent{
		ID: p.ID, InstallID: p.InstallID, ComponentID: p.ComponentID, Name: p.Name, DesiredPresence: p.DesiredPresence,
		DesiredDigest: p.DesiredDigest,
		DesiredReason: p.DesiredReason, WaitsFor: p.WaitsFor, Behind: p.Behind, DisabledBy: p.DisabledBy,
		Unsatisfiable: p.Unsatisfiable, Stalled: p.Stalled,
		AppliedDigest: p.AppliedDigest, AppliedArtifact: p.AppliedArtifact, Health: p.Health, Drift: p.Drift,
	})
	// A component applied since its row was stored is no longer behind.
	if p.Behind && (p.DesiredDigest == "" || p.DesiredDigest != p.AppliedDigest) {
		v.Behind = append(v.Behind, p.Name)
	}
	if p.DisabledBy != "" {
		v.Disabled[p.Name] = DisabledReason(p.DisabledBy)
	}
	if p.Unsatisfiable {
		v.Unsatisfiable[p.Name] = true
	}
	v.Contested[p.Name], v.Applying[p.Name] = p.Contested, p.Applying
	if p.Rejection != "" {
		v.Rejections[p.Name] = map[string]store.Rejection{p.DesiredDigest: {
			InstallComponentID: p.ID, DesiredDigest: p.DesiredDigest, Kind: p.Rejection, Actor: p.Actor,
			Reason: p.RejectionReason,
		}}
	}
}
