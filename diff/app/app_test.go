package app_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/diff/markdown"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// one returns a config with one component.
func one(c appconfig.Component) *appconfig.App {
	c.Name = "a"
	return &appconfig.App{Components: []appconfig.Component{c}}
}

// fieldsOf returns the report and the paths of all its fields.
func fieldsOf(t *testing.T, before, after *appconfig.App) (paths []string, r *diff.Report) {
	t.Helper()
	r, err := app.Report(before, after, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, r)
	for _, c := range r.Changes {
		for _, f := range c.Fields {
			paths = append(paths, f.Path)
		}
	}
	return paths, r
}

// TestPaths checks that paths match the config files and distinguish everything that an App
// distinguishes.
func TestPaths(t *testing.T) {
	source := func(connected bool) *appconfig.Source {
		return &appconfig.Source{Repo: "acme/a", Directory: ".", Branch: "main", Connected: connected}
	}
	for name, c := range map[string]struct {
		before, after appconfig.Component
		want          []string
	}{
		"a path of a Dockerfile, and its text": {
			appconfig.Component{Kind: "docker_build", Docker: &appconfig.Docker{Dockerfile: "a"}},
			appconfig.Component{Kind: "docker_build", Docker: &appconfig.Docker{Contents: "a"}}, []string{"dockerfile"},
		},
		"another access to the same code": {
			appconfig.Component{Source: source(false)}, appconfig.Component{Source: source(true)},
			[]string{"connected_repo.branch", "connected_repo.directory", "connected_repo.repo", "public_repo.branch",
				"public_repo.directory", "public_repo.repo"},
		},
		"keys that need quotes": {
			appconfig.Component{Kind: "helm_chart",
				Helm: &appconfig.Helm{Values: format.Scalars{"image.tag": "1", "plain": "1", "a\x1bb": "1", "same": 1.5}}},
			appconfig.Component{Kind: "helm_chart",
				Helm: &appconfig.Helm{Values: format.Scalars{"image.tag": "2", "plain": int64(1), "a\x1bb": "2", "same": 1.5}}},
			[]string{`values."a\x1bb"`, `values."image.tag"`, "values.plain"},
		},
		"a pulumi config": {
			appconfig.Component{Kind: "pulumi", Pulumi: &appconfig.Pulumi{Config: map[string]string{"aws:region": "a"}}},
			appconfig.Component{Kind: "pulumi", Pulumi: &appconfig.Pulumi{Config: map[string]string{"aws:region": "b"}}},
			[]string{`config."aws:region"`},
		},
		"an order that means nothing": {
			appconfig.Component{Dependencies: []string{"x", "y"}}, appconfig.Component{Dependencies: []string{"y", "x"}}, nil,
		},
	} {
		got, _ := fieldsOf(t, one(c.before), one(c.after))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if c.want != nil && c.before.Kind != "pulumi" && c.before.Kind != "helm_chart" {
			continue
		}
		if keys := app.ChangedKeys(&one(c.before).Components[0], &one(c.after).Components[0]); len(keys) != len(c.want) {
			t.Errorf("%s: the changed keys are %q", name, keys)
		}
	}
}

