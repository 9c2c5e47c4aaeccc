package preview

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
)

// currentConfig returns the config of the app's version; an empty config before the first version.
func currentConfig(draft catalog.DryRun) (*appconfig.App, error) {
	config := &appconfig.App{}
	if draft.Current == nil {
		return config, nil
	}
	if err := json.Unmarshal(draft.Current.Config, config); err != nil {
		return nil, fmt.Errorf("read app version %d: %w", draft.Current.Number, err)
	}
	return config, nil
}

// previewComponents compares each component in two configs, the sandbox first, then by name.
func previewComponents(was, will *appconfig.App, builds map[string]build.DryRun) []api.PreviewedComponent {
	before, after := byName(was), byName(will)
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	all := []api.PreviewedComponent{}
	for _, name := range slices.SortedFunc(maps.Keys(names), appconfig.SandboxFirst) {
		all = append(all, previewComponent(name, before[name], after[name], builds[name]))
	}
	return all
}

// byName returns what is built of a config.
func byName(config *appconfig.App) map[string]*appconfig.Component {
	all := map[string]*appconfig.Component{}
	for _, c := range config.Built() {
		all[c.Name] = &c
	}
	return all
}

// previewComponent compares one component: either side may be nil.
func previewComponent(name string, was, will *appconfig.Component, b build.DryRun) api.PreviewedComponent {
	if will == nil && was.Kind == appconfig.KindActionSource {
		return api.PreviewedComponent{Name: name, Kind: was.Kind, Change: api.PreviewedComponentChangeRemoved,
			Reason: "no action runs it anymore"}
	}
	if will == nil {
		return api.PreviewedComponent{Name: name, Kind: was.Kind, Change: api.PreviewedComponentChangeRemoved,
			Reason: "it is removed from the app; where it is deployed, its destroy is planned and needs approval"}
	}
	c := api.PreviewedComponent{Name: name, Kind: will.Kind, Change: api.PreviewedComponentChangeNone,
		Rebuild: b.Rebuild, Problem: b.Problem, Reason: b.Reason}
	if was == nil {
		c.Change, c.Reason = api.PreviewedComponentChangeAdded, "it is new; "+b.Reason
		return c
	}
	if keys := app.ChangedKeys(was, will); len(keys) > 0 {
		c.Change, c.Reason = api.PreviewedComponentChangeChanged,
			"its config changes: "+catalog.Summarize(keys)+"; "+b.Reason
	}
	return c
}

// changedInputs returns the inputs that are added, removed or redefined, by name.
func changedInputs(was, will []appconfig.Input) []api.PreviewedInput {
	before, after := inputsByName(was), inputsByName(will)
	all := []api.PreviewedInput{}
	for name, in := range after {
		old, had := before[name]
		change := api.PreviewedInputChangeChanged
		switch {
		case !had:
			change = api.PreviewedInputChangeAdded
		case sameInput(old, in):
			continue
		}
		all = append(all, api.PreviewedInput{Name: name, Change: change, Required: in.Required && in.Default == nil})
	}
	for name := range before {
		if _, has := after[name]; !has {
			all = append(all, api.PreviewedInput{Name: name, Change: api.PreviewedInputChangeRemoved})
		}
	}
	slices.SortFunc(all, func(a, b api.PreviewedInput) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func inputsByName(inputs []appconfig.Input) map[string]appconfig.Input {
	all := map[string]appconfig.Input{}
	for _, in := range inputs {
		all[in.Name] = in
	}
	return all
}

// sameInput ignores how an input is displayed.
func sameInput(a, b appconfig.Input) bool {
	sameDefault := a.Default == b.Default || a.Default != nil && b.Default != nil && *a.Default == *b.Default
	return sameDefault && a.Type == b.Type && a.Required == b.Required && a.Sensitive == b.Sensitive
}
