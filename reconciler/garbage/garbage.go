package garbage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// DefaultAge is the least age of a build whose content is deleted, unless a request has another.
const DefaultAge = 24 * time.Hour

// The limits of one call: the time in which it begins deletions, and the time of one deletion, during which the
// app's lock is held.
const (
	maxTime         = 10 * time.Second
	maxDeletionTime = 30 * time.Second
	maxDeletions    = 500
)

// Registry is the vendor's registry.
type Registry struct {
	Base       artifact.Reference
	Credential oci.Credential // may delete
	Client     *http.Client
	// Unsupported is why the registry deletes nothing on a client's request; empty if that is not known.
	Unsupported string
	// Sweep frees the disk of content that no manifest names; nil for a registry that does so itself.
	Sweep func(ctx context.Context) (freed int64, err error)
}

// Collector deletes from the vendor's registry. It is safe for concurrent use.
type Collector struct {
	store    *store.Store
	registry Registry
}

// New returns a Collector.
func New(s *store.Store, registry Registry) *Collector {
	return &Collector{store: s, registry: registry}
}

// Collect deletes what an org does not need, of builds that ended before age ago. It returns after some
// seconds: More is true if there is more to delete. A dry run only returns what it would delete.
func (c *Collector) Collect(ctx context.Context, org, actor string, age time.Duration, dryRun bool) (
	api.RegistryCollection, error) {
	made := api.RegistryCollection{Registry: c.registry.Base.String(), DryRun: dryRun,
		Garbage: []api.RegistryGarbage{}, Unsupported: c.registry.Unsupported}
	contents, known, err := c.read(ctx, org, age)
	if err != nil {
		return made, err
	}
	made.Kept = contents.kept()
	if dryRun || made.Unsupported != "" {
		for _, row := range append(known, contents.garbage()...) {
			made.Garbage = append(made.Garbage, viewOf(row, api.GarbageUnneeded))
		}
		return made, nil
	}
	for _, app := range contents.appsWithGarbage() {
		if err := c.condemn(ctx, org, actor, app, age); err != nil {
			return made, err
		}
	}
	if err := c.deleteAll(ctx, org, &made); err != nil {
		return made, err
	}
	if c.registry.Sweep != nil && !made.More {
		made.FreedBytes, err = c.registry.Sweep(ctx)
	}
	return made, err
}

// read returns what builds have in the registry, and what is to be deleted already, in one snapshot.
func (c *Collector) read(ctx context.Context, org string, age time.Duration) (
	contents contents, known []store.RegistryGarbage, err error) {
	err = c.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		if contents, err = tx.BuildContents(ctx, age.Seconds(), tx.Org, ""); err != nil {
			return err
		}
		known, err = tx.Garbage(ctx, tx.Org, maxDeletions)
		return err
	})
	return contents, known, err
}

// condemn deletes the builds of an app that nothing needs, and records what they leave in the registry.
func (c *Collector) condemn(ctx context.Context, org, actor, app string, age time.Duration) error {
	return c.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockApp(ctx, tx.Org, app); errors.Is(err, store.ErrNotFound) {
			return nil // deleted in the meantime, with a record of its content
		} else if err != nil {
			return err
		}
		read, err := tx.BuildContents(ctx, age.Seconds(), tx.Org, app)
		if err != nil {
			return err
		}
		found := contents(read)
		garbage, builds, sources := found.garbage(), found.unneededBuilds(), found.unneededSources()
		if len(garbage) == 0 && len(builds) == 0 {
			return nil
		}
		if err := errors.Join(tx.DropBuilds(ctx, tx.Org, builds), tx.ClearBuildSources(ctx, tx.Org, sources)); err != nil {
			return err
		}
		if err := record(ctx, tx, garbage); err != nil {
			return err
		}
		if err := tx.DropDeletedGarbage(ctx, tx.Org); err != nil {
			return err
		}
		return tx.Audit(ctx, actor, "registry.gc", app, map[string]any{"builds": len(builds), "contents": len(garbage)})
	})
}

// Forget records everything that the builds of an app left in the registry, before the app is deleted.
func Forget(ctx context.Context, tx *store.Tx, app string) error {
	read, err := tx.BuildContents(ctx, 0, tx.Org, app)
	if err != nil {
		return err
	}
	for i := range read {
		read[i].Needed, read[i].SourceNeeded = "", ""
	}
	return record(ctx, tx, contents(read).garbage())
}

