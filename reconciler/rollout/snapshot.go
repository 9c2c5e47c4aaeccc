package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// snapshot is all that is known of one install at one moment. It is plain data; desire and its kin only read it.
type snapshot struct {
	org       store.Org
	app       store.App
	version   store.AppVersion
	config    *appconfig.App // nil until the app has a version
	install   store.Install
	runnerKey string // id of the runner's public key; empty until it has registered
	places    map[string]*place
	refusals  []store.Refusal
	inputs    map[string]store.InstallInput
	outputs   map[outputOwner][]store.Output
}

// outputOwner is who gave an output: scope component or action, and its name.
type outputOwner struct{ scope, name string }

// place is one component's place on the install.
type place struct {
	row       store.InstallComponent
	component store.Component
	config    *appconfig.Component // nil when the component is not part of the version
	after     []string             // what it needs: the sandbox, and the components that it depends on
	artifact  *store.Build         // the newest succeeded build of its input
	newest    *store.Build         // the newest build of its input
	kept      kept
	problem   string // why what was applied cannot be read; empty when it can
	contested []store.ContestedStatesRow
	refusals  map[string]store.Refusal // by desired digest
}

// there says that something of the component is or may be there.
func (p *place) there() bool { return p.row.AppliedArtifact != "" }

// load reads the snapshot of a locked install, and makes the places that are missing.
func load(ctx context.Context, tx *store.Tx, install store.Install) (*snapshot, error) {
	return read(ctx, tx, install, shared{}, (*snapshot).addPlaces)
}

// look reads the snapshot of an install and writes nothing. A place that is missing has no id.
func look(ctx context.Context, tx *store.Tx, install store.Install, apps shared) (*snapshot, error) {
	return read(ctx, tx, install, apps, (*snapshot).imagine)
}

// shared is what the installs of one app have in common, by app: within one transaction it is read once, however many are looked
// at.
type shared map[string]*appPart

// appPart is an app, its current version, its components and their builds. It is only read.
type appPart struct {
	app        store.App
	version    store.AppVersion
	config     *appconfig.App
	components []store.Component
	artifacts  []store.Build
	newest     []store.Build
}

func (all shared) of(ctx context.Context, tx *store.Tx, appID string) (*appPart, error) {
	if part := all[appID]; part != nil {
		return part, nil
	}
	part := &appPart{}
	if err := part.load(ctx, tx, appID); err != nil {
		return nil, err
	}
	all[appID] = part
	return part, nil
}

func (p *appPart) load(ctx context.Context, tx *store.Tx, appID string) (err error) {
	if p.app, err = tx.AppByID(ctx, tx.Org, appID); err != nil {
		return err
	}
	if p.components, err = tx.RolloutComponents(ctx, tx.Org, appID); err != nil {
		return err
	}
	if p.artifacts, err = tx.RolloutArtifacts(ctx, tx.Org, appID); err != nil {
		return err
	}
	if p.newest, err = tx.RolloutBuilds(ctx, tx.Org, appID); err != nil || p.app.VersionID == nil {
		return err
	}
	if p.version, err = tx.AppVersionByID(ctx, tx.Org, *p.app.VersionID); err != nil {
		return err
	}
	p.config = &appconfig.App{}
	if err := json.Unmarshal(p.version.Config, p.config); err != nil {
		return fmt.Errorf("decode app version %d: %w", p.version.Number, err)
	}
	return nil
}

// complete gives the missing components of an install their rows, and all rows.
type complete func(s *snapshot, ctx context.Context, tx *store.Tx, missing []store.Component, rows []store.InstallComponent) ([]store.InstallComponent, error)

func read(ctx context.Context, tx *store.Tx, install store.Install, apps shared, complete complete) (*snapshot, error) {
	s := &snapshot{install: install, places: map[string]*place{}, inputs: map[string]store.InstallInput{}, outputs: map[outputOwner][]store.Output{}}
	part, err := apps.of(ctx, tx, install.AppID)
	if err != nil {
		return nil, fmt.Errorf("read the app of install %s: %w", install.Name, err)
	}
	s.app, s.version, s.config = part.app, part.version, part.config
	loadPlaces := func(ctx context.Context, tx *store.Tx) error { return s.loadPlaces(ctx, tx, part, complete) }
	for _, read := range []func(context.Context, *store.Tx) error{s.loadOwners, loadPlaces, s.loadContested, s.loadRefusals, s.loadValues} {
		if err := read(ctx, tx); err != nil {
			return nil, fmt.Errorf("read install %s: %w", install.Name, err)
		}
	}
	return s, nil
}

