package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// save writes the result of reading a revision: the version that it makes, or only its errors. It
// does nothing if another transaction has read the same or a newer revision in the meantime. What
// was read before and is read again is written again.
func (c *Catalog) save(
	ctx context.Context, org string, seen appState, config *appconfig.App, found appconfig.Diagnostics,
) error {
	return c.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		app, err := tx.LockApp(ctx, org, seen.app.ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		at, err := stateOf(ctx, tx, app)
		if err != nil {
			return err
		}
		if at.revision == nil || at.revision.ID != seen.revision.ID || at.isRead() && !seen.isRead() {
			return nil
		}
		if found.HasErrors() {
			if err := c.setReadState(ctx, tx, app, app.VersionID, &at.revision.ID, found); err != nil {
				return err
			}
			return WriteOutcome(ctx, tx, at.revision.ID, app.Name, []string{brokenOutcome(at.current, found)}, "")
		}
		why := connectedReason
		if seen.isRead() && !seen.hasUnreadFiles() {
			why = refetchedReason(config)
		}
		made, err := c.ensureVersion(ctx, tx, at, config, why)
		if err != nil {
			return err
		}
		if err := c.setReadState(ctx, tx, app, &made.version.ID, &at.revision.ID, found); err != nil {
			return err
		}
		return WriteOutcome(ctx, tx, at.revision.ID, app.Name, made.outcome(), "")
	})
}

// setReadState records the result of reading a config: the current version, the revision, and the
// diagnostics.
func (c *Catalog) setReadState(
	ctx context.Context, tx *store.Tx, app store.App, version, revision *string, found appconfig.Diagnostics,
) error {
	if found == nil {
		found = appconfig.Diagnostics{}
	}
	encoded, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("write diagnostics: %w", err)
	}
	if err := setDueIn(ctx, tx, app.ID, retryInterval); err != nil {
		return err
	}
	return tx.SetAppRead(ctx, store.SetAppReadParams{
		OrgID: tx.Org, ID: app.ID, VersionID: version, RevisionID: revision, Diagnostics: encoded,
	})
}

// versionResult is the current version after a config was read.
type versionResult struct {
	version store.AppVersion
	change  versionChange
}

// versionChange is how the current version changed.
type versionChange int

const (
	versionUnchanged versionChange = iota // the same config as before
	versionAdded                          // a config that never existed before
	versionRevived                        // a config that existed before, but was not the last one
)

func (m versionResult) outcome() []string {
	switch m.change {
	case versionAdded:
		return []string{fmt.Sprintf("the config changed: app version %d", m.version.Number)}
	case versionRevived:
		return []string{fmt.Sprintf("the config is that of app version %d again", m.version.Number)}
	default:
		return nil
	}
}

// ensureVersion makes the version of a config current, creates it if none has that digest, and writes its
// components. reason returns why it is current now.
func (c *Catalog) ensureVersion(
	ctx context.Context, tx *store.Tx, at appState, config *appconfig.App,
	reason func(appState, versionChange, *store.AppVersion) string,
) (versionResult, error) {
	digest := config.Digest()
	if at.current != nil && at.current.Digest == digest {
		return versionResult{version: *at.current}, c.updateComponents(ctx, tx, at, config)
	}
	var revision *string
	if at.revision != nil {
		revision = &at.revision.ID
	}
	version, err := tx.VersionByDigest(ctx, tx.Org, at.app.ID, digest)
	switch {
	case err == nil:
		version.Reason = reason(at, versionRevived, &version)
		err = tx.ReviveAppVersion(ctx, store.ReviveAppVersionParams{
			OrgID: tx.Org, ID: version.ID, Reason: version.Reason, RevisionID: revision,
		})
		if err != nil {
			return versionResult{}, err
		}
		return versionResult{version: version, change: versionRevived}, c.updateComponents(ctx, tx, at, config)
	case !errors.Is(err, store.ErrNotFound):
		return versionResult{}, err
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		return versionResult{}, fmt.Errorf("write config: %w", err)
	}
	version, err = tx.AddAppVersion(ctx, store.AddAppVersionParams{
		OrgID: tx.Org, ID: id.New("ver"), AppID: at.app.ID, Digest: digest, Config: encoded, RevisionID: revision,
		Reason: reason(at, versionAdded, nil),
	})
	if err != nil {
		return versionResult{}, err
	}
	return versionResult{version: version, change: versionAdded}, c.updateComponents(ctx, tx, at, config)
}

// updateComponents writes the rows of what is built of a config and the watches of the repositories that they
// name. A removed component stays as a row that is not present, because installs may still have it.
func (c *Catalog) updateComponents(ctx context.Context, tx *store.Tx, at appState, config *appconfig.App) error {
	kept := []string{}
	for _, component := range config.Built() {
		watch, err := c.watchOf(ctx, tx, at, component)
		if err != nil {
			return fmt.Errorf("%s: %w", component.Title(), err)
		}
		err = tx.PutComponent(ctx, store.PutComponentParams{
			OrgID: tx.Org, ID: id.New("cmp"), AppID: at.app.ID, Name: component.Name,
			Kind: component.Kind, WatchID: watch,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", component.Title(), err)
		}
		kept = append(kept, component.Name)
	}
	return tx.DropComponents(ctx, tx.Org, at.app.ID, kept)
}

// watchOf returns the watch of a component's repository: the app's own for "." and for what is
// built from the config alone (nil in an uploaded app), otherwise a separate one. A repository that
// needs the org's access is read with the app's credential if it is on the same server; the poll
// decides whether the credential may be used for it.
func (c *Catalog) watchOf(
	ctx context.Context, tx *store.Tx, at appState, component appconfig.Component,
) (*string, error) {
	source := component.Source
	if source == nil || source.IsAppRepository() {
		return at.app.WatchID, nil
	}
	credential := ""
	if source.Connected && at.watch != nil && observe.SameHost(source.URL(), at.watch.URL) {
		credential = at.watch.CredentialID
	}
	watch, err := c.observer.EnsureWatch(ctx, tx, source.URL(), source.Branch, credential)
	if err != nil {
		return nil, err
	}
	return &watch.ID, nil
}
