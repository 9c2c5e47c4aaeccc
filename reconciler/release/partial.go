package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// CreatePartial creates a release from the components that could be built of a locked app's newest
// release, which is incomplete. A component that could not be built gets the input and the config
// that it has in the newest complete release; if it is not in that release, it is left out. If
// there is nothing to create, the error is a refusal.
func CreatePartial(ctx context.Context, tx *store.Tx, app store.App, actor string) (*store.Release, error) {
	newest, err := tx.NewestRelease(ctx, tx.Org, app.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, conflict("no_release", "app "+app.Name+" has no release yet",
			"Run `nuon sync` first; `nuon apps get "+app.Name+"` shows what is wrong.")
	}
	if err != nil {
		return nil, err
	}
	rows, err := tx.ReleaseComponents(ctx, tx.Org, newest.ID)
	if err != nil {
		return nil, err
	}
	if err := checkIncomplete(newest, rows); err != nil {
		return nil, err
	}
	m := partialBuilder{contents: contents{version: newest.VersionID, hasOwnConfig: true, partial: true},
		last: map[string]store.ReleaseComponentsRow{}}
	if m.config, err = Config(ctx, tx, newest); err != nil {
		return nil, err
	}
	last, err := m.readLast(ctx, tx, app)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := m.component(row, last); err != nil {
			return nil, err
		}
	}
	if last.Digest == m.digest() {
		return nil, conflict("nothing_new",
			fmt.Sprintf("release %d has no build that release %d does not have already", newest.Number,
				last.Number),
			"Fix what cannot be built and push again.")
	}
	commits, err := Commits(newest)
	if err != nil {
		return nil, err
	}
	cause := fmt.Sprintf("%s requested a partial release of release %d: %s", actor, newest.Number,
		joinReasons(m.reasons))
	return insertRelease(ctx, tx, app, m.contents, cause, commits)
}

// Config returns the config of a release.
func Config(ctx context.Context, tx *store.Tx, r store.Release) (*appconfig.App, error) {
	raw := r.Config
	if len(raw) == 0 {
		version, err := tx.AppVersionByID(ctx, tx.Org, r.VersionID)
		if err != nil {
			return nil, err
		}
		raw = version.Config
	}
	config := &appconfig.App{}
	if err := json.Unmarshal(raw, config); err != nil {
		return nil, fmt.Errorf("decode the config of release %d: %w", r.Number, err)
	}
	return config, nil
}

func conflict(code, title, remedy string) error {
	return refusal.New(refusal.Conflict, code, title, remedy)
}

// checkIncomplete rejects a release that is complete, or that may still become complete.
func checkIncomplete(r store.Release, rows []store.ReleaseComponentsRow) error {
	if r.Status == Complete {
		return conflict("complete", fmt.Sprintf("release %d is complete", r.Number),
			"It is not partial, and installs follow it.")
	}
	for _, row := range rows {
		if row.Problem == "" && row.Status != "succeeded" && row.Status != "failed" {
			return conflict("building",
				fmt.Sprintf("release %d is being built: build %d of %s has not ended", r.Number, row.Build, row.Name),
				"Try again when it has.")
		}
	}
	return nil
}

// partialBuilder collects the contents of a partial release.
type partialBuilder struct {
	contents
	last       map[string]store.ReleaseComponentsRow // by component id
	lastConfig *appconfig.App
	reasons    []string // the outcome for the components that could not be built
}

// readLast reads the newest complete release; the zero Release if there is none.
func (m *partialBuilder) readLast(ctx context.Context, tx *store.Tx, app store.App) (store.Release, error) {
	last, err := tx.NewestComplete(ctx, tx.Org, app.ID)
	if errors.Is(err, store.ErrNotFound) {
		return store.Release{}, nil
	}
	if err != nil {
		return last, err
	}
	rows, err := tx.ReleaseComponents(ctx, tx.Org, last.ID)
	if err != nil {
		return last, err
	}
	for _, row := range rows {
		m.last[row.ComponentID] = row
	}
	m.lastConfig, err = Config(ctx, tx, last)
	return last, err
}

// component adds one component of the incomplete release.
func (m *partialBuilder) component(row store.ReleaseComponentsRow, last store.Release) error {
	if row.Status == "succeeded" {
		m.parts = append(m.parts,
			part{component: row.ComponentID, name: row.Name, input: row.InputID, inputDigest: row.InputDigest})
		return nil
	}
	was, had := m.last[row.ComponentID]
	switch {
	case had:
		from := was.KeptFrom
		if from == 0 {
			from = last.Number
		}
		m.parts = append(m.parts,
			part{component: row.ComponentID, name: row.Name, input: was.InputID, inputDigest: was.InputDigest,
				keptFrom: from})
		m.keepPrevious(row.Name)
		m.reasons = append(m.reasons, fmt.Sprintf("%s stays as in release %d", row.Name, from))
	case row.Name == appconfig.SandboxName:
		return conflict("sandbox", "the sandbox could not be built, and every component needs it",
			"Fix it and push again.")
	default:
		m.drop(row.Name)
		m.reasons = append(m.reasons, row.Name+" is left out")
	}
	return nil
}

// keepPrevious restores a component's previous config, with the inputs that it reads.
func (m *partialBuilder) keepPrevious(name string) {
	was, _ := m.lastConfig.Component(name)
	if was == nil {
		return
	}
	config := *m.config
	config.Components, config.Inputs = slices.Clone(config.Components), slices.Clone(config.Inputs)
	if name == appconfig.SandboxName {
		config.Sandbox = was
	}
	for i := range config.Components {
		if config.Components[i].Name == name {
			config.Components[i] = *was
		}
	}
	for _, ref := range was.Refs() {
		if !ref.HasPrefix("inputs", "inputs") || len(ref) < 3 {
			continue
		}
		in, had := m.lastConfig.Input(ref[2])
		if _, has := config.Input(ref[2]); had && !has {
			config.Inputs = append(config.Inputs, *in)
		}
	}
	m.config = &config
}

// drop removes a component from the config.
func (m *partialBuilder) drop(name string) {
	config := *m.config
	config.Components = slices.DeleteFunc(slices.Clone(config.Components),
		func(c appconfig.Component) bool { return c.Name == name })
	m.config = &config
}
