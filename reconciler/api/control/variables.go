package control

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/appvariables"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
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

// ChangeAppVariables implements PATCH /v1/apps/{app}/variables. A dry run does the same in a transaction that only
// reads.
func (s *Server) ChangeAppVariables(
	ctx context.Context, r ChangeAppVariablesRequestObject,
) (ChangeAppVariablesResponseObject, error) {
	var list api.AppVariableList
	in := s.change
	if r.Body.DryRun {
		in = s.read
	}
	err := in(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		if !r.Body.DryRun {
			if app, err = tx.LockApp(ctx, tx.Org, app.ID); err != nil {
				return err
			}
		}
		checked, err := appvariables.Check(ctx, tx, s.key, app, appvariables.Change{
			Set: r.Body.Set, Delete: r.Body.Delete, Actor: callerOf(ctx).actor,
		})
		if err != nil {
			return err
		}
		if r.Body.DryRun {
			list, err = previewVariables(ctx, tx, app, checked)
			return err
		}
		list, err = storeVariables(ctx, tx, app, checked, r.Body.Delete)
		return err
	})
	return ChangeAppVariables200JSONResponse(list), err
}

// storeVariables stores a change, and rolls it out if it changes something.
func storeVariables(
	ctx context.Context, tx *store.Tx, app store.App, c appvariables.Checked, deleted []string,
) (api.AppVariableList, error) {
	if err := c.Store(ctx, tx, app); err != nil {
		return api.AppVariableList{}, err
	}
	list, err := viewVariables(ctx, tx, app)
	if err != nil || len(c.Changed) == 0 {
		return list, err
	}
	list.Changed = c.Changed
	if err := tx.Audit(ctx, callerOf(ctx).actor, "app.variables", app.ID, map[string]any{
		"changed": c.Changed, "deleted": append([]string{}, deleted...),
	}); err != nil {
		return list, err
	}
	return list, tx.Enqueue(ctx, queue.FanOut{Org: tx.Org, App: app.ID})
}

// previewVariables returns the variables as a change would leave them, and its effect on each install.
func previewVariables(
	ctx context.Context, tx *store.Tx, app store.App, c appvariables.Checked,
) (api.AppVariableList, error) {
	config, err := currentConfig(ctx, tx, app)
	if err != nil {
		return api.AppVariableList{}, err
	}
	rows := slices.SortedFunc(maps.Values(c.After), func(a, b store.AppVariable) int {
		return strings.Compare(a.Name, b.Name)
	})
	list := listVariables(config, rows)
	list.Changed, list.DryRun = c.Changed, true
	effects, err := rollout.PreviewVariables(ctx, tx, app, c.After)
	list.Installs = each(effects, func(e rollout.InstallEffect) api.PreviewedInstall {
		return api.PreviewedInstall{Name: e.Install, Components: e.Components, Reason: e.Reason}
	})
	return list, err
}

// viewVariables returns the variables of an app, and those that its newest config reads and that are not set.
func viewVariables(ctx context.Context, tx *store.Tx, app store.App) (api.AppVariableList, error) {
	rows, err := tx.ViewAppVariables(ctx, tx.Org, app.ID)
	if err != nil {
		return api.AppVariableList{}, err
	}
	config, err := currentConfig(ctx, tx, app)
	if err != nil {
		return api.AppVariableList{}, err
	}
	return listVariables(config, rows), nil
}

func listVariables(config *appconfig.App, rows []store.AppVariable) api.AppVariableList {
	list := api.AppVariableList{Items: []api.AppVariable{}}
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
	return list
}
