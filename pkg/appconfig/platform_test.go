package appconfig

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// everyPlatformVariable declares all variables that nuon passes, some as texts that the stack reports as lists.
func everyPlatformVariable(kind string) *tfmodule.Module {
	module := &tfmodule.Module{Dir: "sandbox"}
	for _, v := range PlatformVariables() {
		if !slices.ContainsFunc(module.Variables, func(d tfmodule.Variable) bool { return d.Name == v.Name }) {
			module.Variables = append(module.Variables, tfmodule.Variable{Name: v.Name, Type: kind, Required: true})
		}
	}
	return module
}

// TestPlatformValues passes to a sandbox what its module declares and the app does not set, as valid JSON.
func TestPlatformValues(t *testing.T) {
	tree := render.Tree{}
	for _, p := range TemplatePaths() {
		var value any = "v"
		if p.Type == PathList {
			value = []any{"a", "b"}
		}
		if !strings.ContainsFunc(p.Path, func(r rune) bool { return r >= 'A' && r <= 'Z' }) {
			tree.Set(p.Keys(), value)
		}
	}
	tree.Set(render.Path{"app", "variables", "root_domain"}, `acme"run`)
	for _, cloud := range clouds {
		for _, kind := range []string{"string", ""} {
			app := &App{Runner: &format.Runner{Type: cloud}, Sandbox: &Component{Terraform: &Terraform{
				Vars: map[string]string{"nuon_id": "own"}, VarFiles: []string{"tags = {}\n"}}}}
			values := app.PlatformValues(PassedVariables(everyPlatformVariable(kind)))
			tmpl, err := render.Parse("t", PlatformFile(values))
			if err != nil {
				t.Fatal(err)
			}
			text, err := tmpl.Execute(tree)
			var got map[string]any
			if err != nil || json.Unmarshal([]byte(text), &got) != nil {
				t.Fatalf("%s: %v\n%s", cloud, err, text)
			}
			for _, name := range []string{"nuon_id", "tags"} {
				if got[name] != nil {
					t.Errorf("%s: %s is passed although the app sets it", cloud, name)
				}
			}
			if got["public_root_domain"] != `v.acme"run` || got["internal_root_domain"] != `internal.v.acme"run` {
				t.Errorf("%s: the domains are %v", cloud, got)
			}
			want := map[string]any{cloudAWS: got["vpc_id"], cloudAzure: got["vnet_name"], cloudGCP: got["project_id"]}
			if want[cloud] != "v" {
				t.Errorf("%s: %v", cloud, got)
			}
			if list := got["private_subnet_names"]; cloud == cloudAzure && kind == "string" && list != "a,b" ||
				cloud == cloudAzure && kind == "" && !cmp.Equal(list, []any{"a", "b"}) {
				t.Errorf("%s: subnets of type %q are %v", cloud, kind, list)
			}
			names := platformNames(cloud)
			for name := range got {
				if !slices.Contains(names, name) {
					t.Errorf("%s: %s is of another cloud", cloud, name)
				}
			}
		}
	}
}

// TestPlatformVariablesAreSet accepts a sandbox that does not set the variables that nuon passes on its cloud, and
// reports all others.
func TestPlatformVariablesAreSet(t *testing.T) {
	module := everyPlatformVariable("")
	module.Variables = slices.Insert(module.Variables, 0, tfmodule.Variable{Name: "own", Required: true})
	app := &App{Runner: &format.Runner{Type: cloudAzure}, Sandbox: &Component{Name: SandboxName, Kind: KindSandbox,
		Terraform: &Terraform{}}}
	problem := app.ModuleMismatch(SandboxName, module)
	for name, missing := range map[string]bool{`"own"`: true, `"vpc_id"`: true, `"location"`: false, `"nuon_id"`: false,
		`"tags"`: false} {
		if strings.Contains(problem, "variable "+name) != missing {
			t.Errorf("%s missing: %v, want %v in %s", name, !missing, missing, problem)
		}
	}
	app.Components = []Component{{Name: "web", Terraform: &Terraform{}}}
	if problem := app.ModuleMismatch("web", module); !strings.Contains(problem, "and ") {
		t.Errorf("a component gets nothing from nuon: %s", problem)
	}
}

// TestPlatformVariablesReadTheTable finds the values of all platform variables in the table of template paths.
func TestPlatformVariablesReadTheTable(t *testing.T) {
	for _, v := range PlatformVariables() {
		if v.Text != "" {
			continue
		}
		refs := refsOf(map[string]string{v.Name: v.expression("")})
		if len(refs) == 0 {
			t.Errorf("%s reads nothing: %s", v.Name, v.expression(""))
		}
		for _, ref := range refs {
			if paths := PathsOf(ref); len(paths) == 0 {
				t.Errorf("%s reads .nuon.%s, which is not in the table", v.Name, ref)
			}
		}
	}
}

// TestClusterPolicies passes the app's Kyverno policies of clusters as files to a sandbox that declares a directory for
// them, and leaves the default of the module to apps without any.
func TestClusterPolicies(t *testing.T) {
	policy := func(name, kind, engine string) Policy {
		return Policy{Name: name, Type: kind, Engine: engine, Contents: "text of " + name}
	}
	app := &App{Sandbox: &Component{Name: SandboxName, Kind: KindSandbox, Terraform: &Terraform{}},
		Policies: []Policy{policy("rego", "sandbox", "opa"), policy("charts", "helm_chart", "kyverno")}}
	declared := []ModuleVariable{{Name: "kyverno_policy_dir"}, {Name: "nuon_id"}}
	if got := app.PlatformValues(declared); len(got) != 1 || got[0].Name != "nuon_id" {
		t.Errorf("without policies of clusters %+v are passed", got)
	}
	for _, name := range []string{"No snippets", "no-snippets", "../..", "ü"} {
		app.Policies = append(app.Policies, policy(name, "kubernetes_cluster", "kyverno"))
	}
	app.Policies[3].Contents = "# {{.nuon.install.id}}"
	want := map[string]string{"no-snippets.yaml": "text of No snippets", "no-snippets-2.yaml": "# {{.nuon.install.id}}",
		"policy.yaml": "text of ../..", "policy-2.yaml": "text of ü"}
	got := app.PlatformValues(declared)
	if len(got) != 2 || got[0].Expression != `"./nuon-kyverno-policies"` || !got[0].Required {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff(want, got[0].Files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]render.Path{{"install", "id"}}, got[0].Refs); diff != "" {
		t.Error(diff)
	}
	if got := app.PlatformValues(declared[1:]); len(got) != 1 || got[0].Files != nil {
		t.Errorf("a module without the variable gets %+v", got)
	}
	app.Sandbox.Terraform.Vars = map[string]string{"kyverno_policy_dir": "./own"}
	if got := app.PlatformValues(declared); len(got) != 1 {
		t.Errorf("the app sets the directory itself, and gets %+v", got)
	}
}
