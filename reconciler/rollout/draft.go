package rollout

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Draft is an app version that is only thought of.
type Draft struct {
	Number int32 // that it has, or would have
	Config *appconfig.App
	// Builds are those that would count, by component. One that is still to be made has no number; one that could not be made has none
	// either, and an error that says why.
	Builds map[string]store.Build
}

// Following is what a draft would cause on one install.
type Following struct {
	Install    string   // its name
	Components []string // that would be behind or removed, or could not go on
	Reason     string   // in words; also why nothing would happen
}

// pageOfInstalls is how many installs are looked at in one go.
const pageOfInstalls = 500

// PreviewDraft says what a draft would cause on each install of an app, by name. It writes nothing.
func PreviewDraft(ctx context.Context, tx *store.Tx, app store.App, d Draft) ([]Following, error) {
	part, err := d.part(ctx, tx, app)
	if err != nil {
		return nil, fmt.Errorf("preview app %s: %w", app.Name, err)
	}
	all := []Following{}
	for after := ""; ; {
		rows, err := tx.ViewInstalls(ctx, store.ViewInstallsParams{
			OrgID: tx.Org, AppID: app.ID, Labels: json.RawMessage("{}"), AfterApp: app.Name, AfterName: after, Most: pageOfInstalls,
		})
		if err != nil {
			return nil, err
		}
		installs := make([]store.Install, 0, len(rows))
		for _, row := range rows {
			installs = append(installs, row.Install)
		}
		page, err := part.previews(ctx, tx, installs)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(rows) < pageOfInstalls {
			return all, nil
		}
		after = rows[len(rows)-1].Install.Name
	}
}

// draftID stands for the id of what has none yet.
const draftID = "draft"

// part is the app as it would be with the draft.
func (d Draft) part(ctx context.Context, tx *store.Tx, app store.App) (*appPart, error) {
	part, err := readVersion(ctx, tx, app.ID, "")
	if err != nil {
		return nil, err
	}
	id := draftID
	part.version, part.latest = store.AppVersion{ID: id, Number: d.Number}, d.Number
	part.app.VersionID, part.app.InputsVersionID = &id, &id
	part.components = d.components(part.components)
	part.declare(d.Config)
	part.artifacts, part.newest = map[string]*store.Build{}, map[string]*store.Build{}
	for i := range part.components {
		c := &part.components[i]
		build, has := d.Builds[c.Name]
		c.Present, c.Problem = part.declared[c.Name].config != nil, ""
		if build.Number == 0 {
			c.Problem = build.Error
		}
		if !has || c.Problem != "" {
			continue
		}
		part.newest[c.ID] = &build
		if build.Status == "succeeded" {
			part.artifacts[c.ID] = &build
		}
	}
	return part, nil
}

// components are those that there are, and those that would come.
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

// following sums up what would come on one install.
func following(was, will *snapshot) Following {
	f := Following{Install: was.install.Name, Components: []string{}, Reason: "nothing would change on it"}
	if was.pinned() {
		f.Reason = fmt.Sprintf("it is pinned at version %d, so nothing would change on it", was.version.Number)
		return f
	}
	before, after := was.desire(), will.desire()
	var reasons []string
	for _, name := range sandboxFirst(will.names()) {
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
