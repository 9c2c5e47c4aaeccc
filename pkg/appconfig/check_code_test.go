package appconfig

import (
	"io/fs"
	"maps"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// codeRepository is a repository with a config in app/ and its own modules. Each test changes
// some of its files.
var codeRepository = map[string]string{
	"app/metadata.toml": "version = \"v2\"\n",
	"app/sandbox.toml": "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/base\"\n" +
		"[vars]\nzone = \"z\"\n",
	"app/components/db.toml": "type = \"terraform_module\"\nname = \"db\"\nterraform_version = \"1.11.4\"\n" +
		"[public_repo]\nrepo = \".\"\ndirectory = \"modules/db\"\n[vars]\nsize = \"{{.nuon.sandbox.outputs.size}}\"\n" +
		"[[var_file]]\ncontents = \"./db.tfvars\"\n",
	"app/components/db.tfvars": "# for db\nowner = \"{{.nuon.install.id}}\"\n",
	"app/components/web.toml": "type = \"helm_chart\"\nname = \"web\"\nchart_name = \"web-chart\"\nnamespace = \"web\"\n" +
		"[public_repo]\nrepo = \".\"\ndirectory = \"charts/web\"\n[values]\nurl = \"{{.nuon.components.db.outputs.url}}\"\n",
	"app/actions/backup.toml": "name = \"backup\"\n[[triggers]]\ntype = \"manual\"\n[[steps]]\nname = \"s\"\n" +
		"inline_contents = \"#!/a {{.nuon.components.db.outputs.url.host}}\"\n",
	"modules/base/main.tf": "variable \"zone\" {}\noutput \"size\" { value = 1 }\n",
	"modules/db/main.tf": "variable \"size\" {}\nvariable \"owner\" {}\nvariable \"region\" {}\nvariable \"note\" { " +
		"default = null }\n" +
		"output \"url\" { value = 1 }\nmodule \"net\" { source = \"../net\" }\n",
	"modules/db/a_override.tf":     "variable \"note\" { description = \"Free text\" }\n",
	"modules/db/x.auto.tfvars":     "region = \"eu\"\n",
	"modules/net/main.tf.json":     `{"variable": {"unset": {}}, "output": {"inner": {"value": 1}}}`,
	"charts/web/Chart.yaml":        "name: web\nversion: 1.0.0\n",
	"kustomize/kustomization.yaml": "resources: []\n",
}

// codeTree returns the repository with some files replaced; an empty text removes a file.
func codeTree(other map[string]string) fstest.MapFS {
	all := maps.Clone(codeRepository)
	maps.Copy(all, other)
	tree := fstest.MapFS{}
	for name, text := range all {
		if text != "" {
			tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
	}
	return tree
}

func loadCode(t *testing.T, tree fs.FS, o Options) Diagnostics {
	t.Helper()
	config, err := fs.Sub(tree, "app")
	if err != nil {
		t.Fatal(err)
	}
	o.Tree = tree
	app, found := Load(config, o)
	if (app == nil) != found.HasErrors() {
		t.Errorf("gave the app %v with %v", app, found)
	}
	checkTold(t, config, found)
	return found
}

// in replaces a part of a file of the repository.
func in(file, old, by string) map[string]string {
	return map[string]string{file: strings.Replace(codeRepository[file], old, by, 1)}
}

// TestCode: Load checks references to code in the config's own repository against that code, and
// reports errors at their position in the config.
func TestCode(t *testing.T) {
	const db, web, sandbox = "app/components/db.toml", "app/components/web.toml", "app/sandbox.toml"
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"right": {nil, ""},
		"no module directory": {in(db, "modules/db", "modules/dbb"),
			`components/db.toml:6:13: error: there is no directory modules/dbb in the repository (did you mean "modules/db"?)`},
		"no directory above": {in(db, "modules/db", "modles/db"),
			`components/db.toml:6:13: error: there is no directory modles/db in the repository (did you mean "modules/db"?)`},
		"nothing like it": {in(db, "modules/db", "terraform"),
			`components/db.toml:6:13: error: there is no directory terraform in the repository ` +
				`(commit it there, or correct the path, which begins at the root of the repository)`},
		"no sandbox": {in(sandbox, "modules/base", "modules/bas"),
			`sandbox.toml:4:13: error: there is no directory modules/bas in the repository (did you mean "modules/base"?)`},
		"no chart directory": {in(web, "charts/web", "charts/wb"),
			`components/web.toml:7:13: error: there is no directory charts/wb in the repository (did you mean "charts/web"?)`},
		"no chart": {map[string]string{"charts/web/Chart.yaml": "", "charts/web/x": "x"},
			"components/web.toml:7:13: error: there is no Chart.yaml in charts/web; commit the chart there, or correct the " +
				"directory"},
		"a file": {in(db, "modules/db", "modules/db/main.tf"),
			`components/db.toml:6:13: error: there is no directory modules/db/main.tf in the repository (commit it there, or correct the path, which begins at the root of the repository)`},
		"a templated one": {in(db, "modules/db", "modules/{{.nuon.install.id}}"),
			"components/db.toml:6:22: warning: public_repo.directory is not rendered, so that {{ }} stays as it is written " +
				"(write it out)"},
		"a variable": {in(db, "size =", "sizes ="), "components/db.toml:7:2: error: vars: the module in modules/db " +
			"needs a value for its variable \"size\" (set vars.size, or give the variable a default at modules/db/main.tf:1)\n" +
			"components/db.toml:8:1: error: vars.sizes: the module in modules/db has no variable \"sizes\" (did you mean " +
			"\"size\"?)"},
		"an inner variable": {in(db, "size =", "size = \"1\"\nunset ="), "components/db.toml:9:1: error: vars.unset: the " +
			"module in modules/db has no variable \"unset\" (remove it, or declare the variable in the module)"},
		"of the sandbox": {in(sandbox, "zone", "zones"), "sandbox.toml:5:2: error: vars: the module in modules/base " +
			"needs a value for its variable \"zone\" (set vars.zone, or give the variable a default at " +
			"modules/base/main.tf:1)\nsandbox.toml:6:1: error: vars.zones: the module in modules/base has no variable " +
			"\"zones\" (did you mean \"zone\"?)"},
		"no vars": {in(sandbox, "[vars]\nzone = \"z\"\n", ""), "sandbox.toml:1:1: error: vars: the module in " +
			"modules/base needs a value for its variable \"zone\" (set vars.zone, or give the variable a default at " +
			"modules/base/main.tf:1)"},
		"a default in JSON": {map[string]string{"modules/base/o_override.tf.json": `{"variable":{"zone":{"default":"a"}}}`,
			sandbox: strings.Replace(codeRepository[sandbox], "zone = \"z\"", "", 1)}, ""},
		"not nullable": {map[string]string{"modules/base/main.tf": "variable \"zone\" {\n  nullable = false\n}\n" +
			"variable \"b\" {\n  nullable = false\n  default = 1\n}\noutput \"size\" { value = 1 }\n"}, ""},
		"not in the file": {map[string]string{"app/components/db.tfvars": "# owner\n"},
			"components/db.toml:7:2: error: vars: the module in modules/db needs a value for its variable \"owner\" (set " +
				"vars.owner, or give the variable a default at modules/db/main.tf:2)"},
		"a file in JSON": {map[string]string{"app/components/db.tfvars": `{"owner": "{{.nuon.install.id}}"}`}, ""},
		"a conditional":  {map[string]string{"app/components/db.tfvars": "{{if .nuon.install.id}}owner = 1{{end}}\n"}, ""},
		"a file elsewhere": {map[string]string{"app/components/db.tfvars": "",
			db: strings.Replace(codeRepository[db], "./db.tfvars", "https://example.com/db.tfvars", 1)}, ""},
		"beside the variables": {map[string]string{"app/components/db.tfvars": "owner = 1\nowners = 2\n"},
			"components/db.tfvars:2:1: warning: var_file[0].contents: owners has no effect: the module in modules/db has no " +
				"such variable (remove it)"},
		"written in place": {in(db, `"./db.tfvars"`, "\"\"\"\nowner = 1\nowners = 2\n\"\"\""),
			"components/db.toml:12:1: warning: var_file[0].contents: owners has no effect: the module in modules/db has no " +
				"such variable (remove it)"},
		"an override": {map[string]string{"app/installs/acme.toml": "name = \"acme\"\n[components.db]\n" +
			"tf_vars = 'size = \"{{.nuon.install.id}}\"'\n"}, ""},
		"an override of no variable": {map[string]string{"app/installs/acme.toml": "name = \"acme\"\n[components.db]\n" +
			"tf_vars = \"\"\"\nsize = 1\nsizes = 2\n\"\"\"\n"}, "installs/acme.toml:5:1: error: components.db.tf_vars: the " +
			"module in modules/db has no variable \"sizes\" (did you mean \"size\"?)"},
		"an output": {in(web, "outputs.url", "outputs.ur"), "components/web.toml:9:10: error: values.url: the " +
			"module in modules/db has no output \"ur\" (did you mean \"url\"?)"},
		"an inner output": {in(web, "outputs.url", "outputs.inner"), "components/web.toml:9:10: error: values.url: the " +
			"module in modules/db has no output \"inner\" (declare the output in the module, or read another one)"},
		"asked for": {in(web, `"{{.nuon.components.db.outputs.url}}"`,
			`'{{if hasKey .nuon.components.db.outputs "ur"}}{{.nuon.components.db.outputs.ur}}{{end}}'`), ""},
		"an action's output": {in("app/actions/backup.toml", "outputs.url", "outputs.uri"),
			"actions/backup.toml:6:27: error: steps[0].inline_contents: the module in modules/db has no output \"uri\" (did " +
				"you mean \"url\"?)"},
		"the sandbox's": {in(db, "outputs.size", "outputs.sice"), "components/db.toml:8:11: error: vars.size: the " +
			"module in modules/base has no output \"sice\" (did you mean \"size\"?)"},
		"by its other name": {map[string]string{db: strings.Replace(codeRepository[db], "name = \"db\"",
			"name = \"db\"\nvar_name = \"data\"", 1), web: strings.Replace(codeRepository[web], "components.db.outputs.url",
			"components.data.outputs.ur", 1)}, "components/web.toml:9:10: error: values.url: the module in modules/db has no " +
			"output \"ur\" (did you mean \"url\"?)"},
		"a broken module": {map[string]string{"modules/db/main.tf": "variable \"size\" {\n"},
			"components/db.toml:6:13: error: modules/db/main.tf:1: Unclosed configuration block: There is no closing brace " +
				"for this block before the end of the file. This may be caused by incorrect brace nesting elsewhere in this file"},
		"code to fetch": {map[string]string{"modules/net/main.tf.json": `{"module": {"vpc": {"source": "acme/vpc/aws",
			"version": "~> 1.0"}, "git": {"source": "git::https://github.com/acme/net.git//a?ref=v1"}, "short": {"source":
			"github.com/acme/net"}, "archive": {"source": "https://example.com/net.zip"}}}`}, ""},
		"an empty module": {map[string]string{"modules/net/main.tf.json": "", "modules/net/x": "x"},
			`components/db.toml:6:13: error: modules/db/main.tf:6: module "net": there are no .tf files in modules/net; name the directory that has them`},
		"a bomb": {map[string]string{"modules/net/main.tf.json": strings.Repeat("[", 100_000)},
			"components/db.toml:6:13: error: modules/net/main.tf.json:1: brackets are nested more than 200 deep; make " +
				"it simpler"},
		"out of it": {map[string]string{"modules/net/main.tf.json": `{"module": {"a": {"source": "../../../b"}}}`},
			`components/db.toml:6:13: error: modules/net/main.tf.json:1: module "a" calls "../../../b", which leads out of the repository; move that module into it`},
		"an action's code": {in("app/actions/backup.toml",
			`inline_contents = "#!/a {{.nuon.components.db.outputs.url.host}}"`, "command = \"./x\"\n[steps.public_repo]\n"+
				"repo = \".\"\ndirectory = \"script\""),
			`actions/backup.toml:9:13: error: there is no directory script in the repository (commit it there, or correct the path, which begins at the root of the repository)`},
		"elsewhere": {in(db, "repo = \".\"\ndirectory = \"modules/db\"",
			"repo = \"acme/other\"\nbranch = \"main\"\ndirectory = \"none\""), ""},
		"the same repository": {in(db, "repo = \".\"\ndirectory = \"modules/db\"",
			"repo = \"acme/shop\"\nbranch = \"main\"\ndirectory = \"none\""),
			`components/db.toml:7:13: error: there is no directory none in the repository (commit it there, or correct the path, which begins at the root of the repository)`},
		"another branch": {in(db, "repo = \".\"\ndirectory = \"modules/db\"",
			"repo = \"acme/shop\"\nbranch = \"v1.2.3\"\ndirectory = \"none\""), ""},
		"a kustomization": {map[string]string{"app/components/k.toml": "type = \"kubernetes_manifest\"\nname = \"k\"\n" +
			"namespace = \"n\"\n[kustomize]\npath = \"kustomiz\"\n[public_repo]\nrepo = \".\"\ndirectory = \".\"\n"},
			`components/k.toml:5:8: error: there is no directory kustomiz in the repository; commit the kustomization there, or correct the directory in the component's config`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := loadCode(t, codeTree(c.change),
				Options{Repository: "https://github.com/acme/shop.git", Branch: "main"})
			if diff := cmp.Diff(strings.TrimSpace(told(found, false)), c.want); diff != "" {
				t.Errorf("says, with - what nobody wanted and + what is missing:\n%s", diff)
			}
		})
	}
}

