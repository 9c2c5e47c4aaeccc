package appconfig

import (
	"encoding/json"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzLoad holds for any bytes in any file: no panic, an App exactly when there is no error, places that exist, and an App that
// survives JSON.
func FuzzLoad(f *testing.F) {
	f.Add("version='v2'", component("a", "[vars]\nx='{{.nuon.inputs.inputs.size}}'"), action("timeout='1m'"), inputsFile)
	f.Add("version = \"v1\"\nreadme=\"./components/a.toml\"", "type='helm_chart'\nname='x'\nvalues={a=1}", "triggers=[{type='cron'}]", "input=[{name='x'},1]")
	f.Add("[a.b]\n[[a.c]]\n[[a.c.d]]", "a.b.c=[[{x=1}]]", "steps=[]\n[[steps]]", "\"\\u0000\"=1979-05-27T07:32:00Z")
	f.Add("x='''\n{{.nuon", "name=\"\"\"\r\n\"\"\"\ntype=1.5", "inf=inf\nnan=nan", "\xef\xbb\xbf[[group]]")
	f.Fuzz(func(t *testing.T, metadata, component, action, inputs string) {
		dir := fstest.MapFS{}
		for name, text := range map[string]string{
			"metadata.toml": metadata, "components/a.toml": component, "actions/a.toml": action, "inputs.toml": inputs,
			"sandbox.toml": small()["sandbox.toml"], "installs/a.toml": inputs, "secrets/a.toml": metadata, "runbooks/a.toml": action,
		} {
			dir[name] = &fstest.MapFile{Data: []byte(text)}
		}
		begun := time.Now()
		app, found := Load(dir, Options{})
		if took := time.Since(begun); took > 5*time.Second {
			t.Fatalf("took %s", took)
		}
		if (app == nil) != found.HasErrors() {
			t.Fatalf("app %v with %v", app, found)
		}
		for _, one := range found {
			if one.Line < 1 || one.Column < 1 || one.File == "" || one.Message == "" {
				t.Fatalf("incomplete: %+v", one)
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
	})
}
