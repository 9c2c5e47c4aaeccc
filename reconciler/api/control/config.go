package control

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// GetAppConfig implements GET /v1/apps/{app}/config.
func (s *Server) GetAppConfig(ctx context.Context, r GetAppConfigRequestObject) (GetAppConfigResponseObject, error) {
	var config api.AppConfig
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, err := findApp(ctx, tx, r.App)
		if err != nil {
			return err
		}
		version, declared, err := chosenConfig(ctx, tx, app, r.Params)
		if err == nil {
			config = viewConfig(version, declared)
		}
		return err
	})
	return GetAppConfig200JSONResponse(config), err
}

// chosenConfig returns the config of the version or release in the request, and the version's
// number.
func chosenConfig(
	ctx context.Context, tx *store.Tx, app store.App, p api.GetAppConfigParams,
) (int, *appconfig.App, error) {
	if p.Release == 0 {
		return configOf(ctx, tx, app, p.Version)
	}
	if p.Version != 0 {
		return 0, nil, problem.New(http.StatusBadRequest, "bad_request", "version and release cannot be combined",
			"Send ?version=NUMBER or ?release=NUMBER.")
	}
	row, err := releaseRow(ctx, tx, app, p.Release)
	if err != nil {
		return 0, nil, err
	}
	config, err := release.Config(ctx, tx, store.Release{
		Number: row.Number, VersionID: row.VersionID, Config: row.Config,
	})
	return int(row.Version), config, err
}

// configOf returns the config of a version of an app; 0 means the newest.
func configOf(ctx context.Context, tx *store.Tx, app store.App, number int) (int, *appconfig.App, error) {
	var raw json.RawMessage
	switch {
	case number != 0:
		// No version has a number outside the range of the column.
		row, err := tx.VersionByNumber(ctx, tx.Org, app.ID, int32(max(-1, min(number, math.MaxInt32)))) //nolint:gosec // bounded right here
		if isNotFound(err) {
			err = problem.New(http.StatusNotFound, "not_found",
				fmt.Sprintf("app %s has no version %d", app.Name, number),
				"`nuon apps versions "+app.Name+"` lists those that it has.")
		}
		if err != nil {
			return 0, nil, err
		}
		raw = row.Config
	case app.VersionID == nil:
		return 0, nil, problem.New(http.StatusNotFound, "not_found", "app "+app.Name+" has no version yet",
			"Run `nuon sync` first; `nuon apps get "+app.Name+"` shows what is wrong.")
	default:
		row, err := tx.AppVersionByID(ctx, tx.Org, *app.VersionID)
		if err != nil {
			return 0, nil, err
		}
		number, raw = int(row.Number), row.Config
	}
	config := &appconfig.App{}
	if err := json.Unmarshal(raw, config); err != nil {
		return 0, nil, fmt.Errorf("read version %d of app %s: %w", number, app.Name, err)
	}
	return number, config, nil
}

func viewConfig(version int, config *appconfig.App) api.AppConfig {
	out := api.AppConfig{
		Version: version,
		Groups: each(config.Groups, func(g appconfig.InputGroup) api.DeclaredGroup {
			return api.DeclaredGroup{Name: g.Name, DisplayName: g.DisplayName, Description: g.Description}
		}),
		Inputs: each(config.Inputs, func(i appconfig.Input) api.DeclaredInput {
			return api.DeclaredInput{
				Name: i.Name, DisplayName: i.DisplayName, Description: i.Description, Group: i.Group,
				Type: i.Type, Default: i.Default,
				Required: i.Required, Sensitive: i.Sensitive, Internal: i.Internal,
				UserConfigurable: i.UserConfigurable, ReadBy: readersOf(config, i.Name),
			}
		}),
		Components: []api.DeclaredComponent{},
		Actions:    each(config.Actions, viewAction),
	}
	deployed := config.Deployed()
	for _, name := range componentNames(config) {
		c, _ := deployed.Component(name)
		out.Components = append(out.Components, api.DeclaredComponent{
			Name: c.Name, Kind: c.Kind, DependsOn: append([]string{}, deployed.DependsOn(c.Name)...),
			Toggleable: c.Toggleable, Enabled: !c.Toggleable || c.DefaultEnabled,
		})
	}
	for i := range config.BreakGlass {
		out.BreakGlass = append(out.BreakGlass, config.BreakGlass[i].Name)
	}
	slices.SortFunc(out.Actions, func(a, b api.DeclaredAction) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func viewAction(a appconfig.Action) api.DeclaredAction {
	trigger := func(t appconfig.Trigger) string {
		if t.ComponentName != "" {
			return t.Type + ":" + t.ComponentName
		}
		return t.Type
	}
	idle := slices.DeleteFunc(slices.Clone(a.Triggers), func(t appconfig.Trigger) bool {
		return !appconfig.HasNoEffectYet(
			t)
	})
	return api.DeclaredAction{
		Name: a.Name, Description: a.Description, Timeout: a.Timeout,
		Inputs: each(a.Inputs, func(i appconfig.ActionInput) api.DeclaredParameter {
			return api.DeclaredParameter{
				Name: i.Name, Description: i.Description, Type: i.Type, Required: i.Required, Default: i.Default,
			}
		}),
		Steps:    each(a.Steps, func(s appconfig.ActionStep) string { return s.Name }),
		Triggers: each(a.Triggers, trigger), IdleTriggers: each(idle, trigger),
	}
}

// componentNames returns the sandbox, if it is deployed, and then the other deployed components, by
// name.
func componentNames(config *appconfig.App) []string {
	config = config.Deployed()
	names := each(config.Components, func(c appconfig.Component) string { return c.Name })
	slices.Sort(names)
	if config.Sandbox != nil {
		names = append([]string{appconfig.SandboxName}, names...)
	}
	return names
}

// readersOf returns the components and actions that read an install's value of an input.
func readersOf(config *appconfig.App, input string) []string {
	var readers []string
	at := render.Path{"inputs", "inputs", input}
	// A template may also read all inputs at once.
	reads := func(refs []render.Path) bool {
		return slices.ContainsFunc(refs,
			func(ref render.Path) bool { return ref.HasPrefix(at...) || at.HasPrefix(ref...) })
	}
	for _, name := range componentNames(config) {
		if c, _ := config.Component(name); reads(c.Refs()) {
			readers = append(readers, name)
		}
	}
	for _, a := range config.Actions {
		if reads(a.Refs()) {
			readers = append(readers, "action/"+a.Name)
		}
	}
	return readers
}
