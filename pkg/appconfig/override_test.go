package appconfig

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/render"
)

// overriddenApp is an app with a component of each kind that installs can override.
func overriddenApp() *App {
	return &App{Components: []Component{
		{Name: "db", Kind: KindTerraformModule, Terraform: &Terraform{Version: "1.11.4"}},
		{Name: "quota", Kind: KindKubernetesManifest, Manifest: &Manifest{Text: "x"}},
		{Name: "web", Kind: KindHelmChart, Helm: &Helm{ChartName: "web",
			ValuesFiles: []string{"url: {{.nuon.components.db.outputs.url}}"}}},
	}}
}

// TestInstallOverrides loads what an install file overrides. It is no part of the version.
func TestInstallOverrides(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range codeRepository {
		if name, ok := strings.CutPrefix(name, "app/"); ok {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	before, found := Load(files, Options{})
	if before == nil {
		t.Fatal(found)
	}
	files["installs/acme.toml"] = &fstest.MapFile{Data: []byte("name = \"acme\"\n[components.web]\n" +
		"helm_values = \"\"\"\nreplicas: {{.nuon.inputs.inputs.count}}\n\"\"\"\n[components.db]\ntf_vars = '{\"note\": 1}'\n")}
	files["inputs.toml"] = &fstest.MapFile{Data: []byte("[[group]]\nname = \"size\"\n" +
		"description = \"Size\"\n[[input]]\nname = \"count\"\ndescription = \"c\"\ndisplay_name = \"C\"\n" +
		"group = \"size\"\ndefault = \"1\"\n")}
	app, found := Load(files, Options{})
	if app == nil {
		t.Fatal(found)
	}
	want := map[string]Override{"web": {HelmValues: "replicas: {{.nuon.inputs.inputs.count}}\n"},
		"db": {TFVars: `{"note": 1}`}}
	if diff := cmp.Diff(want, app.Installs[0].Overrides); diff != "" {
		t.Error(diff)
	}
	for _, d := range found {
		if d.File == "installs/acme.toml" {
			t.Errorf("%s", d)
		}
	}
	app.Inputs, app.Groups = before.Inputs, before.Groups
	if app.Digest() != before.Digest() {
		t.Error("an override in an install file changes the version of the app")
	}
}

func TestOverridden(t *testing.T) {
	app := overriddenApp()
	installed := app.Overridden(map[string]Override{
		"web":   {HelmValues: "size: {{.nuon.inputs.inputs.size}}", TFVars: "a = 1"},
		"db":    {TFVars: "quota = \"{{.nuon.components.quota.outputs.resources}}\"", HelmValues: "a: 1"},
		"quota": {HelmValues: "a: 1"},
	})
	web, _ := installed.Component("web")
	db, _ := installed.Component("db")
	quota, _ := installed.Component("quota")
	if web.Override.TFVars != "" || db.Override.HelmValues != "" || quota.Override != (Override{}) {
		t.Errorf("overrides of another kind have an effect: %+v, %+v, %+v", web.Override, db.Override, quota.Override)
	}
	want := []render.Path{{"components", "db", "outputs", "url"}, {"inputs", "inputs", "size"}}
	if diff := cmp.Diff(want, web.Refs()); diff != "" {
		t.Errorf("web reads %s", diff)
	}
	if got := installed.DependsOn("db"); !slices.Equal(got, []string{"quota"}) {
		t.Errorf("db depends on %v", got)
	}
	if before, _ := app.Component("web"); before.Override != (Override{}) || before.ConfigDigest() != web.ConfigDigest() {
		t.Error("the override changed the app")
	}
}

func TestCheckOverrides(t *testing.T) {
	for name, c := range map[string]struct {
		overrides map[string]Override
		want      string
	}{
		"none":     {nil, ""},
		"right":    {map[string]Override{"web": {HelmValues: "a: 1\n"}, "db": {TFVars: "a = 1\n"}}, ""},
		"empty":    {map[string]Override{"web": {HelmValues: "# nothing\n"}}, ""},
		"a list":   {map[string]Override{"web": {HelmValues: "- a"}}, "component web: helm_values: Helm values are a table"},
		"no YAML":  {map[string]Override{"web": {HelmValues: "a: ["}}, "component web: helm_values is not YAML"},
		"no HCL":   {map[string]Override{"db": {TFVars: "a = ["}}, "component db: tf_vars:1: "},
		"rendered": {map[string]Override{"db": {TFVars: "{{if .nuon.install.id}}a = 1{{end}}"}}, ""},
		"templates": {map[string]Override{"web": {HelmValues: "a: {{.nuon.install.id | nothing}}"}},
			"component web: helm_values: "},
		"too large": {map[string]Override{"web": {HelmValues: "a: " + strings.Repeat("x", maxOverrideBytes)}},
			"component web: helm_values is larger than 256 KiB"},
		"NUL":     {map[string]Override{"db": {TFVars: "{{\x00}}"}}, "component db: tf_vars holds a NUL character"},
		"unknown": {map[string]Override{"wep": {HelmValues: "a: 1"}}, `the app has no component "wep"; did you mean "web"?`},
		"sandbox": {map[string]Override{"sandbox": {TFVars: "a = 1"}}, `the app has no component "sandbox"`},
		"another kind": {map[string]Override{"quota": {HelmValues: "a: 1"}},
			"component quota is a kubernetes_manifest and has no helm_values"},
		"a circle": {map[string]Override{"db": {TFVars: "a = \"{{.nuon.components.web.outputs.services}}\""}},
			"with the overrides the components would depend on each other in a circle: db -> web -> db"},
	} {
		t.Run(name, func(t *testing.T) {
			err := overriddenApp().CheckOverrides(c.overrides)
			if err == nil {
				err = overriddenApp().CheckOverrideCycles(c.overrides)
			}
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
