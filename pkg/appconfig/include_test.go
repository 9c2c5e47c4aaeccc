package appconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Keys of an included file win, table by table; an included file is no separate component;
// positions refer to the file with the key.
func TestInclude(t *testing.T) {
	app := mustLoad(t, small().and(files{
		"components/a.toml": moduleFile("a", "source = 'shared.toml'\nmax_auto_retries = 1") +
			"[vars]\nx = '1'\ny = '1'\n",
		"components/shared.toml": "max_auto_retries = 2\nsource = '../more.toml'\n[vars]\ny = '2'\nz = '2'\n",
		"more.toml":              "vars.z = '3'\nlabels = {a = 'b'}\n",
		"inputs.toml":            inputsFile + "[other]\n",
	}).and(files{"inputs.toml": "source = './in/one.toml'\nsources = ['./in/two.toml']\n" + inputsFile,
		"in/one.toml": "[[input]]\nname='one'\ndisplay_name='One'\ndescription='d'\ngroup='g'\n",
		"in/two.toml": "[[group]]\nname='h'\ndescription='d'\n[[input]]\nname='two'\ndisplay_name='Two'\ndescription='d'\n" +
			"group='h'\n"}))
	if len(app.Components) != 1 {
		t.Errorf("components %+v", app.Components)
	}
	a, _ := app.Component("a")
	if diff := cmp.Diff(map[string]string{"x": "1", "y": "2", "z": "3"}, a.Terraform.Vars); diff != "" ||
		a.MaxAutoRetries != 2 || a.Labels["a"] != "b" {
		t.Errorf("%+v\n%s", a, diff)
	}
	var names []string
	for _, in := range app.Inputs {
		names = append(names, in.Name)
	}
	if strings.Join(names, " ") != "size token count one two" || len(app.Groups) != 2 {
		t.Errorf("inputs %v, groups %v", names, app.Groups)
	}
}

// References in an included file are relative to that file.
func TestReferencesOfIncludedFiles(t *testing.T) {
	app := mustLoad(t, small().and(files{
		"components/a.toml": moduleFile("a", "source = '../shared/vars.toml'"),
		"shared/vars.toml":  "[[var_file]]\ncontents = './x.tfvars'\n", "shared/x.tfvars": "x = 1",
		"components/x.tfvars": "x = 2",
	}))
	if a, _ := app.Component("a"); a.Terraform.VarFiles[0] != "x = 1" {
		t.Errorf("%v", a.Terraform.VarFiles)
	}
	_, found := Load(small().and(files{"components/a.toml": moduleFile("a", "source = '../shared/vars.toml'"),
		"shared/vars.toml": "[[var_file]]\ncontents = './x.tfvars'\n"}).fs(), Options{})
	if found.String() != "shared/vars.toml:2:12: error: there is no file ./x.tfvars: looked for shared/x.tfvars and "+
		"components/x.tfvars" {
		t.Error(found)
	}
}

func TestIncludesThatCannotBe(t *testing.T) {
	deep := files{}
	for i := range 20 {
		deep[fmt.Sprintf("d/%d.toml", i)] = fmt.Sprintf("source = './%d.toml'\n", i+1)
	}
	for name, c := range map[string]struct {
		files files
		want  string
	}{
		"a circle": {files{"a.toml": "source = './b.toml'", "b.toml": "source = './a.toml'"},
			"b.toml:1:10: error: files include each other in a circle: a.toml -> b.toml -> a.toml (remove one of them)"},
		"itself": {files{"a.toml": "source = 'a.toml'"}, "a.toml:1:10: error: files include each other in a circle: " +
			"a.toml -> a.toml (remove one of them)"},
		"too deep": {deep.and(files{"a.toml": "source = './d/0.toml'"}), "d/6.toml:1:10: error: files include each " +
			"other more than 8 levels deep"},
		"climbing": {files{"a.toml": "source = '../../x.toml'"}, "a.toml:1:10: error: ../../x.toml leads out of the " +
			"config directory (copy the file into it)"},
		"an absolute": {files{"a.toml": "source = '/etc/x.toml'"}, "a.toml:1:10: error: /etc/x.toml leads out of the " +
			"config directory (copy the file into it)"},
		"from the net": {files{"a.toml": "source = 'https://example.com/x'"}, "a.toml:1:10: error: a file from elsewhere " +
			"cannot be included (put the file beside the config and write ./name)"},
		"not there": {files{"a.toml": "source = './b.tml'", "b.toml": ""},
			`a.toml:1:10: error: there is no file ./b.tml: looked for b.tml (did you mean "./b.toml"?)`},
		"no TOML": {files{"a.toml": "source = './b'", "b": "= 1"}, "b:1:1: error: TOML syntax: "},
		"a mistake": {files{"a.toml": "[public_repo]\nbranc = 'x'"},
			`a.toml:2:1: error: unknown key "public_repo.branc" (did you mean "branch"?)`},
	} {
		t.Run(name, func(t *testing.T) {
			config := small().and(c.files)
			config["sandbox.toml"] = "source = './a.toml'\n" + config["sandbox.toml"]
			_, found := Load(config.fs(), Options{})
			if !strings.Contains(found.String(), c.want) {
				t.Errorf("says\n%v\nwant\n%s", found, c.want)
			}
			for _, one := range found {
				if strings.Contains(one.Message, "not a file of the format") && one.File == "a.toml" {
					t.Error("an included file is taken for a stranger:", one)
				}
			}
		})
	}
}

