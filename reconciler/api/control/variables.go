package control

import (
	"context"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/appvariables"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListAppVariables implements GET /v1/apps/{app}/variables.
func (s *Server) ListAppVariables(
	ctx context.Context, r ListAppVariablesRequestObject,
) (ListAppVariablesResponseObject, error) {
	var list api.AppVariableList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		list, err = viewVariables(ctx, tx, app)
		return err
	})
	return ListAppVariables200JSONResponse(list), err
}

// ChangeAppVariables implements PATCH /v1/apps/{app}/variables.
func (s *Server) ChangeAppVariables(
	ctx context.Context, r ChangeAppVariablesRequestObject,
) (ChangeAppVariablesResponseObject, error) {
	var list api.AppVariableList
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		app, err := tx.LockApp(ctx, tx.Org, found.ID)
		if err != nil {
			return err
		}
		actor := callerOf(ctx).actor
		changed, err := appvariables.Apply(ctx, tx, s.key, app, appvariables.Change{
			Set: r.Body.Set, Delete: r.Body.Delete, Actor: actor,
		})
		if err != nil {
			return err
		}
		if list, err = viewVariables(ctx, tx, app); err != nil || len(changed) == 0 {
			return err
		}
		list.Changed = changed
		if err := tx.Audit(ctx, actor, "app.variables", app.ID, map[string]any{
			"changed": changed, "deleted": append([]string{}, r.Body.Delete...),
		}); err != nil {
			return err
		}
		return tx.Enqueue(ctx, queue.FanOut{Org: tx.Org, App: app.ID})
	})
	return ChangeAppVariables200JSONResponse(list), err
}

// viewVariables returns the variables of an app, and those that its newest config reads and that are not set.
func viewVariables(ctx context.Context, tx *store.Tx, app store.App) (api.AppVariableList, error) {
	list := api.AppVariableList{Items: []api.AppVariable{}}
	rows, err := tx.ViewAppVariables(ctx, tx.Org, app.ID)
	if err != nil {
		return list, err
	}
	config, err := currentConfig(ctx, tx, app)
	if err != nil {
		return list, err
	}
	read, set := config.VariablesRead(), map[string]bool{}
	for _, row := range rows {
		v := api.AppVariable{
			Name: row.Name, Sensitive: row.Sealed != nil, Readers: read[row.Name], UpdatedBy: row.UpdatedBy,
			UpdatedAt: row.UpdatedAt,
		}
		if row.Value != nil {
			v.Value = *row.Value
		}
		list.Items, set[row.Name] = append(list.Items, v), true
	}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !set[name] {
			list.Missing = append(list.Missing, api.MissingValue{Name: name, Readers: read[name]})
		}
	}
	return list, nil
}
