// Package hello_test checks the example: its config has no errors or warnings, and its modules do
// what its README describes, with real Terraform.
package hello_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

func load(t *testing.T) *appconfig.App {
	t.Helper()
	app, found := appconfig.Load(os.DirFS("."), appconfig.Options{})
	if len(found) > 0 {
		t.Fatalf("the example has diagnostics:\n%v", found)
	}
	return app
}

func TestConfig(t *testing.T) {
	app := load(t)
	if diff := cmp.Diff([][]string{{"metrics", "network"}, {"web"}}, app.Order()); diff != "" {
		t.Errorf("order:\n%s", diff)
	}
	for _, c := range append(app.Components, *app.Sandbox) {
		directory, ok := strings.CutPrefix(c.Source.Directory, "examples/hello/")
		if !c.Source.IsAppRepository() || !ok {
			t.Errorf("%s comes from %+v", c.Name, c.Source)
		}
		if _, err := os.Stat(filepath.Join(directory, "main.tf")); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if input, ok := app.Input("api_token"); !ok || !input.Sensitive {
		t.Error("api_token is not a sensitive input")
	}
	if len(app.Installs) != 2 {
		t.Errorf("%d installs, want 2", len(app.Installs))
	}
}

// TestDeploy runs the steps of a deploy in one place: render, apply, and pass the outputs on.
func TestDeploy(t *testing.T) {
	app := load(t)
	work := t.TempDir()
	if err := os.CopyFS(filepath.Join(work, "modules"), os.DirFS("modules")); err != nil {
		t.Fatal(err)
	}
	values := render.Tree{}
	values.Set(render.Path{"install", "id"}, "inl-acme")
	values.Set(render.Path{"install", "name"}, "acme")
	for _, input := range app.Inputs {
		if input.Default != nil {
			values.Set(render.Path{"inputs", "inputs", input.Name}, *input.Default)
		}
	}
	for name, value := range app.Installs[0].Inputs {
		values.Set(render.Path{"inputs", "inputs", name}, value)
	}
	values.Set(render.Path{"inputs", "inputs", "api_token"}, "t0ken")

	values.Set(render.Path{"sandbox", "outputs"}, plainOutputs(apply(t, work, app.Sandbox, values)))
	for _, group := range app.Order() {
		for _, name := range group {
			c, _ := app.Component(name)
			outputs := apply(t, work, c, values)
			if name == "network" && (!outputs["join_token"].Sensitive || outputs["cidr"].Sensitive) {
				t.Errorf("join_token alone should be sensitive: %+v", outputs)
			}
			values.Set(render.Path{"components", name, "outputs"}, plainOutputs(outputs))
		}
	}
	page, _ := values.Get(render.Path{"components", "web", "outputs", "page"})
	if page != "hello from acme, acme!" {
		t.Errorf("page = %v", page)
	}
	smokeTest(t, app, values)
}

type output struct {
	Sensitive bool `json:"sensitive"`
	Value     any  `json:"value"`
}

func plainOutputs(outputs map[string]output) map[string]any {
	values := map[string]any{}
	for name, out := range outputs {
		values[name] = out.Value
	}
	return values
}

func apply(t *testing.T, work string, c *appconfig.Component, values render.Tree) map[string]output {
	t.Helper()
	dir := filepath.Join(work, strings.TrimPrefix(c.Source.Directory, "examples/hello/"))
	vars := map[string]string{}
	for name, text := range c.Terraform.Vars {
		vars[name] = renderText(t, "vars."+name, text, values)
	}
	data, err := json.Marshal(vars)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "vars.tfvars.json"), string(data))
	args := []string{"apply", "-auto-approve", "-input=false", "-no-color", "-var-file=vars.tfvars.json"}
	for _, text := range c.Terraform.VarFiles {
		write(t, filepath.Join(dir, "more.tfvars"), renderText(t, "var_file", text, values))
		args = append(args, "-var-file=more.tfvars")
	}
	terraform(t, dir, "init", "-input=false", "-no-color")
	terraform(t, dir, args...)
	var outputs map[string]output
	if err := json.Unmarshal(terraform(t, dir, "output", "-json", "-no-color"), &outputs); err != nil {
		t.Fatal(err)
	}
	return outputs
}

func smokeTest(t *testing.T, app *appconfig.App, values render.Tree) {
	t.Helper()
	action, ok := app.Action("smoke_test")
	if !ok {
		t.Fatal("there is no action smoke_test")
	}
	results := filepath.Join(t.TempDir(), "outputs")
	script := filepath.Join(t.TempDir(), "script")
	step := action.Steps[0]
	write(t, script, renderText(t, "inline_contents", step.InlineContents, values))
	run := exec.CommandContext(t.Context(), "/bin/sh", script)
	run.Env = append(os.Environ(), "NUON_ACTIONS_OUTPUT_FILEPATH="+results)
	for name, text := range step.EnvVars {
		run.Env = append(run.Env, name+"="+renderText(t, name, text, values))
	}
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "hello from acme") {
		t.Fatalf("smoke_test: %v\n%s", err, out)
	}
	if data, err := os.ReadFile(results); err != nil || !json.Valid(data) {
		t.Errorf("outputs of smoke_test: %s, %v", data, err)
	}
}

func renderText(t *testing.T, name, text string, values render.Tree) string {
	t.Helper()
	tmpl, err := render.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tmpl.Execute(values)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func terraform(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	run := exec.CommandContext(t.Context(), "terraform", append([]string{"-chdir=" + dir}, args...)...)
	var errors strings.Builder
	run.Stderr = &errors
	out, err := run.Output()
	if err != nil {
		t.Fatalf("terraform %s: %v; is Terraform 1.11.4 on the PATH?\n%s%s", args[0], err, out, errors.String())
	}
	return out
}