// loadOwners reads whose the install is, and whose key its values are sealed to.
func (s *snapshot) loadOwners(ctx context.Context, tx *store.Tx) (err error) {
	if s.org, err = tx.OrgByID(ctx, tx.Org); err != nil {
		return err
	}
	runner, err := tx.RolloutRunner(ctx, tx.Org, s.install.RunnerID)
	if err != nil {
		return err
	}
	if runner.Recipient != "" {
		key, err := seal.ParseRecipient(runner.Recipient)
		if err != nil {
			return fmt.Errorf("the key of runner %s: %w", runner.Name, err)
		}
		s.runnerKey = key.KeyID()
	}
	return nil
}

// loadPlaces gives every present component a place, and finds those of components that left.
func (s *snapshot) loadPlaces(ctx context.Context, tx *store.Tx, part *appPart, complete complete) error {
	rows, err := tx.RolloutPlaces(ctx, tx.Org, s.install.ID)
	if err != nil {
		return err
	}
	if missing := s.missing(part.components, rows); len(missing) > 0 {
		if rows, err = complete(s, ctx, tx, missing, rows); err != nil {
			return err
		}
	}
	byID := map[string]store.Component{}
	for _, c := range part.components {
		byID[c.ID] = c
	}
	for _, r := range rows {
		p := &place{row: r, component: byID[r.ComponentID], refusals: map[string]store.Refusal{}}
		if p.kept, err = decodeKept(r); err != nil {
			p.problem = err.Error()
		}
		p.artifact, p.newest = buildOf(part.artifacts, p), buildOf(part.newest, p)
		s.places[r.Name] = p
		s.adopt(p)
	}
	return nil
}

// addPlaces makes the rows that are missing.
func (s *snapshot) addPlaces(ctx context.Context, tx *store.Tx, missing []store.Component, _ []store.InstallComponent) ([]store.InstallComponent, error) {
	for _, c := range missing {
		err := tx.AddPlace(ctx, store.AddPlaceParams{OrgID: tx.Org, ID: newPlaceID(), InstallID: s.install.ID, ComponentID: c.ID, Name: c.Name})
		if err != nil {
			return nil, err
		}
	}
	return tx.RolloutPlaces(ctx, tx.Org, s.install.ID)
}

// imagine gives rows as they will be made.
func (s *snapshot) imagine(_ context.Context, tx *store.Tx, missing []store.Component, rows []store.InstallComponent) ([]store.InstallComponent, error) {
	for _, c := range missing {
		rows = append(rows, store.InstallComponent{OrgID: tx.Org, InstallID: s.install.ID, ComponentID: c.ID, Name: c.Name, Wanted: "present"})
	}
	return rows, nil
}

// adopt gives a place its part of the version's config.
func (s *snapshot) adopt(p *place) {
	if s.config == nil || !p.component.Present {
		return
	}
	c, ok := s.config.Component(p.row.Name)
	if !ok {
		return
	}
	p.config = c
	if c.Kind != appconfig.KindSandbox {
		if s.config.Sandbox != nil {
			p.after = append(p.after, appconfig.SandboxName)
		}
		p.after = append(p.after, s.config.DependsOn(c.Name)...)
	}
}

func (s *snapshot) missing(components []store.Component, rows []store.InstallComponent) []store.Component {
	var missing []store.Component
	for _, c := range components {
		has := slices.ContainsFunc(rows, func(r store.InstallComponent) bool { return r.ComponentID == c.ID })
		if c.Present && !has {
			missing = append(missing, c)
		}
	}
	return missing
}

func buildOf(builds []store.Build, p *place) *store.Build {
	for i := range builds {
		if builds[i].ComponentID == p.component.ID {
			return &builds[i]
		}
	}
	return nil
}

func (s *snapshot) loadContested(ctx context.Context, tx *store.Tx) error {
	rows, err := tx.ContestedStates(ctx, tx.Org, s.install.ID)
	for _, r := range rows {
		for _, p := range s.places {
			if p.row.ID == r.InstallComponentID {
				p.contested = append(p.contested, r)
			}
		}
	}
	return err
}

func (s *snapshot) loadRefusals(ctx context.Context, tx *store.Tx) error {
	rows, err := tx.RolloutRefusals(ctx, tx.Org, s.install.ID)
	if err != nil {
		return err
	}
	s.refusals = rows
	for _, r := range rows {
		for _, p := range s.places {
			if p.row.ID == r.InstallComponentID {
				p.refusals[r.DesiredDigest] = r
			}
		}
	}
	return nil
}

func (s *snapshot) loadValues(ctx context.Context, tx *store.Tx) error {
	inputs, err := tx.RolloutInputs(ctx, tx.Org, s.install.ID)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		s.inputs[in.Name] = in
	}
	outputs, err := tx.OutputsOfInstall(ctx, tx.Org, s.install.ID)
	if err != nil {
		return err
	}
	for _, o := range outputs {
		owner := outputOwner{o.Scope, o.Owner}
		s.outputs[owner] = append(s.outputs[owner], o)
	}
	return nil
}
