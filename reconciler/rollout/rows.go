package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// installRows holds what was read of some installs, by install: one query of each kind for all of them.
type installRows struct {
	org        store.Org
	runners    map[string]store.Runner // by runner
	components map[string][]componentRow
	values     map[string][]store.ValuesOfInstallsRow // inputs and outputs
}

// componentRow is one component of an install as it was read.
type componentRow struct {
	row        store.InstallComponent
	applying   bool // a runner applies it now under a valid lease
	contested  []contestedState
	rejections map[string]store.Rejection // by desired digest
}

// contestedState is a state version that a person has to decide about.
type contestedState struct {
	Version int32  `json:"version"`
	Status  string `json:"status"` // contested or withheld
	Reason  string `json:"reason"`
}

func readRows(ctx context.Context, tx *store.Tx, installs []store.Install) (*installRows, error) {
	r := &installRows{runners: map[string]store.Runner{}}
	ids, runners := make([]string, 0, len(installs)), make([]string, 0, len(installs))
	for _, i := range installs {
		ids, runners = append(ids, i.ID), append(runners, i.RunnerID)
	}
	var err error
	if r.components, err = readComponentRows(ctx, tx, ids...); err != nil {
		return nil, err
	}
	values, err := tx.ValuesOfInstalls(ctx, tx.Org, ids)
	if err != nil {
		return nil, err
	}
	r.values = groupBy(values, func(v store.ValuesOfInstallsRow) string { return v.InstallID })
	found, err := tx.RunnersOfInstalls(ctx, tx.Org, runners)
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		r.runners[row.Runner.ID], r.org = row.Runner, row.Org
	}
	return r, nil
}

// groupBy groups rows by key, in their order.
func groupBy[T any](rows []T, of func(T) string) map[string][]T {
	all := map[string][]T{}
	for _, row := range rows {
		all[of(row)] = append(all[of(row)], row)
	}
	return all
}

// readComponentRows reads the components of installs, by install.
func readComponentRows(ctx context.Context, tx *store.Tx, installs ...string) (map[string][]componentRow, error) {
	found, err := tx.ComponentsOfInstalls(ctx, tx.Org, installs)
	if err != nil {
		return nil, err
	}
	all := map[string][]componentRow{}
	for _, f := range found {
		p := componentRow{row: f.InstallComponent, applying: f.Applying}
		if p.contested, err = decodeContested(f.Contested); err != nil {
			return nil, fmt.Errorf("component %s: %w", p.row.Name, err)
		}
		if p.rejections, err = decodeRejections(p.row.ID, f.Rejections); err != nil {
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

// decodeRejections decodes a component's refusals, by desired digest.
func decodeRejections(component string, raw json.RawMessage) (map[string]store.Rejection, error) {
	var found []struct {
		Desired, Kind, Actor, Reason, Workflow string
		At                                     time.Time
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("decode its rejections: %w", err)
	}
	all := make(map[string]store.Rejection, len(found))
	for _, r := range found {
		all[r.Desired] = store.Rejection{
			InstallComponentID: component, DesiredDigest: r.Desired, Kind: r.Kind, Actor: r.Actor, Reason: r.Reason,
			WorkflowID: r.Workflow,
			At:         r.At,
		}
	}
	return all, nil
}
