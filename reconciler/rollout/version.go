package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// appPart is one version of an app as installs are to have it: its config, its components and their builds. It is only read.
type appPart struct {
	app        store.App
	version    store.AppVersion
	latest     int32 // number of the app's current version
	config     *appconfig.App
	declared   map[string]declaration // by component
	components []store.Component
	artifacts  map[string]*store.Build // the newest succeeded one, by component id
	newest     map[string]*store.Build // the newest one, by component id
}

// declaration is what a version says of one component. Its templates are read once, however many installs have it.
type declaration struct {
	config  *appconfig.Component // nil when the component is not part of the version
	after   []string             // what it needs: the sandbox, and the components that it depends on
	refs    []render.Path        // what its templates read, and what identifies its cluster
	cluster api.ClusterSpec      // where it goes to; of a Terraform module none
}

// reads are the paths of all values that a deploy needs: more than what counts.
func (d declaration) reads() []render.Path {
	if len(d.cluster.Path) == 0 {
		return d.refs
	}
	return append(slices.Clone(d.refs), render.Path(d.cluster.Path))
}

// declare gives what a config says of a component that it has.
func declare(config *appconfig.App, name string) declaration {
	c, ok := config.Component(name)
	if !ok {
		return declaration{}
	}
	d := declaration{config: c, cluster: clusterOf(config, c)}
	d.refs = append(c.Refs(), identityRefs(d.cluster)...)
	if c.Kind != appconfig.KindSandbox {
		if config.Sandbox != nil {
			d.after = append(d.after, appconfig.SandboxName)
		}
		d.after = append(d.after, config.DependsOn(c.Name)...)
	}
	return d
}

// shared is what installs have in common, by app and the version that they are held at: within one transaction it is read once,
// however many are looked at.
type shared map[string]*appPart

func (all shared) of(ctx context.Context, tx *store.Tx, install store.Install) (*appPart, error) {
	held := ""
	if install.PinVersionID != nil {
		held = *install.PinVersionID
	}
	key := install.AppID + "/" + held
	if part := all[key]; part != nil {
		return part, nil
	}
	part, err := readVersion(ctx, tx, install.AppID, held)
	if err != nil {
		return nil, err
	}
	all[key] = part
	return part, nil
}

// readVersion reads the app's current version, or the one that is held.
func readVersion(ctx context.Context, tx *store.Tx, appID, held string) (*appPart, error) {
	p := &appPart{}
	var err error
	if p.app, err = tx.AppByID(ctx, tx.Org, appID); err != nil {
		return nil, err
	}
	if p.components, err = tx.RolloutComponents(ctx, tx.Org, appID); err != nil {
		return nil, err
	}
	if err := p.readBuilds(ctx, tx, held); err != nil || p.app.VersionID == nil {
		return p, err
	}
	if p.version, err = tx.AppVersionByID(ctx, tx.Org, *p.app.VersionID); err != nil {
		return nil, err
	}
	p.latest = p.version.Number
	if held != "" {
		if p.version, err = tx.AppVersionByID(ctx, tx.Org, held); err != nil {
			return nil, err
		}
	}
	config := &appconfig.App{}
	if err := json.Unmarshal(p.version.Config, config); err != nil {
		return nil, fmt.Errorf("decode app version %d: %w", p.version.Number, err)
	}
	p.declare(config)
	if held != "" {
		p.hold()
	}
	return p, nil
}

// readBuilds reads those of the components' current inputs, or of the inputs that they had in the version that is held.
func (p *appPart) readBuilds(ctx context.Context, tx *store.Tx, held string) error {
	var artifacts, newest []store.Build
	var err error
	if held == "" {
		artifacts, err = tx.RolloutArtifacts(ctx, tx.Org, p.app.ID)
	} else {
		artifacts, err = tx.VersionArtifacts(ctx, tx.Org, held)
	}
	if err != nil {
		return err
	}
	if held == "" {
		newest, err = tx.RolloutBuilds(ctx, tx.Org, p.app.ID)
	} else {
		newest, err = tx.VersionBuilds(ctx, tx.Org, held)
	}
	p.artifacts, p.newest = byComponent(artifacts), byComponent(newest)
	return err
}

func byComponent(builds []store.Build) map[string]*store.Build {
	all := map[string]*store.Build{}
	for i := range builds {
		all[builds[i].ComponentID] = &builds[i]
	}
	return all
}

// declare makes a config the version's. Of the components that are not deployed so far nothing is declared.
func (p *appPart) declare(config *appconfig.App) {
	p.config, p.declared = config, map[string]declaration{}
	deployed := config.Deployed()
	for _, c := range p.components {
		p.declared[c.Name] = declare(deployed, c.Name)
	}
}

// hold makes the components those of the version: one that left since is there again, one that came since is not, and what is wrong
// with the newest code of one is no concern of it.
func (p *appPart) hold() {
	for i := range p.components {
		c := &p.components[i]
		c.Present, c.Problem = p.declared[c.Name].config != nil, ""
	}
}
