package rollout

import (
	"context"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// rows are what was read of some installs, by install: one query of each kind, however many they are.
type rows struct {
	org       store.Org
	runners   map[string]store.Runner // by runner
	places    map[string][]store.InstallComponent
	contested map[string][]store.ContestedOfInstallsRow
	refusals  map[string][]store.Refusal
	inputs    map[string][]store.InstallInput
	outputs   map[string][]store.Output
}

func readRows(ctx context.Context, tx *store.Tx, installs []store.Install) (*rows, error) {
	r := &rows{runners: map[string]store.Runner{}, refusals: map[string][]store.Refusal{}}
	ids, runners := make([]string, 0, len(installs)), make([]string, 0, len(installs))
	for _, i := range installs {
		ids, runners = append(ids, i.ID), append(runners, i.RunnerID)
	}
	for _, read := range []func(context.Context, *store.Tx, []string) error{r.readPlaces, r.readContested, r.readRefusals, r.readInputs, r.readOutputs} {
		if err := read(ctx, tx, ids); err != nil {
			return nil, err
		}
	}
	found, err := tx.RunnersByID(ctx, tx.Org, runners)
	if err != nil {
		return nil, err
	}
	for _, runner := range found {
		r.runners[runner.ID] = runner
	}
	r.org, err = tx.OrgByID(ctx, tx.Org)
	return r, err
}

// grouped are rows by what they belong to, in their order.
func grouped[T any](rows []T, of func(T) string) map[string][]T {
	all := map[string][]T{}
	for _, row := range rows {
		all[of(row)] = append(all[of(row)], row)
	}
	return all
}

func (r *rows) readPlaces(ctx context.Context, tx *store.Tx, installs []string) error {
	found, err := tx.PlacesOfInstalls(ctx, tx.Org, installs)
	r.places = grouped(found, func(p store.InstallComponent) string { return p.InstallID })
	return err
}

func (r *rows) readContested(ctx context.Context, tx *store.Tx, installs []string) error {
	found, err := tx.ContestedOfInstalls(ctx, tx.Org, installs)
	r.contested = grouped(found, func(c store.ContestedOfInstallsRow) string { return c.InstallID })
	return err
}

func (r *rows) readRefusals(ctx context.Context, tx *store.Tx, installs []string) error {
	found, err := tx.RefusalsOfInstalls(ctx, tx.Org, installs)
	for _, row := range found {
		r.refusals[row.InstallID] = append(r.refusals[row.InstallID], row.Refusal)
	}
	return err
}

func (r *rows) readInputs(ctx context.Context, tx *store.Tx, installs []string) error {
	found, err := tx.InputsOfInstalls(ctx, tx.Org, installs)
	r.inputs = grouped(found, func(i store.InstallInput) string { return i.InstallID })
	return err
}

func (r *rows) readOutputs(ctx context.Context, tx *store.Tx, installs []string) error {
	found, err := tx.OutputsOfInstalls(ctx, tx.Org, installs)
	r.outputs = grouped(found, func(o store.Output) string { return o.InstallID })
	return err
}
