package appconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// Override has the values of one component that differ for an install. Both texts are templates like those of the
// component.
type Override struct {
	// HelmValues is YAML that is merged over all other values of a helm_chart.
	HelmValues string `json:"helm_values,omitempty"`
	// TFVars is a tfvars text, in HCL or JSON, whose variables override all others of a terraform_module.
	TFVars string `json:"tf_vars,omitempty"`
}

// The keys of an Override, as below [components.NAME] in an install file.
const (
	keyHelmValues = "helm_values"
	keyTFVars     = "tf_vars"
)

// overriddenKinds is the kind of component that each key of an Override is for.
var overriddenKinds = map[string]string{
	keyHelmValues: format.KindHelmChart,
	keyTFVars:     format.KindTerraformModule,
}

// maxOverrideBytes bounds each text of an Override.
const maxOverrideBytes = 256 << 10

// Keys returns the texts of the override that are set, by key.
func (o Override) Keys() map[string]string {
	texts := textsByPath{}
	texts.add(keyHelmValues, o.HelmValues)
	texts.add(keyTFVars, o.TFVars)
	return texts
}

// ForKind returns the part of the override that has an effect on components of a kind.
func (o Override) ForKind(kind string) Override {
	if kind != format.KindHelmChart {
		o.HelmValues = ""
	}
	if kind != format.KindTerraformModule {
		o.TFVars = ""
	}
	return o
}

// overridesOf returns what [components.NAME] of an install file sets; checkInstallComponents reports the rest.
func overridesOf(written any) map[string]Override {
	components, _ := written.(map[string]any)
	var all map[string]Override
	for name, values := range components {
		texts, _ := values.(map[string]any)
		helm, _ := texts[keyHelmValues].(string)
		terraform, _ := texts[keyTFVars].(string)
		if o := (Override{HelmValues: helm, TFVars: terraform}); o != (Override{}) {
			if all == nil {
				all = map[string]Override{}
			}
			all[name] = o
		}
	}
	return all
}

// Overridden returns a copy of the App as an install with these overrides, by component, deploys it. An override
// has no effect on a component of another kind. The digest of a component's config does not include its override.
func (a *App) Overridden(overrides map[string]Override) *App {
	overridden := *a
	overridden.Components = slices.Clone(a.Components)
	for i := range overridden.Components {
		c := &overridden.Components[i]
		c.Override = overrides[c.Name].ForKind(c.Kind)
	}
	return &overridden
}

// CheckOverrides returns the first problem with overrides of an install of the App, one by one, as an error for a
// person, or nil. It never quotes the texts.
func (a *App) CheckOverrides(overrides map[string]Override) error {
	names := make([]string, 0, len(a.Components))
	for i := range a.Components {
		names = append(names, a.Components[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		c, found := a.Component(name)
		if !found || name == SandboxName {
			hint := ""
			if near := diagnostic.DidYouMean(name, names); near != "" {
				hint = "; " + near
			}
			return fmt.Errorf("the app has no component %s%s", diagnostic.Quote(name), hint)
		}
		for key, text := range overrides[name].Keys() {
			if kind := overriddenKinds[key]; c.Kind != kind {
				return fmt.Errorf("component %s is a %s and has no %s", name, c.Kind, key)
			}
			if err := checkOverride(key, text); err != nil {
				return fmt.Errorf("component %s: %w", name, err)
			}
		}
	}
	return nil
}

// checkOverride checks one text of an override. One with template expressions is only known once it is rendered.
func checkOverride(key, text string) error {
	if len(text) > maxOverrideBytes {
		return fmt.Errorf("%s is larger than %d KiB", key, maxOverrideBytes>>10)
	}
	if strings.ContainsRune(text, 0) {
		return fmt.Errorf("%s holds a NUL character", key)
	}
	if strings.Contains(text, ".nuon") {
		if _, err := render.Parse(key, text); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if strings.Contains(text, "{{") {
		return nil
	}
	if key == keyTFVars {
		_, err := tfmodule.Assignments(key, []byte(text))
		return err
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		return fmt.Errorf("%s is not YAML", key)
	}
	if !isTable(&root) {
		return fmt.Errorf("%s: Helm values are a table", key)
	}
	return nil
}

// CheckOverrideCycles returns an error if the outputs that all overrides of an install read make components wait for
// each other.
func (a *App) CheckOverrideCycles(overrides map[string]Override) error {
	overridden := a.Overridden(overrides)
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if cycle := findCycle(name, overridden.DependsOn, done); cycle != nil {
			return fmt.Errorf("with the overrides the components would depend on each other in a circle: %s",
				strings.Join(cycle, " -> "))
		}
	}
	return nil
}
