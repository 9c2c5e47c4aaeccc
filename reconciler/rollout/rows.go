package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// rows holds what was read of some installs, by install: one query of each kind for all of them.
type rows struct {
	org     store.Org
	runners map[string]store.Runner // by runner
	places  map[string][]placeRow
	values  map[string][]store.ValuesOfInstallsRow // inputs and outputs
}

// placeRow is one component of an install as it was read.
type placeRow struct {
	row       store.InstallComponent
	applying  bool // a runner applies it now under a valid lease
	contested []contestedState
	refusals  map[string]store.Refusal // by desired digest
}

// contestedState is a state version that a person has to decide about.
type contestedState struct {
	Version int32  `json:"version"`
	Status  string `json:"status"` // contested or withheld
	Reason  string `json:"reason"`
}

func readRows(ctx context.Context, tx *store.Tx, installs []store.Install) (*rows, error) {
	r := &rows{runners: map[string]store.Runner{}}
	ids, runners := make([]string, 0, len(installs)), make([]string, 0, len(installs))
	for _, i := range installs {
		ids, runners = append(ids, i.ID), append(runners, i.RunnerID)
	}
	var err error
	if r.places, err = readPlaces(ctx, tx, ids...); err != nil {
		return nil, err
	}
	values, err := tx.ValuesOfInstalls(ctx, tx.Org, ids)
	if err != nil {
		return nil, err
	}
	r.values = grouped(values, func(v store.ValuesOfInstallsRow) string { return v.InstallID })
	found, err := tx.RunnersOfInstalls(ctx, tx.Org, runners)
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		r.runners[row.Runner.ID], r.org = row.Runner, row.Org
	}
	return r, nil
}

// grouped groups rows by key, in their order.
func grouped[T any](rows []T, of func(T) string) map[string][]T {
	all := map[string][]T{}
	for _, row := range rows {
		all[of(row)] = append(all[of(row)], row)
	}
	return all
}

// readPlaces reads the components of installs, by install.
func readPlaces(ctx context.Context, tx *store.Tx, installs ...string) (map[string][]placeRow, error) {
	found, err := tx.PlacesOfInstalls(ctx, tx.Org, installs)
	if err != nil {
		return nil, err
	}
	all := map[string][]placeRow{}
	for _, f := range found {
		p := placeRow{row: f.InstallComponent, applying: f.Applying}
		if p.contested, err = decodeContested(f.Contested); err != nil {
			return nil, fmt.Errorf("component %s: %w", p.row.Name, err)
		}
		if p.refusals, err = decodeRefusals(p.row.ID, f.Refusals); err != nil {
			return nil, fmt.Errorf("component %s: %w", p.row.Name, err)
		}
		all[p.row.InstallID] = append(all[p.row.InstallID], p)
	}
	return all, nil
}

func decodeContested(raw json.RawMessage) (all []contestedState, err error) {
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("decode its contested state versions: %w", err)
	}
	return all, nil
}

// decodeRefusals decodes a component's refusals, by desired digest.
func decodeRefusals(component string, raw json.RawMessage) (map[string]store.Refusal, error) {
	var found []struct {
		Desired, Kind, Actor, Reason, Workflow string
		At                                     time.Time
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("decode its refusals: %w", err)
	}
	all := make(map[string]store.Refusal, len(found))
	for _, r := range found {
		all[r.Desired] = store.Refusal{
			InstallComponentID: component, DesiredDigest: r.Desired, Kind: r.Kind, Actor: r.Actor, Reason: r.Reason,
			WorkflowID: r.Workflow,
			At:         r.At,
		}
	}
	return all, nil
}
