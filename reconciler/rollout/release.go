package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// appRelease is an app as installs are to have it: a release with its config, its components and their
// builds. It is read-only.
type appRelease struct {
	app          store.App
	release      store.Release // only the columns that a snapshot uses; the zero Release if the app has none
	latest       int32         // number of the release that installs follow
	newest       store.Release // number, status and reason of the newest release
	config       *appconfig.App
	configAt     time.Time              // when the config was first read
	declarations map[string]declaration // by component
	components   []store.Component
	builds       map[string]*store.Build // the builds of the release, by component id
	sources      map[string]actionSource // the code that steps of actions run, by name
	variables    []appconfig.ModuleVariable
	platform     []appconfig.PlatformValue // what nuon passes to the sandbox, as far as it has a value

	configTrace string // trace of the revision that made the config current

	controlKey seal.Identity // of the control plane; zero where no job is made
}

// declaration is a release's config of one component. Its templates are parsed once,
// however many installs have it.
type declaration struct {
	config    *appconfig.Component // nil if the component is not part of the release
	digest    string               // of the parts of config that count
	dependsOn []string             // what it needs: the sandbox, and the components that it depends on
	refs      []render.Path        // the paths that its templates read, and those that identify its cluster
	cluster   api.ClusterSpec      // where it is deployed; zero for a Terraform module
	policies  []api.PolicySpec     // what its plans must pass
}

// actionSource is the code that steps of actions run from one directory of a repository, as the release has it.
type actionSource struct {
	component string // id
	build     string // id; empty if the release has none
	commit    string // at which it was built
	artifact  string // digest; empty if the release has no build of it
}

// allRefs returns the paths of all values that a deploy needs, including those that do not count.
func (d declaration) allRefs() []render.Path {
	if len(d.cluster.Path) == 0 {
		return d.refs
	}
	return append(slices.Clone(d.refs), render.Path(d.cluster.Path))
}

// declarationOf returns a config's declaration of a component.
func declarationOf(config *appconfig.App, name string) declaration {
	c, ok := config.Component(name)
	if !ok {
		return declaration{}
	}
	d := declaration{config: c, digest: c.ConfigDigest(), cluster: clusterOf(config, c)}
	d.policies = policiesOf(config, c)
	if len(d.policies) > 0 { // changed policies lead to a new plan
		raw, _ := json.Marshal(d.policies) // texts always encode
		d.digest = sha256digest.Of(append([]byte(d.digest+"\npolicies\n"), raw...))
	}
	d.refs = append(c.Refs(), identityRefs(d.cluster)...)
	if c.Kind != appconfig.KindSandbox {
		if config.Sandbox != nil {
			d.dependsOn = append(d.dependsOn, appconfig.SandboxName)
		}
		d.dependsOn = append(d.dependsOn, config.DependsOn(c.Name)...)
	}
	d.refs, d.dependsOn = slices.Clip(d.refs), slices.Clip(d.dependsOn) // many installs share them
	return d
}

// policiesOf returns the policies that plans of a component must pass.
func policiesOf(config *appconfig.App, c *appconfig.Component) []api.PolicySpec {
	var out []api.PolicySpec
	if config.MirrorsImages(c) {
		out = append(out, api.PolicySpec{Name: api.MirroredImagesPolicy, Engine: api.BuiltIn})
	}
	for _, p := range config.PlanPolicies(c) {
		out = append(out, api.PolicySpec{Name: p.Name, Engine: api.PolicySpecEngine(p.Engine), Contents: p.Contents})
	}
	return out
}

// releaseCache caches the data that installs have in common, by app and pinned release: it
// is read once per transaction.
type releaseCache struct {
	releases map[string]*appRelease
	configs  *configCache // nil to parse each config again
}

func newReleaseCache(c *configCache) releaseCache {
	return releaseCache{releases: map[string]*appRelease{}, configs: c}
}

func (c releaseCache) get(ctx context.Context, tx *store.Tx, install store.Install) (*appRelease, error) {
	pin := pinOf(install)
	key := install.AppID + "/" + pin
	if part := c.releases[key]; part != nil {
		return part, nil
	}
	part, err := readRelease(ctx, tx, install.AppID, pin, c.configs)
	if err != nil {
		return nil, err
	}
	c.releases[key] = part
	return part, nil
}

// pinOf returns the id of the release that an install is pinned to; empty for none.
func pinOf(install store.Install) string {
	if install.PinReleaseID == nil {
		return ""
	}
	return *install.PinReleaseID
}

// configCache caches the declarations of releases, by org and id. They never change, and to parse
// a config and its templates costs more than all else about an install that is up to date.
type configCache struct {
	key       seal.Identity // the control plane's, for the service that the cache belongs to
	mu        sync.Mutex
	byRelease map[string]*parsedConfig
	last      map[string]*parsedConfig // of the release that was read last, by org, app and pin
}

// parsedConfig is a config with its declarations by component.
type parsedConfig struct {
	release    string // id
	config     *appconfig.App
	components map[string]declaration
}

func newConfigCache(key seal.Identity) *configCache {
	return &configCache{key: key, byRelease: map[string]*parsedConfig{}, last: map[string]*parsedConfig{}}
}

// maxCachedConfigs bounds the size of the cache.
const maxCachedConfigs = 64

// newest returns the config of the release that was read last for an app and pin, which need not be read again as long
// as the release is the same; nil if there is none.
func (c *configCache) newest(org, app, pin string) *parsedConfig {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[org+"/"+app+"/"+pin]
}