// TestCodeIsNotCheckedWithoutTree: without a repository, Load checks the config alone.
func TestCodeIsNotCheckedWithoutTree(t *testing.T) {
	config, err := fs.Sub(codeTree(in("app/components/db.toml", "modules/db", "none")), "app")
	if err != nil {
		t.Fatal(err)
	}
	if app, found := Load(config, Options{}); app == nil {
		t.Error(found)
	}
}

// TestModuleProblem: a build reports for a module in another repository what Load reports for a
// module in the same one.
func TestModuleProblem(t *testing.T) {
	change := in("app/components/db.toml", "size =", "sizes =")
	maps.Copy(change, in("app/components/web.toml", "outputs.url", "outputs.ur"))
	tree := codeTree(change)
	found := loadCode(t, tree, Options{})
	config, err := fs.Sub(tree, "app")
	if err != nil {
		t.Fatal(err)
	}
	app, _ := Load(config, Options{})
	module, err := tfmodule.Read(tree, "modules/db")
	if err != nil {
		t.Fatal(err)
	}
	problem := app.ModuleMismatch("db", module)
	if len(found) != 3 || strings.Count(problem, "; ") != 2 {
		t.Fatalf("%v\n%s", found, problem)
	}
	for _, d := range found {
		if words := d.Message + " (" + d.Hint + ")"; !strings.Contains(problem, words) {
			t.Errorf("%q does not say %q", problem, words)
		}
	}
	if !strings.Contains(problem, "component web, values.url: ") {
		t.Error(problem)
	}
	for _, name := range []string{"web", "none"} {
		if said := app.ModuleMismatch(name, module); said != "" {
			t.Errorf("%s: %s", name, said)
		}
	}
	base, err := tfmodule.Read(tree, "modules/base")
	if err != nil {
		t.Fatal(err)
	}
	if said := app.ModuleMismatch(SandboxName, base); said != "" {
		t.Error(said)
	}
	if said := app.ModuleMismatch(SandboxName, module); !strings.Contains(said,
		`component db, vars.sizes: the module in modules/db has no output "size"`) {
		t.Error(said)
	}
}

// TestModuleProblemIsBounded: thousands of wrong names in a module and a config make one short
// message.
func TestModuleProblemIsBounded(t *testing.T) {
	app := &App{Sandbox: &Component{Name: SandboxName, Kind: KindSandbox,
		Terraform: &Terraform{Vars: map[string]string{}}}}
	module := &tfmodule.Module{Dir: "m"}
	long := strings.Repeat("x", 80)
	for i := range 5000 {
		name := path.Join(long, string(rune('a'+i%26))+strings.Repeat("y", i%50)) + string(rune(0x100+i))
		app.Sandbox.Terraform.Vars[name] = ""
		module.Variables = append(module.Variables, tfmodule.Variable{Name: "z" + name, Required: true})
	}
	problem := app.ModuleMismatch(SandboxName, module)
	if !strings.HasSuffix(problem, "; and 9990 more") || len(problem) > 10_000 {
		t.Errorf("%d bytes: %.300s", len(problem), problem)
	}
}
