package rollout

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// DraftRelease is a release that would be created.
type DraftRelease struct {
	Config *appconfig.App
	// Builds are the builds that it would use, by component. One that is still to be made has
	// no number; one that could not be made has no number either, and an error with the reason.
	Builds map[string]store.Build
	// Variables are those that the module of its sandbox declares and nuon may pass.
	Variables []appconfig.ModuleVariable
}

// InstallEffect is the effect of a draft on one install.
type InstallEffect struct {
	Install    string   // its name
	Components []string // those that would be behind or removed, or could not continue
	Reason     string   // for people; also why nothing would happen
}

// DraftEffect is the effect of a draft.
type DraftEffect struct {
	Release          int32  // the release number that it would get
	IncompleteReason string // why the release would be incomplete, so that no install gets it
	Installs         []InstallEffect
}

// installsPerPage is the number of installs read at a time.
const installsPerPage = 500

// PreviewDraft returns the effect of a draft on each install of an app, by name. It writes nothing.
func PreviewDraft(ctx context.Context, tx *store.Tx, app store.App, d DraftRelease) (DraftEffect, error) {
	part, err := d.appRelease(ctx, tx, app)
	if err != nil {
		return DraftEffect{}, fmt.Errorf("preview app %s: %w", app.Name, err)
	}
	all := DraftEffect{Release: part.release.Number, IncompleteReason: part.release.Reason}
	all.Installs, err = effectsOnApp(ctx, tx, app, part.effectsOnInstalls)
	return all, err
}

// effectsOnApp returns the effects on each install of an app, by name; of computes those on one page of them.
func effectsOnApp(ctx context.Context, tx *store.Tx, app store.App,
	of func(context.Context, *store.Tx, []store.Install) ([]InstallEffect, error)) ([]InstallEffect, error) {
	all := []InstallEffect{}
	for after := ""; ; {
		rows, err := tx.ViewInstalls(ctx, store.ViewInstallsParams{
			OrgID: tx.Org, AppID: app.ID, Labels: json.RawMessage("{}"), AfterApp: app.Name, AfterName: after,
			Most: installsPerPage,
		})
		if err != nil {
			return nil, err
		}
		installs := make([]store.Install, 0, len(rows))
		for _, row := range rows {
			installs = append(installs, row.Install)
		}
		page, err := of(ctx, tx, installs)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(rows) < installsPerPage {
			return all, nil
		}
		after = rows[len(rows)-1].Install.Name
	}
}

// draftID is the placeholder for an id that does not exist yet.
const draftID = "draft"

// appRelease returns the app as it would be with the draft.
func (d DraftRelease) appRelease(ctx context.Context, tx *store.Tx, app store.App) (*appRelease, error) {
	part, err := readRelease(ctx, tx, app.ID, "", nil)
	if err != nil {
		return nil, err
	}
	part.release = store.Release{ID: draftID, Number: part.newest.Number + 1, Status: release.Complete}
	part.components, part.variables = d.components(part.components), d.Variables
	part.setConfig(parseDeclarations(d.Config))
	part.builds = map[string]*store.Build{}
	for i := range part.components {
		c := &part.components[i]
		build, has := d.Builds[c.Name]
		c.Present, c.Problem = part.declarations[c.Name].config != nil, ""
		if build.Number == 0 {
			c.Problem = build.Error
		}
		if has && c.Problem == "" {
			part.builds[c.ID] = &build
		}
		if lacks := incompleteReason(*c, part.builds[c.ID]); lacks != "" {
			part.release.Status, part.release.Reason = release.Incomplete, appendSentence(part.release.Reason, lacks)
		}
	}
	part.sources = map[string]actionSource{}
	for _, source := range d.Config.ActionSources() {
		b := d.Builds[source.Name]
		part.sources[source.Name] = actionSource{commit: b.Commit, artifact: b.ArtifactDigest}
		problem := ""
		if b.Number == 0 {
			problem = b.Error
		}
		if lacks := incompleteReason(store.Component{Name: source.Name, Problem: problem}, &b); lacks != "" {
			part.release.Status, part.release.Reason = release.Incomplete, appendSentence(part.release.Reason, lacks)
		}
	}
	return part, nil
}

// incompleteReason returns why a component would make a draft's release incomplete, or "" if it would not.
func incompleteReason(c store.Component, build *store.Build) string {
	switch {
	case c.Problem != "":
		return fmt.Sprintf("%s cannot be built: %s", c.Name, c.Problem)
	case build != nil && build.Status == "failed":
		return fmt.Sprintf("build %d of %s failed", build.Number, c.Name)
	}
	return ""
}

// appendSentence appends a part to a sentence.
func appendSentence(words, more string) string {
	if words == "" {
		return more
	}
	return words + "; " + more
}

// components returns the existing components, followed by those that the draft adds.
func (d DraftRelease) components(there []store.Component) []store.Component {
	known := map[string]bool{}
	for _, c := range there {
		known[c.Name] = true
	}
	add := func(name, kind string) {
		if !known[name] {
			there = append(there, store.Component{ID: draftID + "/" + name, Name: name, Kind: kind})
		}
	}
	config := d.Config.Deployed()
	if config.Sandbox != nil {
		add(appconfig.SandboxName, appconfig.KindSandbox)
	}
	for _, c := range config.Components {
		add(c.Name, c.Kind)
	}
	return there
}

func (p *appRelease) effectsOnInstalls(ctx context.Context, tx *store.Tx,
	installs []store.Install) ([]InstallEffect, error) {
	was, err := loadReadOnly(ctx, tx, installs)
	if err != nil {
		return nil, err
	}
	would := func(ctx context.Context, tx *store.Tx, install store.Install) (*appRelease, error) { return p, nil }
	will, err := loadSnapshots(ctx, tx, installs, would, (*snapshot).assumeRows)
	if err != nil {
		return nil, err
	}
	all := make([]InstallEffect, 0, len(installs))
	for i := range installs {
		all = append(all, installEffect(was[i], will[i]))
	}
	return all, nil
}

// nothingChanges is the reason for an install on which nothing would change.
const nothingChanges = "nothing would change on it"

// installEffect summarizes the effect on one install.
func installEffect(was, will *snapshot) InstallEffect {
	f := InstallEffect{Install: was.install.Name, Components: []string{}, Reason: nothingChanges}
	if was.pinned() {
		f.Reason = fmt.Sprintf("it is pinned at release %d, so nothing would change on it", was.release.Number)
		return f
	}
	if will.release.Status != release.Complete {
		f.Reason = "nothing would change on it, since the release would be incomplete: " + will.release.Reason
		return f
	}
	return f.compare(was, will)
}

// compare adds the components whose desired state differs, with the reasons.
func (f InstallEffect) compare(was, will *snapshot) InstallEffect {
	before, after := was.desiredStates(), will.desiredStates()
	var reasons []string
	for _, name := range will.sandboxFirst() {
		effect, reason := effectOn(before[name], after[name])
		if effect == EffectBehind || effect == EffectRemoved || effect == EffectWaiting && after[name].externalWait {
			f.Components = append(f.Components, name)
			reasons = append(reasons, name+": "+reason)
		}
	}
	if len(reasons) > 0 {
		f.Reason = joinReasons(reasons)
	}
	return f
}