// Files that include many files again and again must not multiply.
func TestIncludeBomb(t *testing.T) {
	config := small()
	for level := range 6 {
		var sources []string
		for i := range 50 {
			sources = append(sources, fmt.Sprintf("'%d-%d.toml'", level+1, i))
		}
		for i := range 50 {
			config[fmt.Sprintf("bomb/%d-%d.toml", level, i)] = "sources = [" + strings.Join(sources, ",") +
				"]\n[[input]]\nname = 'x'\n"
		}
	}
	config["inputs.toml"] = "source = 'bomb/0-0.toml'\n"
	for i := range 50 {
		config[fmt.Sprintf("bomb/6-%d.toml", i)] = strings.Repeat("[[input]]\nname = 'y'\n", 500)
	}
	if _, found := Load(config.fs(), Options{Limits: Limits{Total: 1 << 30}}); !strings.Contains(found.String(),
		"files include others more than 500 times") {
		t.Errorf("%.300v", found)
	}
}

func TestSingleFile(t *testing.T) {
	const single = `version = "v1"
display_name = "Legacy {{.who}}"

[config_vars]
who = "app"
repo = "acme/infra"

[runner]
runner_type = "aws"

[sandbox]
terraform_version = "1.11.4"
[sandbox.public_repo]
repo = "{{ .repo }}"
directory = "modules/x"
branch = "main"

[inputs]
[[inputs.group]]
name = "g"
description = "d"
[[inputs.input]]
name = "size"
display_name = "Size"
description = "d"
group = "g"

[[components]]
type = "terraform_module"
name = "web"
[components.terraform_module]
terraform_version = "1.11.4"
[components.terraform_module.public_repo]
repo = "{{.repo}}"
directory = "web"
branch = "main"
[components.terraform_module.vars]
size = "{{.nuon.inputs.inputs.size}}"

[[components]]
type = "container_image"
name = "image"
[components.container_image.public]
image_url = "ghcr.io/acme/{{.who}}"
tag = "1"

[[actions]]
name = "check"
[[actions.triggers]]
type = "manual"
[[actions.steps]]
name = "s"
inline_contents = "./check.sh"

[secrets]
[[secrets.secret]]
name = "s"
description = "d"

[permissions.maintenance_role]
name = "m"
description = "d"
[[permissions.maintenance_role.policies]]
managed_policy_name = "PowerUserAccess"

[[installs]]
name = "one"
[installs.inputs]
size = 3
`
	load := func(text string) (*App, Diagnostics) {
		return Load(files{"nuon.ledger.toml": text, "actions/check.sh": "#!/bin/sh\n"}.fs(), Options{})
	}
	app, found := load(single)
	if app == nil {
		t.Fatal(found)
	}
	web, _ := app.Component("web")
	image, _ := app.Component("image")
	if app.Metadata.DisplayName != "Legacy app" || web.Source.Repo != "acme/infra" ||
		web.Terraform.Vars["size"] != "{{.nuon.inputs.inputs.size}}" ||
		image.Image.Public.ImageURL != "ghcr.io/acme/app" || app.Actions[0].Steps[0].InlineContents != "#!/bin/sh\n" ||
		app.Sandbox.Source.Repo != "acme/infra" ||
		len(app.Secrets) != 1 || app.Permissions[0].Type != "maintenance" || app.Installs[0].Inputs["size"] != "3" ||
		app.Runner.Type != "aws" {
		t.Errorf("%+v", app)
	}
	for from, want := range map[string]string{
		`[inputs]`: `[inputz]` + "\n" +
			`nuon.ledger.toml:18:2: error: unknown key "inputz" (did you mean "inputs"?)`,
		`{{.nuon.inputs.inputs.size}}`: `{{.nuon.inputs.inputs.siez}}` + "\n" +
			`nuon.ledger.toml:38:11: error: vars.size: the app has no input "siez"`,
		"\n[[components]]\ntype = \"cont": "\n[components]\ntype = \"cont\nerror: TOML syntax",
		`[components.container_image.public]`: `[components.helm_chart.public]` + "\n" +
			`nuon.ledger.toml:43:13: error: unknown key "helm_chart"`,
		"who = \"app\"": "who = ['app']\n" +
			`nuon.ledger.toml:5:7: error: "config_vars.who" must be a string, not a list`,
		`ghcr.io/acme/{{.who}}"`: `x {{.who}} {{.nuon.inputs.inputs.siez}}"` + "\n",
	} {
		change, told, _ := strings.Cut(want, "\n")
		if strings.HasPrefix(from, "\n") {
			change, told = "\n[components]\ntype = \"cont", "error: TOML syntax"
		}
		if _, found := load(strings.Replace(single, from, change, 1)); !strings.Contains(found.String(), told) {
			t.Errorf("with %s it says\n%v\nwant\n%s", change, found, told)
		}
	}
	both := files{"nuon.ledger.toml": single, "nuon.other.toml": single, "actions/check.sh": "#!/bin/sh\n"}
	if _, found := Load(both.fs(), Options{}); !strings.Contains(found.String(),
		"nuon.other.toml:1:1: error: both nuon.ledger.toml and nuon.other.toml are there (put each app into a directory "+
			"of its own)") {
		t.Error(found)
	}
	if _, found := load(strings.Replace(single, "[sandbox", "[stack", 2)); !strings.Contains(found.String(),
		"[sandbox] is missing") {
		t.Error(found)
	}
}

// config_vars cannot expand a file without limit.
func TestConfigVarsBomb(t *testing.T) {
	text := "version='v2'\n[config_vars]\nx='" + strings.Repeat("x", 10_000) + "'\n[sandbox.vars]\ny='" +
		strings.Repeat("{{.x}}", 10_000) + "'\n"
	if _, found := Load(files{"nuon.a.toml": text}.fs(), Options{}); !strings.Contains(found.String(),
		"nuon.a.toml:5:3: error: the file with its config_vars is larger than 4194304 bytes") {
		t.Errorf("%.300v", found)
	}
}