// setNewest sets what newest returns.
func (c *configCache) setNewest(org, app, pin string, d *parsedConfig) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.last) >= maxCachedConfigs {
		clear(c.last)
	}
	c.last[org+"/"+app+"/"+pin] = d
}

// get returns the declarations of a release.
func (c *configCache) get(org, release string, raw json.RawMessage) (*parsedConfig, error) {
	key := org + "/" + release
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if d := c.byRelease[key]; d != nil {
			return d, nil
		}
	}
	config := &appconfig.App{}
	if err := json.Unmarshal(raw, config); err != nil {
		return nil, err
	}
	d := parseDeclarations(config)
	d.release = release
	if c != nil {
		if len(c.byRelease) >= maxCachedConfigs {
			clear(c.byRelease)
		}
		c.byRelease[key] = d
	}
	return d, nil
}

// parseDeclarations returns the declarations of a config. Components of kinds that nuon does not deploy have
// none.
func parseDeclarations(config *appconfig.App) *parsedConfig {
	d, deployed := &parsedConfig{config: config, components: map[string]declaration{}}, config.Deployed()
	if deployed.Sandbox != nil {
		d.components[appconfig.SandboxName] = declarationOf(deployed, appconfig.SandboxName)
	}
	for _, c := range deployed.Components {
		d.components[c.Name] = declarationOf(deployed, c.Name)
	}
	return d
}

// releaseComponent is a component of an app as returned by the query RolloutRelease.
type releaseComponent struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Declared bool   `json:"declared"`
	Problem  string `json:"problem"`

	Build   *int32 `json:"build"` // nil if there is none
	BuildID string `json:"build_id"`
	// Variables are those that the module of the sandbox declares and nuon may pass.
	Variables []appconfig.ModuleVariable `json:"variables"`
	Commit    string                     `json:"commit"`
	Status    string                     `json:"status"`
	Artifact  string                     `json:"artifact"`
	Bytes     int64                      `json:"bytes"` // size of the artifact, 0 if not known
	Error     string                     `json:"error"`
	Reason    string                     `json:"reason"`

	CreatedAt time.Time `json:"created_at"`
	Trace     string    `json:"trace"`
}

// releaseRow reads the release for installs of an app, without its config if that is the known one.
func releaseRow(ctx context.Context, tx *store.Tx, appID, pin string,
	known *parsedConfig) (store.ReleaseForRolloutRow, error) {
	ask := store.ReleaseForRolloutParams{OrgID: tx.Org, AppID: appID, Pin: pin}
	if known != nil {
		ask.Known = known.release
	}
	return tx.ReleaseForRollout(ctx, ask)
}

// readRelease reads the release that installs of an app follow, or the pinned one, in
// one statement, so that its parts are consistent with each other.
func readRelease(ctx context.Context, tx *store.Tx, appID, pin string, known *configCache) (*appRelease, error) {
	last := known.newest(tx.Org, appID, pin)
	row, err := releaseRow(ctx, tx, appID, pin, last)
	if err != nil {
		return nil, err
	}
	p := &appRelease{
		app: row.App, latest: row.Latest,
		newest: store.Release{Number: row.Newest, Status: row.NewestStatus, Reason: row.NewestReason},
		release: store.Release{
			ID: row.ReleaseID, AppID: appID, Number: row.Number, Status: row.Status, Reason: row.Reason, Partial: row.Partial,
			Commits: row.Commits, VersionID: row.VersionID,
		},
		builds: map[string]*store.Build{}, sources: map[string]actionSource{},
	}
	var components []releaseComponent
	if err := json.Unmarshal(row.Components, &components); err != nil {
		return nil, fmt.Errorf("decode the components of release %d: %w", row.Number, err)
	}
	for _, c := range components {
		if c.Kind == appconfig.KindActionSource {
			p.sources[c.Name] = actionSource{component: c.ID, build: c.BuildID, commit: c.Commit, artifact: c.Artifact}
			continue
		}
		p.components = append(p.components, store.Component{
			OrgID: tx.Org, ID: c.ID, AppID: appID, Name: c.Name, Kind: c.Kind, Present: c.Declared, Problem: c.Problem,
		})
		if c.Kind == appconfig.KindSandbox {
			p.variables = c.Variables
		}
		if c.Build != nil {
			p.builds[c.ID] = &store.Build{
				ID: c.BuildID, Commit: c.Commit, ComponentID: c.ID, Number: *c.Build, Status: c.Status,
				ArtifactDigest: c.Artifact, ArtifactBytes: c.Bytes,
				Error: c.Error, Reason: c.Reason,
				CreatedAt: c.CreatedAt, Trace: c.Trace,
			}
		}
	}
	if row.ReleaseID == "" {
		return p, nil
	}
	d := last
	if d == nil || d.release != row.ReleaseID {
		if d, err = known.get(tx.Org, row.ReleaseID, row.Config); err != nil {
			return nil, fmt.Errorf("decode the config of release %d: %w", row.Number, err)
		}
		known.setNewest(tx.Org, appID, pin, d)
	}
	p.setConfig(d)
	p.configTrace = row.ConfigTrace
	if known != nil {
		p.controlKey = known.key
	}
	if row.VersionAt != nil {
		p.configAt = *row.VersionAt
	}
	return p, nil
}

// setConfig sets the release's config.
func (p *appRelease) setConfig(d *parsedConfig) {
	p.config, p.declarations = d.config, d.components
	p.platform = d.config.PlatformValues(p.variables)
	for i := range p.components {
		c := &p.components[i]
		if d := p.declarations[c.Name]; d.config != nil {
			c.Kind = d.config.Kind
		}
	}
}