// record adds rows to the table.
func record(ctx context.Context, tx *store.Tx, garbage []store.RegistryGarbage) error {
	for _, g := range garbage {
		if err := tx.AddGarbage(ctx, store.AddGarbageParams{
			OrgID: tx.Org, Repository: g.Repository, Digest: g.Digest, Kind: g.Kind, AppID: g.AppID, App: g.App,
			ComponentID: g.ComponentID, Component: g.Component, Build: g.Build, Bytes: g.Bytes,
		}); err != nil {
			return err
		}
	}
	return nil
}

// contents are what the builds of an org have in the registry, by app, component and number.
type contents []store.BuildContentsRow

// content identifies content of the registry.
type content struct{ repository, digest string }

func artifactOf(row store.BuildContentsRow) content {
	return content{build.ArtifactRepository(row.OrgID, row.ComponentID), row.ArtifactDigest}
}

func sourceOf(row store.BuildContentsRow) content {
	return content{build.SourceRepository(row.OrgID, row.ComponentID), row.SourceDigest}
}

// needed returns why each content is needed. Several builds can have the same one.
func (c contents) needed() map[content]string {
	why := map[content]string{}
	for _, row := range c {
		if row.Needed != "" && why[artifactOf(row)] == "" {
			why[artifactOf(row)] = row.Needed
		}
		if row.SourceNeeded != "" && why[sourceOf(row)] == "" {
			why[sourceOf(row)] = row.SourceNeeded
		}
	}
	return why
}

// garbage returns the content that nothing needs.
func (c contents) garbage() []store.RegistryGarbage {
	var found []store.RegistryGarbage
	seen := c.needed()
	add := func(row store.BuildContentsRow, kind api.RegistryGarbageKind, of content, bytes int64) {
		if of.digest == "" || seen[of] != "" {
			return
		}
		seen[of] = "garbage"
		found = append(found, store.RegistryGarbage{OrgID: row.OrgID, Repository: of.repository, Digest: of.digest,
			Kind: string(kind), AppID: row.AppID, App: row.App, ComponentID: row.ComponentID, Component: row.Component,
			Build: row.Number, Bytes: bytes})
	}
	for _, row := range c {
		add(row, api.GarbageArtifact, artifactOf(row), row.ArtifactBytes)
		add(row, api.GarbageSource, sourceOf(row), row.SourceBytes)
	}
	return found
}

// unneededBuilds returns the builds of which nothing is needed.
func (c contents) unneededBuilds() (ids []string) {
	for _, row := range c {
		if row.Needed == "" && row.SourceNeeded == "" {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// unneededSources returns the builds whose source alone is not needed.
func (c contents) unneededSources() (ids []string) {
	why := c.needed()
	for _, row := range c {
		if row.SourceDigest != "" && row.Needed != "" && why[sourceOf(row)] == "" {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// appsWithGarbage returns the ids of the apps of which something is not needed.
func (c contents) appsWithGarbage() (apps []string) {
	for _, g := range c.garbage() {
		apps = append(apps, g.AppID)
	}
	slices.Sort(apps)
	return slices.Compact(apps)
}

// reasons are why artifacts are needed, for people.
var reasons = map[string]string{
	"running": "a build runs", "released": "a release has it", "current": "it is the newest of the component",
	"installed": "an install has it", "used": "work in progress uses it", "recent": "it is too new",
}

// kept returns what is not deleted, by component and reason.
func (c contents) kept() []api.RegistryKept {
	made := []api.RegistryKept{}
	at, seen, why := map[[3]string]int{}, map[content]bool{}, c.needed()
	for _, row := range c {
		of := artifactOf(row)
		if of.digest == "" || why[of] == "" || seen[of] {
			continue
		}
		seen[of] = true
		key := [3]string{row.App, row.Component, why[of]}
		if _, known := at[key]; !known {
			at[key] = len(made)
			made = append(made, api.RegistryKept{App: row.App, Component: row.Component, Reason: reasons[why[of]]})
		}
		made[at[key]].Artifacts++
		made[at[key]].Bytes += row.ArtifactBytes
	}
	return made
}

// viewOf returns a row as the API shows it.
func viewOf(g store.RegistryGarbage, status api.RegistryGarbageStatus) api.RegistryGarbage {
	return api.RegistryGarbage{Kind: api.RegistryGarbageKind(g.Kind), App: g.App, Component: g.Component,
		Build: int(g.Build), Repository: g.Repository, Digest: g.Digest, Bytes: g.Bytes, Status: status}
}

// explain returns what a person reads about a registry that does not delete.
func explain(host string, err error) string {
	return fmt.Sprintf("the registry %s lets no client delete: use its own rules for retention (%v)", host, err)
}
