package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/installsecrets"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// snapshot is all that is known of one install at one moment. It is plain data;
// desire and its callees only read it.
type snapshot struct {
	org        store.Org
	app        store.App
	release    store.Release  // of the install: the one that installs follow, or the one that it is pinned to
	latest     int32          // number of the release that installs follow
	newest     store.Release  // number, status and reason of the app's newest release
	config     *appconfig.App // nil until the app has a release
	configAt   time.Time      // when the config was first read
	sources    map[string]actionSource
	install    store.Install
	toggles    map[string]bool // components that the install switched on or off
	overrides  map[string]appconfig.Override
	runner     store.Runner
	runnerKey  string // id of the runner's public key; empty until it has registered
	components map[string]*installComponent
	rejections map[string]map[string]store.Rejection // by component and desired digest, also those that a request deletes
	inputs     map[string]store.InstallInput
	variables  map[string]store.AppVariable // of the app
	controlKey seal.Identity                // of the control plane; zero where no job is made
	outputs    map[outputOwner][]store.Output
	runs       map[string]actionRun         // the latest run of each action that has run
	account    map[string]map[string]string // the cloud account of the install, as in its file
	stack      map[string]json.RawMessage   // the outputs of the install's stack; nil before there are any

	secrets       map[string]installsecrets.Report // what the runner reported of the customer's secrets
	secretsDigest string                           // of what it was asked

	roles      *installstack.Roles // of the app; nil until a job needs one
	breakGlass map[string]bool     // the break-glass roles that are requested

	stackRunning string              // version of the stack that has these outputs, as it was stated
	stackNewest  stackversion.Newest // version of the stack that was rendered last

	configTrace string // trace of the revision that made the config current
}

// address returns the install's name for commands. Another app may have an install of
// the same name.
func (s *snapshot) address() string { return s.app.Name + "/" + s.install.Name }

// pinned reports whether the install is pinned to one release.
func (s *snapshot) pinned() bool { return s.install.PinReleaseID != nil }

// outputOwner identifies the source of an output: scope component or action, and its name.
type outputOwner struct{ scope, name string }

// installComponent is one component of the install.
type installComponent struct {
	declaration
	componentRow
	component store.Component
	artifact  *store.Build // the build for the component's current input, if that build has succeeded
	newest    *store.Build // the build for the component's current input
	applied   appliedRecord
	problem   string // why its applied config cannot be read; empty if it can
}

// mayBeDeployed reports whether something of the component is or may be deployed.
func (p *installComponent) mayBeDeployed() bool { return p.row.AppliedArtifact != "" }