// TestNothingIsSaidOfWhatIsThere checks that the notes name exactly the parts that appconfig warns
// are not implemented yet. For metadata.toml, appconfig warns key by key.
func TestNothingIsSaidOfWhatIsThere(t *testing.T) {
	files := base(t)
	maps.Copy(files, map[string]string{
		"runbooks/a.toml": "name = \"a\"\n", "break_glass/a.toml": "name = \"a\"\ndescription = \"a\"\n[[policies]]\n" +
			"managed_policy_name = \"ReadOnlyAccess\"\n",
		"operation_roles.toml":     "[[rules]]\nprincipal = \"nuon::sandbox\"\noperation = \"provision\"\nrole = \"a\"\n",
		"kubernetes_contexts.toml": "[[kubernetes_context]]\nname = \"edge\"\ncomponent = \"network\"\n",
		"installer.toml":           "name = \"a\"\n",
		"branch.toml":              "name = \"a\"\n", "installs.toml": "[public_repo]\nrepo = \"acme/installs\"\ndirectory " +
			"= \".\"\nbranch = \"main\"\n", "triggers.toml": "[a]\nb = 1\n",
	})
	fsys := fstest.MapFS{}
	for file, text := range files {
		fsys[file] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	_, found := appconfig.Load(fsys, appconfig.Options{})
	warned := map[string]bool{}
	for _, d := range found {
		words, idle := strings.CutPrefix(d.Message, "accepted, no effect yet: ")
		if idle && !strings.HasPrefix(d.File, "components/") && d.File != "metadata.toml" {
			for word := range strings.SplitSeq(words, ", ") {
				warned[word] = true
			}
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(warned)), slices.Sorted(maps.Values(app.NotYet()))); d != "" {
		t.Errorf("(-warned +said):\n%s\n%s", d, found)
	}
}

// TestSecretsInNoRendering checks that values that are secret by name or format, and their copies,
// are in no rendering. A plain word is masked only at its own place.
func TestSecretsInNoRendering(t *testing.T) {
	values := func(password, url string) *appconfig.App {
		return one(appconfig.Component{Kind: "terraform_module", Terraform: &appconfig.Terraform{
			Vars:     map[string]string{"db_password": password, "url": url, "copy": "it is " + password, "plain": "a postgres"},
			VarFiles: []string{"token = \"" + password + "\"\nsize = 1\n", `{"secret": "` + password + `", "n": 1}`},
		}})
	}
	before, after := values("planted-1", "postgres://u:planted-2@h/x"), values("planted-3", "postgres://u:planted-4@h/x")
	after.Components[0].Terraform.VarFiles[0] += "more = 2\n"
	other := values("postgres", "x")
	for _, pair := range [][2]*appconfig.App{{before, after}, {after, before}, {{}, after}, {before, {}},
		{before, other}} {
		_, r := fieldsOf(t, pair[0], pair[1])
		var all bytes.Buffer
		if err := terminal.Render(&all, r, terminal.Options{All: true}); err != nil {
			t.Fatal(err)
		}
		if err := markdown.Render(&all, r, markdown.Options{}); err != nil {
			t.Fatal(err)
		}
		if text := all.String() + fmt.Sprintf("%+v", r); strings.Contains(text, "planted") {
			t.Errorf("a secret is shown:\n%s", text)
		}
	}
	after.Components[0].Terraform.Vars["db_password"], after.Components[0].Terraform.Vars["plain"] = "postgres",
		"b postgres"
	if _, r := fieldsOf(t, before, after); !strings.Contains(fmt.Sprintf("%+v", r), "b postgres") {
		t.Error("a plain word is hidden wherever it stands")
	}
	_, r := fieldsOf(t, one(appconfig.Component{VarName: "a"}), one(appconfig.Component{VarName: "b"}))
	masked, err := app.Report(one(appconfig.Component{VarName: "a"}), one(appconfig.Component{VarName: "b-known"}),
		app.Options{Secrets: diff.NewSecrets([]byte("b-known")).Contains})
	if err != nil || !masked.Changes[0].Fields[0].After.Masked || r.Changes[0].Fields[0].After.Masked {
		t.Error("a secret that is known from elsewhere is shown, or one that is not is hidden", err)
	}
}

// TestManyParts checks that the time is proportional to the size of the configs, even if all parts
// change and refer to each other.
func TestManyParts(t *testing.T) {
	const n = 1000
	large := func(value string) *appconfig.App {
		a := &appconfig.App{Sandbox: &appconfig.Component{Name: appconfig.SandboxName, Kind: appconfig.KindSandbox,
			Terraform: &appconfig.Terraform{}}}
		toggles := map[string]bool{}
		for i := range n {
			name := fmt.Sprintf("c%04d", i)
			a.Components = append(a.Components, appconfig.Component{
				Name: name, Kind: "terraform_module", Toggleable: true, Source: &appconfig.Source{Repo: "."},
				Terraform: &appconfig.Terraform{Vars: map[string]string{"v": value,
					"x": fmt.Sprintf("{{.nuon.inputs.inputs.i%04d}} {{.nuon.components.c%04d.outputs.x}}", i, max(i-1, 0))}},
			})
			a.Inputs = append(a.Inputs, appconfig.Input{Name: fmt.Sprintf("i%04d", i), Default: &value})
			a.Installs = append(a.Installs, appconfig.Install{Name: name, Toggles: toggles,
				Inputs: map[string]string{"i": value}})
			if i < 50 {
				toggles[name] = value == "1"
			}
			a.Actions = append(a.Actions, appconfig.Action{Name: name, Steps: []appconfig.ActionStep{{Name: value}}})
		}
		steps := make([]appconfig.ActionStep, 20_000)
		for i := range steps {
			steps[i] = appconfig.ActionStep{Name: fmt.Sprint(value, i), Command: "x"}
		}
		a.Actions[0].Steps = steps
		return a
	}
	before, after := large("1"), large("2")
	var r *diff.Report
	testtime.CheckCPUCost(t, 40_000, func() { _, r = fieldsOf(t, before, after) })
	if r.Totals.Update != 4*n || len(r.Notes) == 0 {
		t.Errorf("%+v, %q", r.Totals, r.Notes)
	}
}
