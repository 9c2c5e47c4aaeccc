package appconfig

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// FuzzLoad requires for any bytes in any file: no panic, an App exactly when there is no error,
// valid positions, and an App that survives a JSON round trip.
func FuzzLoad(f *testing.F) {
	f.Add("version='v2'", moduleFile("a", "[vars]\nx='{{.nuon.inputs.inputs.size}}'"), action("timeout='1m'"),
		inputsFile)
	f.Add("version = \"v1\"\nreadme=\"./components/a.toml\"", "type='helm_chart'\nname='x'\nvalues={a=1}",
		"triggers=[{type='cron'}]", "input=[{name='x'},1]")
	f.Add("[a.b]\n[[a.c]]\n[[a.c.d]]", "a.b.c=[[{x=1}]]", "steps=[]\n[[steps]]", "\"\\u0000\"=1979-05-27T07:32:00Z")
	f.Add("x='''\n{{.nuon", "name=\"\"\"\r\n\"\"\"\ntype=1.5", "inf=inf\nnan=nan", "\xef\xbb\xbf[[group]]")
	f.Add("version='v2'\n[config_vars]\na='{{.b}}'\n[[components]]\ntype='helm_chart'\n[components.helm_chart]\n"+
		"chart_name='{{.a}}'", "source='../inputs.toml'\ntype='docker_build'\ndockerfile='./a.toml'",
		"[[steps]]\ninline_contents='./a.toml'", "sources=['./actions/a.toml', 'inputs.toml']")
	f.Add("version='v2'\nreadme='https://u@h/x'\nlabel_colors={a=1}",
		"type='pulumi'\n[[operation_roles]]\noperation='deploy'\nrole='{{'", "[image]\na=[nan,{b=inf}]",
		"source='/etc/x'\n[[group]]\n[[group]]\n")
	f.Fuzz(func(t *testing.T, metadata, component, action, inputs string) {
		few := map[string]string{
			"metadata.toml": metadata, "components/a.toml": component, "actions/a.toml": action, "inputs.toml": inputs,
			"sandbox.toml": small()["sandbox.toml"], "installs/a.toml": inputs, "secrets/a.toml": metadata,
			"runbooks/a.toml": action,
		}
		fuzzLoad(t, few)
		fuzzLoad(t, files(few).and(files{
			"permissions/a.toml": component, "policies.toml": action, "break_glass/a.toml": inputs, "branches/a.toml": metadata,
			"stack.toml":               component,
			"kubernetes_contexts.toml": metadata, "operation_roles.toml": inputs, "triggers.toml": action,
			"installer.toml": inputs,
		}))
		fuzzLoad(t, files{"nuon.x.toml": metadata + "\n" + inputs, "actions/a.toml": action, "inputs.toml": component})
	})
}

func fuzzLoad(t *testing.T, texts files) {
	t.Helper()
	dir := fstest.MapFS{}
	for name, text := range texts {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	var app *App
	var found Diagnostics
	testtime.CheckCPUCost(t, 5_000, func() { app, found = Load(dir, Options{}) })
	if (app == nil) != found.HasErrors() {
		t.Fatalf("app %v with %v", app, found)
	}
	for _, one := range found {
		if one.Line < 1 || one.Column < 1 || one.File == "" || one.Message == "" {
			t.Fatalf("incomplete: %+v", one)
		}
		if !slices.ContainsFunc(rules, func(rule Rule) bool { return rule.Name == one.Rule }) {
			t.Fatalf("of no known rule: %+v", one)
		}
	}
	if app == nil {
		return
	}
	data, err := json.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	var back App
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(app, &back); diff != "" {
		t.Fatal(diff)
	}
	app.Order()
	app.Edges()
	app.Canonical()
}