// loadLocked reads the snapshot of a locked install, and creates the missing component rows.
func loadLocked(ctx context.Context, tx *store.Tx, install store.Install, known *configCache) (*snapshot, error) {
	all, err := loadSnapshots(ctx, tx, []store.Install{install}, newReleaseCache(known).get, (*snapshot).insertComponents)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// loadReadOnly reads the snapshots of installs, in their order, and writes nothing. A missing
// component has no id.
func loadReadOnly(ctx context.Context, tx *store.Tx, installs []store.Install) ([]*snapshot, error) {
	return loadSnapshots(ctx, tx, installs, newReleaseCache(nil).get, (*snapshot).assumeRows)
}

// rowCompleter adds rows for the missing components of an install, and returns all rows.
type rowCompleter func(s *snapshot, ctx context.Context, tx *store.Tx, missing []store.Component,
	rows []componentRow) ([]componentRow, error)

// releaseLookup returns the release that an install is to have.
type releaseLookup func(ctx context.Context, tx *store.Tx, install store.Install) (*appRelease, error)

// loadSnapshots reads each kind of per-install data in one query for all installs.
func loadSnapshots(ctx context.Context, tx *store.Tx, installs []store.Install, of releaseLookup,
	complete rowCompleter) ([]*snapshot,
	error) {
	rows, err := readRows(ctx, tx, installs)
	if err != nil {
		return nil, fmt.Errorf("read %d installs: %w", len(installs), err)
	}
	all := make([]*snapshot, 0, len(installs))
	for _, install := range installs {
		part, err := of(ctx, tx, install)
		if err != nil {
			return nil, fmt.Errorf("read the app of install %s: %w", install.Name, err)
		}
		s, err := assemble(ctx, tx, install, part, rows, complete)
		if err != nil {
			return nil, fmt.Errorf("read install %s: %w", install.Name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// assemble builds the snapshot of one install from what was read.
func assemble(ctx context.Context, tx *store.Tx, install store.Install, part *appRelease, rows *installRows,
	complete rowCompleter) (*snapshot, error) {
	s := &snapshot{
		org: rows.org, app: part.app, release: part.release, latest: part.latest, newest: part.newest, config: part.config,
		configTrace: part.configTrace, configAt: part.configAt, sources: part.sources, install: install,
		components: map[string]*installComponent{}, rejections: map[string]map[string]store.Rejection{},
		inputs: map[string]store.InstallInput{}, variables: map[string]store.AppVariable{}, controlKey: part.controlKey,
		outputs: map[outputOwner][]store.Output{}, runs: map[string]actionRun{}, breakGlass: map[string]bool{},
	}
	if err := json.Unmarshal(install.Toggles, &s.toggles); err != nil {
		return nil, fmt.Errorf("decode its toggles: %w", err)
	}
	if len(install.Overrides) > 0 {
		if err := json.Unmarshal(install.Overrides, &s.overrides); err != nil {
			return nil, fmt.Errorf("decode its overrides: %w", err)
		}
	}
	if len(install.Account) > 0 {
		if err := json.Unmarshal(install.Account, &s.account); err != nil {
			return nil, fmt.Errorf("decode its account: %w", err)
		}
	}
	for _, v := range rows.values[install.ID] {
		if err := s.addValue(v); err != nil {
			return nil, err
		}
	}
	s.runner = rows.runners[install.RunnerID]
	if runner := s.runner; runner.Recipient != "" {
		key, err := seal.ParseRecipient(runner.Recipient)
		if err != nil {
			return nil, fmt.Errorf("the key of runner %s: %w", runner.Name, err)
		}
		s.runnerKey = key.KeyID()
	}
	places := rows.components[install.ID]
	if missing := s.missingComponents(part.components, places); len(missing) > 0 {
		var err error
		if places, err = complete(s, ctx, tx, missing, places); err != nil {
			return nil, err
		}
	}
	s.addComponents(part, places)
	return s, nil
}

// actionRun is how the latest run of an action ended.
type actionRun struct {
	ID     string `json:"id"` // of its workflow
	Status string `json:"status"`
}

// addValue adds an input, a variable, an output, the outputs of the stack, its newest version, the end of an action's
// run, a report of secrets or a request for a break-glass role.
func (s *snapshot) addValue(v store.ValuesOfInstallsRow) error {
	switch v.Scope {
	case "stack":
		s.stackRunning = v.Name
		return s.addStackOutputs(v.Value)
	case "stack_version":
		if err := json.Unmarshal(v.Value, &s.stackNewest); err != nil {
			return fmt.Errorf("decode the newest version of the stack: %w", err)
		}
		return nil
	case "secrets":
		return s.addSecrets(v)
	case "break_glass":
		s.breakGlass[v.Owner] = true
		return nil
	case "variable":
		return s.addVariable(v)
	case "run":
		var run actionRun
		if err := json.Unmarshal(v.Value, &run); err != nil {
			return fmt.Errorf("decode the latest run of action %s: %w", v.Owner, err)
		}
		s.runs[v.Owner] = run
		return nil
	case "component", "action":
		owner := outputOwner{v.Scope, v.Owner}
		s.outputs[owner] = append(s.outputs[owner], store.Output{Scope: v.Scope, Owner: v.Owner, Name: v.Name, Value: v.Value,
			Sealed: v.Sealed, Hash: v.Hash})
		return nil
	}
	in := store.InstallInput{Name: v.Name, Sealed: v.Sealed, Hash: v.Hash}
	if v.Value != nil {
		if err := json.Unmarshal(v.Value, &in.Value); err != nil {
			return fmt.Errorf("decode input %s: %w", v.Name, err)
		}
	}
	s.inputs[v.Name] = in
	return nil
}

// addComponents adds a place for every component of the install, including those that left the app.
func (s *snapshot) addComponents(part *appRelease, places []componentRow) {
	byID := map[string]store.Component{}
	for _, c := range part.components {
		byID[c.ID] = c
	}
	for _, found := range places {
		row := found.row
		p := &installComponent{componentRow: found, component: byID[row.ComponentID]}
		var err error
		if p.applied, err = decodeAppliedRecord(row); err != nil {
			p.problem = err.Error()
		}
		if p.newest = part.builds[row.ComponentID]; p.newest != nil && p.newest.Status == "succeeded" {
			p.artifact = p.newest
		}
		if p.component.Present {
			p.declaration = s.withOverride(part.declarations[row.Name])
			if row.Name == appconfig.SandboxName {
				p.declaration = s.withPlatformValues(p.declaration, part.platform)
			}
		}
		s.components[row.Name], s.rejections[row.Name] = p, found.rejections
	}
}

// insertComponents inserts the missing rows.
func (s *snapshot) insertComponents(ctx context.Context, tx *store.Tx, missing []store.Component,
	_ []componentRow) ([]componentRow,
	error) {
	add := store.AddInstallComponentsParams{OrgID: tx.Org, InstallID: s.install.ID}
	for _, c := range missing {
		add.Ids, add.ComponentIds, add.Names = append(add.Ids, newInstallComponentID()), append(add.ComponentIds, c.ID),
			append(add.Names, c.Name)
	}
	if err := tx.AddInstallComponents(ctx, add); err != nil {
		return nil, err
	}
	places, err := readComponentRows(ctx, tx, s.install.ID)
	return places[s.install.ID], err
}

// assumeRows returns the rows as they will be inserted.
func (s *snapshot) assumeRows(_ context.Context, tx *store.Tx, missing []store.Component,
	rows []componentRow) ([]componentRow,
	error) {
	for _, c := range missing {
		rows = append(rows,
			componentRow{row: store.InstallComponent{OrgID: tx.Org, InstallID: s.install.ID, ComponentID: c.ID, Name: c.Name,
				DesiredPresence: "present"}})
	}
	return rows, nil
}

func (s *snapshot) missingComponents(components []store.Component, rows []componentRow) []store.Component {
	has := make(map[string]bool, len(rows))
	for _, r := range rows {
		has[r.row.ComponentID] = true
	}
	var missing []store.Component
	for _, c := range components {
		if c.Present && !has[c.ID] {
			missing = append(missing, c)
		}
	}
	return missing
}
