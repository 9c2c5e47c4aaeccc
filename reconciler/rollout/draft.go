package rollout

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Draft is a release that would be created.
type Draft struct {
	Config *appconfig.App
	// Builds are the builds that it would use, by component. One that is still to be made has
	// no number; one that could not be made has no number either, and an error with the reason.
	Builds map[string]store.Build
}

// Following is the effect of a draft on one install.
type Following struct {
	Install    string   // its name
	Components []string // those that would be behind or removed, or could not continue
	Reason     string   // for people; also why nothing would happen
}

// Drafted is the effect of a draft.
type Drafted struct {
	Release  int32  // the release number that it would get
	Held     string // why the release would be incomplete, so that no install gets it
	Installs []Following
}

// pageOfInstalls is the number of installs read at a time.
const pageOfInstalls = 500

// PreviewDraft returns the effect of a draft on each install of an app, by name. It writes nothing.
func PreviewDraft(ctx context.Context, tx *store.Tx, app store.App, d Draft) (Drafted, error) {
	part, err := d.part(ctx, tx, app)
	if err != nil {
		return Drafted{}, fmt.Errorf("preview app %s: %w", app.Name, err)
	}
	all := Drafted{Release: part.release.Number, Held: part.release.Reason, Installs: []Following{}}
	for after := ""; ; {
		rows, err := tx.ViewInstalls(ctx, store.ViewInstallsParams{
			OrgID: tx.Org, AppID: app.ID, Labels: json.RawMessage("{}"), AfterApp: app.Name, AfterName: after,
			Most: pageOfInstalls,
		})
		if err != nil {
			return Drafted{}, err
		}
		installs := make([]store.Install, 0, len(rows))
		for _, row := range rows {
			installs = append(installs, row.Install)
		}
		page, err := part.previews(ctx, tx, installs)
		if err != nil {
			return Drafted{}, err
		}
		all.Installs = append(all.Installs, page...)
		if len(rows) < pageOfInstalls {
			return all, nil
		}
		after = rows[len(rows)-1].Install.Name
	}
}

// draftID is the placeholder for an id that does not exist yet.
const draftID = "draft"

// part returns the app as it would be with the draft.
func (d Draft) part(ctx context.Context, tx *store.Tx, app store.App) (*appPart, error) {
	part, err := readRelease(ctx, tx, app.ID, "", nil)
	if err != nil {
		return nil, err
	}
	part.release = store.Release{ID: draftID, Number: part.newest.Number + 1, Status: release.Complete}
	part.components = d.components(part.components)
	part.declare(declareAll(d.Config))
	part.builds = map[string]*store.Build{}
	for i := range part.components {
		c := &part.components[i]
		build, has := d.Builds[c.Name]
		c.Present, c.Problem = part.declared[c.Name].config != nil, ""
		if build.Number == 0 {
			c.Problem = build.Error
		}
		if has && c.Problem == "" {
			part.builds[c.ID] = &build
		}
		if lacks := lacking(*c, part.builds[c.ID]); lacks != "" {
			part.release.Status, part.release.Reason = release.Incomplete, joined(part.release.Reason, lacks)
		}
	}
	return part, nil
}

// lacking returns why a component would make a draft's release incomplete, or "" if it would not.
func lacking(c store.Component, build *store.Build) string {
	switch {
	case c.Problem != "":
		return fmt.Sprintf("%s cannot be built: %s", c.Name, c.Problem)
	case build != nil && build.Status == "failed":
		return fmt.Sprintf("build %d of %s failed", build.Number, c.Name)
	}
	return ""
}

// joined appends a part to a sentence.
func joined(words, more string) string {
	if words == "" {
		return more
	}
	return words + "; " + more
}

// components returns the existing components, followed by those that the draft adds.
func (d Draft) components(there []store.Component) []store.Component {
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

func (p *appPart) previews(ctx context.Context, tx *store.Tx, installs []store.Install) ([]Following, error) {
	was, err := look(ctx, tx, installs)
	if err != nil {
		return nil, err
	}
	would := func(ctx context.Context, tx *store.Tx, install store.Install) (*appPart, error) { return p, nil }
	will, err := readAll(ctx, tx, installs, would, (*snapshot).imagine)
	if err != nil {
		return nil, err
	}
	all := make([]Following, 0, len(installs))
	for i := range installs {
		all = append(all, following(was[i], will[i]))
	}
	return all, nil
}

// following summarizes the effect on one install.
func following(was, will *snapshot) Following {
	f := Following{Install: was.install.Name, Components: []string{}, Reason: "nothing would change on it"}
	if was.pinned() {
		f.Reason = fmt.Sprintf("it is pinned at release %d, so nothing would change on it", was.release.Number)
		return f
	}
	if will.release.Status != release.Complete {
		f.Reason = "nothing would change on it, since the release would be incomplete: " + will.release.Reason
		return f
	}
	before, after := was.desire(), will.desire()
	var reasons []string
	for _, name := range will.sandboxFirst() {
		effect, reason := effect(before[name], after[name])
		if effect == EffectBehind || effect == EffectRemoved || effect == EffectWaiting && after[name].own {
			f.Components = append(f.Components, name)
			reasons = append(reasons, name+": "+reason)
		}
	}
	if len(reasons) > 0 {
		f.Reason = summary(reasons)
	}
	return f
}
