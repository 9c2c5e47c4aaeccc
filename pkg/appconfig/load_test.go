package appconfig

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/render"
)

const repoBlock = `
[public_repo]
repo = "acme/infra"
directory = "modules/x"
branch = "main"
`

// files is a config directory; small is the smallest that loads.
type files map[string]string

func small() files {
	return files{
		"metadata.toml": "version = \"v2\"\n",
		"sandbox.toml":  "terraform_version = \"1.11.4\"\n" + repoBlock,
	}
}

// and gives the directory with more files, or with other contents.
func (f files) and(more files) files {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

func (f files) fs() fstest.MapFS {
	dir := fstest.MapFS{}
	for name, text := range f {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

func component(name, rest string) string {
	return fmt.Sprintf("type = \"terraform_module\"\nname = %q\nterraform_version = \"1.11.4\"\n%s\n%s", name, rest, repoBlock)
}

func action(rest string) string {
	return "name = \"a\"\n" + rest + "\n[[triggers]]\ntype = \"manual\"\n[[steps]]\nname = \"s\"\ninline_contents = \"#!/bin/sh\"\n"
}

const inputsFile = `
[[group]]
name = "g"
description = "d"

[[input]]
name = "size"
display_name = "Size"
description = "d"
group = "g"
required = true

[[input]]
name = "token"
display_name = "Token"
description = "d"
group = "g"
sensitive = true

[[input]]
name = "count"
display_name = "Count"
description = "d"
group = "g"
type = "number"
default = 3
`

func TestLoadSmall(t *testing.T) {
	app, found := Load(small().fs(), Options{})
	if len(found) > 0 {
		t.Fatalf("diagnostics: %v", found)
	}
	want := &App{
		Metadata: Metadata{Version: "v2"},
		Sandbox: &Component{
			Name: "sandbox", Kind: "sandbox", TerraformVersion: "1.11.4",
			Source: Source{Repo: "acme/infra", Directory: "modules/x", Branch: "main"},
		},
	}
	if diff := cmp.Diff(want, app); diff != "" {
		t.Error(diff)
	}
}

func TestLoadEverything(t *testing.T) {
	app, found := Load(small().and(files{
		"metadata.toml":         "version='v2'\nreadme='./README.md'\n",
		"README.md":             "# {{ not a template",
		"inputs.toml":           inputsFile,
		"secrets/x.toml":        "name = \"db\"\n",
		"sandbox.tfvars":        "tags = {}\n",
		"sandbox.toml":          "terraform_version = \"1.11.4\"\nmax_auto_retries = 2\n[public_repo]\nrepo='.'\ndirectory='./sand//box'\n[[var_file]]\ncontents='./sandbox.tfvars'\n",
		"components/sub/2.toml": component("web", `dependencies = ["b", "a"]`) + "[vars]\nn = 1\nb = true\nurl = \"{{.nuon.components.net.outputs.url}}\"\n[[var_file]]\ncontents = \"\"\"\nx = 1\n\"\"\"\n",
		"components/1.toml":     component("net", ""),
		"components/a.toml":     component("a", ""),
		"components/b.toml":     component("b", ""),
		"actions/run.toml":      "name='go'\ntimeout='90s'\n[[triggers]]\ntype='manual'\n[[triggers]]\ntype='post-deploy-component'\ncomponent_name='web'\n[[steps]]\nname='one'\ninline_contents='../scripts/x.sh'\n[steps.env_vars]\nX='{{.nuon.components.web.outputs.url}}'\n[[steps]]\nname='two'\ncommand='run me'\n[steps.connected_repo]\nrepo='https://git.example/x'\ndirectory='.'\nbranch='v1'\n",
		"scripts/x.sh":          "#!/bin/sh\necho {{.nuon.inputs.inputs.size}}\n",
		"installs/acme.toml":    "name='acme'\n[[inputs]]\nsize='1'\n[[inputs]]\ncount=5\n",
		"installs/globex.toml":  "name='globex'\napproval_option='auto'\nallow_destroy=true\n[inputs]\nsize='2'\n",
	}).fs(), Options{})
	if app == nil {
		t.Fatal(found)
	}
	three := "3"
	want := &App{
		Metadata: Metadata{Version: "v2", Readme: "# {{ not a template"},
		Sandbox: &Component{
			Name: "sandbox", Kind: "sandbox", TerraformVersion: "1.11.4", MaxAutoRetries: 2,
			Source: Source{Repo: ".", Directory: "sand/box"}, VarFiles: []string{"tags = {}\n"},
		},
		Groups: []InputGroup{{Name: "g", Description: "d"}},
		Inputs: []Input{
			{Name: "size", DisplayName: "Size", Description: "d", Group: "g", Type: "string", Required: true},
			{Name: "token", DisplayName: "Token", Description: "d", Group: "g", Type: "string", Sensitive: true},
			{Name: "count", DisplayName: "Count", Description: "d", Group: "g", Type: "number", Default: &three},
		},
		Components: []Component{
			plainComponent("a"), plainComponent("b"), plainComponent("net"), plainComponent("web"),
		},
		Actions: []Action{{
			Name: "go", Timeout: "90s",
			Triggers: []Trigger{{Type: "manual"}, {Type: "post-deploy-component", ComponentName: "web"}},
			Steps: []ActionStep{
				{Name: "one", InlineContents: "#!/bin/sh\necho {{.nuon.inputs.inputs.size}}\n", EnvVars: map[string]string{"X": "{{.nuon.components.web.outputs.url}}"}},
				{Name: "two", Command: "run me", Source: &Source{Repo: "https://git.example/x", Directory: ".", Branch: "v1", Connected: true}},
			},
		}},
		Secrets: []Secret{{Name: "db"}},
		Installs: []Install{
			{Name: "acme", ApprovalOption: "prompt", Inputs: map[string]string{"size": "1", "count": "5"}},
			{Name: "globex", ApprovalOption: "approve-all", AllowDestroy: true, Inputs: map[string]string{"size": "2"}},
		},
	}
	want.Components[3].Dependencies = []string{"a", "b"}
	want.Components[3].Vars = map[string]string{"n": "1", "b": "true", "url": "{{.nuon.components.net.outputs.url}}"}
	want.Components[3].VarFiles = []string{"x = 1\n"}
	if diff := cmp.Diff(want, app); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`installs/globex.toml:2:17: warning: auto is the other name of approve-all (write "approve-all")`,
		"secrets/x.toml:1:1: warning: accepted, no effect yet: secrets",
	}, strings.Split(found.String(), "\n")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"a", "b", "net"}, {"web"}}, app.Order()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "net"}, app.DependsOn("web")); diff != "" {
		t.Error(diff)
	}
	roundTrip(t, app)
}

func plainComponent(name string) Component {
	return Component{
		Name: name, Kind: KindTerraformModule, TerraformVersion: "1.11.4",
		Source: Source{Repo: "acme/infra", Directory: "modules/x", Branch: "main"},
	}
}

// TestDiagnostics adds files to a config that is right, and says exactly what must be told about them.
func TestDiagnostics(t *testing.T) {
	for name, test := range map[string]struct {
		files files
		want  []string
	}{
		"broken TOML": {files{"inputs.toml": "[[group]]\nname = \n"}, []string{
			"inputs.toml:2:8: error: TOML syntax: unexpected character U+000A at start of value",
		}},
		"a key twice": {files{"metadata.toml": "version='v2'\nversion='v2'\n"}, []string{
			"metadata.toml:2:1: error: TOML syntax: key version is already defined",
		}},
		"unknown keys at their place, all at once": {files{
			"metadata.toml":     "versoin = \"v2\"\n\n[onboardin]\nx = 1\n",
			"components/a.toml": component("a", "dependecies = []\nzzzzzzzz = 1"),
		}, []string{
			`components/a.toml:4:1: error: unknown key "dependecies" (did you mean "dependencies"?)`,
			`components/a.toml:5:1: error: unknown key "zzzzzzzz" (known here: auto_approve_on_policies_passing, build_timeout, connected_repo, default_enabled, dependencies, deploy_timeout, drift_schedule, env_var, env_vars, kubernetes_context, labels, max_auto_retries, name, operation_roles, public_repo, skip_noops, source, terraform_version, timeout, toggleable, type, var, var_file, var_name, vars)`,
			`metadata.toml:1:1: error: "version" is missing`,
			`metadata.toml:1:1: error: unknown key "versoin" (did you mean "version"?)`,
			`metadata.toml:3:2: error: unknown key "onboardin" (did you mean "onboarding"?)`,
		}},
		"wrong shapes": {files{"components/a.toml": component("a", "dependencies = \"b\"\nmax_auto_retries = \"many\"\n[vars]\nl = [1]\n[env_vars]\n\"A B\" = 1979-05-27\n")}, []string{
			`components/a.toml:4:16: error: "dependencies" must be a list of strings, not a string`,
			`components/a.toml:5:20: error: "max_auto_retries" must be a whole number, not a string`,
			`components/a.toml:7:1: error: "vars.l" must be a string, not a list (put structured values into a file, or write them as JSON in a string)`,
			`components/a.toml:9:1: error: "A B" is no name for an environment variable (use letters, digits and underscores)`,
			`components/a.toml:9:9: error: "env_vars.A B" must be a string, not a date or time (put structured values into a file, or write them as JSON in a string)`,
		}},
		"unknown files": {files{"metdata.toml": "", "Cargo.toml": "", "src/x.toml": "", ".hidden.toml": "", "component.txt": "", "nuon.app.toml": ""}, []string{
			"Cargo.toml:1:1: error: Cargo.toml is not a file of the format (move it into a directory of its own if it is not part of the config)",
			`metdata.toml:1:1: error: metdata.toml is not a file of the format (did you mean "metadata.toml"?)`,
			"nuon.app.toml:1:1: warning: the single-file form has no effect yet (split it into metadata.toml, sandbox.toml, components/ and so on)",
		}},
		"both forms": {files{"secrets.toml": "", "secrets/a.toml": "name = 'a'"}, []string{
			"secrets.toml:1:1: error: both secrets.toml and secrets/ are there (keep one of them)",
			"secrets/a.toml:1:1: warning: accepted, no effect yet: secrets",
		}},
		"unknown component types": {files{
			"components/a.toml": "name='a'\ntype='terraform_modul'",
			"components/b.toml": "name='b'\ntype='job'\nimage_url='x'",
			"components/c.toml": "name='c'\ntype='x'",
			"components/d.toml": "# nothing",
		}, []string{
			`components/a.toml:2:6: error: there is no component type "terraform_modul" (did you mean "terraform_module"?)`,
			"components/b.toml:2:6: error: components of type job are not supported (write it as an action in actions/ with a post-deploy-component trigger)",
			`components/c.toml:2:6: error: there is no component type "x" (known kinds: container_image, docker_build, external_image, helm_chart, kubernetes_manifest, pulumi, terraform_module)`,
			`components/d.toml:1:1: error: "name" is missing`,
			`components/d.toml:1:1: error: "type" is missing`,
		}},
		"no effect yet is said once a file": {files{
			"components/a.toml": component("a", "skip_noops = true\ndrift_schedule = '* * * * *'"),
			"components/b.toml": "type='helm_chart'\nname='b'\nchart_name='b'\nskip_noops=true\n" + repoBlock,
			"runner.toml":       "runner_type='aws'\n",
			"stack.toml":        "name='n'\ndescription='d'\n",
			"policies.toml":     "",
			"break_glass.toml":  "[[role]]\nname='x'\ndescription='d'\n[[role.policies]]\nmanaged_policy_name='y'\n",
		}, []string{
			"break_glass.toml:1:1: warning: accepted, no effect yet: break-glass roles",
			"components/a.toml:4:1: warning: accepted, no effect yet: drift_schedule, skip_noops",
			"components/b.toml:1:6: warning: accepted, no effect yet: components of type helm_chart",
		}},
		"stray keys": {files{
			"actions/a.toml": action("") + "enable_kube_config=true\n",
			"inputs.toml":    "[[group]]\nname='g'\ndescription='d'\ngroup='g'\n",
		}, []string{
			`actions/a.toml:8:1: warning: "steps[0].enable_kube_config" is not a key of the format and has no effect (write it on the action, not on a step)`,
			`inputs.toml:4:1: warning: "group[0].group" is not a key of the format and has no effect (remove it: a group is in no group)`,
		}},
		"names": {files{
			"components/a.toml": component("a-b", ""), "components/b.toml": component("sandbox", ""),
			"components/c.toml": component("..", ""), "components/d.toml": component(strings.Repeat("a", 101), ""),
		}, []string{
			`components/a.toml:2:8: error: "a-b" is no name for a component (use lower-case letters, digits and underscores)`,
			`components/b.toml:2:8: error: no component may be called "sandbox": that is sandbox.toml (choose another name)`,
			`components/c.toml:2:8: error: ".." is no name for a component (use lower-case letters, digits and underscores)`,
			`components/d.toml:2:8: error: "` + strings.Repeat("a", 60) + `…" is no name for a component (use lower-case letters, digits and underscores)`,
		}},
		"duplicates": {files{"components/a.toml": component("a", ""), "components/b.toml": component("a", "")}, []string{
			`components/b.toml:2:8: error: there is a second component "a": the first is in components/a.toml:2 (rename one of them)`,
		}},
		"dependencies": {files{
			"components/a.toml":   component("a", `dependencies = ["bb", "sandbox", "bbb", "bbb"]`),
			"components/bbb.toml": "type='kubernetes_manifest'\nname='bbb'\nnamespace='x'\n",
		}, []string{
			`components/a.toml:4:17: error: the dependency "bb" does not exist (did you mean "bbb"?)`,
			`components/a.toml:4:23: warning: every component depends on the sandbox (remove it)`,
			`components/a.toml:4:41: error: the dependency "bbb" is listed twice (remove it)`,
			`components/bbb.toml:1:6: warning: accepted, no effect yet: components of type kubernetes_manifest`,
		}},
		"a cycle is printed as the path that closes it": {files{
			"components/a.toml": component("a", `dependencies = ["b"]`),
			"components/b.toml": component("b", "[vars]\nx = \"{{.nuon.components.c.outputs.x}}\""),
			"components/c.toml": component("c", `dependencies = ["a"]`),
			"components/d.toml": component("d", "[vars]\nx = \"{{.nuon.components.d.outputs.x}}\""),
		}, []string{
			"components/a.toml:4:1: error: the components depend on each other in a circle: a -> b -> c -> a (remove one of these dependencies, listed or read from outputs)",
			"components/d.toml:1:1: error: the components depend on each other in a circle: d -> d (remove one of these dependencies, listed or read from outputs)",
		}},
		"a component that reads what its own deploy sets off": {files{
			"components/a.toml": component("a", "[vars]\nx = \"{{.nuon.actions.workflows.a.outputs.x}}\""),
			"components/b.toml": component("b", "dependencies = [\"c\"]\n[vars]\nx = \"{{.nuon.actions.workflows.d.outputs.x}}{{.nuon.actions.workflows.d.outputs.y}}\""),
			"components/c.toml": component("c", "[vars]\nx = \"{{.nuon.actions.workflows.d.outputs.x}}\""),
			"components/d.toml": component("d", "[vars]\nx = \"{{.nuon.actions.workflows.e.outputs.x}}\""),
			"actions/a.toml":    action("") + "[[triggers]]\ntype = \"post-deploy-component\"\ncomponent_name = \"a\"\n",
			"components/e.toml": component("e", "[vars]\nx = \"{{.nuon.actions.workflows.f.outputs.x}}\""),
			"actions/f.toml":    strings.Replace(action(""), `"a"`, `"f"`, 1) + "[[triggers]]\ntype = \"post-deploy-all-components\"\n",
			"actions/d.toml":    strings.Replace(action(""), `"a"`, `"d"`, 1) + "[[triggers]]\ntype = \"pre-deploy-component\"\ncomponent_name = \"b\"\n",
			"actions/e.toml":    strings.Replace(action(""), `"a"`, `"e"`, 1) + "[[triggers]]\ntype = \"post-deploy-component\"\ncomponent_name = \"a\"\n",
		}, []string{
			"components/a.toml:2:8: error: a reads outputs of action a, which runs whenever a is deployed: it would be deployed again and again (read an output of a component instead, or let the action run by hand)",
			"components/b.toml:2:8: error: b reads outputs of action d, which runs whenever b is deployed: it would be deployed again and again (read an output of a component instead, or let the action run by hand)",
			"components/c.toml:2:8: error: c reads outputs of action d, which runs whenever b is deployed: it would be deployed again and again (read an output of a component instead, or let the action run by hand)",
			"components/e.toml:2:8: error: e reads outputs of action f, which runs whenever e is deployed: it would be deployed again and again (read an output of a component instead, or let the action run by hand)",
		}},
		"templates": {files{
			"inputs.toml":    inputsFile,
			"secrets.toml":   "[[secret]]\nname='db'\n",
			"actions/a.toml": action(""),
			"components/b.toml": component("b", `[vars]
a = "x {{.nuon.inputs.inputs.siez}}"
b = "{{.nuon.component.b.outputs.x}}"
c = "{{.nuon.components.bb.outputs.x}}"
d = "{{.nuon.install.secrets.db}}"
e = "{{.nuon.install.idd}}"
f = "{{.nuon.actions.workflows.aa.outputs.x}}{{.nuon.actions.workflows.a.output}}"
g = "{{.nuon.id"
h = "{{.nuon.id | sha}}"
i = """
one
 {{.nuon.install.inputs.sise}}"""
j = "{{nuon.id}}{{ .Values.x }}"
k = "{{.nuon.components.b.output}}"
l = "{{.nuon.secrets.bd.arn}}{{.nuon.secrets.db.arn}}{{.nuon.install_stack.outputs.x}}"
m = "{{range .nuon.components}}{{end}}"
n = "{{nuon.id}}{{.nuon.id}}"
`),
		}, []string{
			`components/b.toml:5:10: error: vars.a: the app has no input "siez" (did you mean "size"?)`,
			`components/b.toml:6:8: error: vars.b: there is no "component" below .nuon (did you mean "components"?)`,
			`components/b.toml:7:8: error: vars.c: the app has no component "bb"`,
			`components/b.toml:8:8: warning: vars.d: .nuon.install.secrets.db has no value: secret values never pass through templates (let the workload read the secret where it is synced to)`,
			`components/b.toml:9:8: error: vars.e: there is no "idd" below .nuon.install (did you mean "id"?)`,
			`components/b.toml:10:8: error: vars.f: the app has no action "aa"`,
			`components/b.toml:10:48: error: vars.f: there is no "output" of an action (did you mean "outputs"?)`,
			`components/b.toml:11:6: error: vars.g: the template is not right: unclosed action`,
			`components/b.toml:12:6: error: vars.h: the template is not right: there is no function "sha" (allowed are ` + strings.Join(render.Functions(), ", ") + `)`,
			`components/b.toml:15:4: error: vars.i: the app has no input "sise" (did you mean "size"?)`,
			`components/b.toml:17:8: error: vars.k: there is no "output" of a component (did you mean "outputs"?)`,
			`components/b.toml:18:8: error: vars.l: the app has no secret "bd" (did you mean "db"?)`,
			`components/b.toml:18:56: warning: reads what has no value yet, so that it cannot be rendered: .nuon.install_stack, .nuon.secrets`,
			`components/b.toml:19:14: error: vars.m: this reads all components (name the component that is meant, such as .nuon.components.web.outputs)`,
			`components/b.toml:20:6: error: vars.n: the template is not right: there is no function "nuon" (write .nuon with a leading dot)`,
			"secrets.toml:1:1: warning: accepted, no effect yet: secrets",
		}},
		"the sandbox reads no component": {files{
			"components/b.toml": component("b", ""),
			"sandbox.toml":      "terraform_version = \"1.11.4\"\n[vars]\nx = \"{{.nuon.components.b.outputs.x}}\"\n" + repoBlock,
		}, []string{
			`sandbox.toml:3:8: error: vars.x: the sandbox is made before all components and cannot read component "b" (turn it round: the component can read .nuon.sandbox.outputs)`,
		}},
		"templates in files keep their place": {files{
			"components/b.toml":   component("b", "") + "[[var_file]]\ncontents = \"./v.tfvars\"\n",
			"components/v.tfvars": "a = 1\nb = \"{{.nuon.inputs.inputs.x}}\"\n",
		}, []string{
			`components/v.tfvars:2:8: error: var_file[0].contents: the app has no input "x"`,
		}},
		"versions": {files{
			"metadata.toml":     "version = 'v1'",
			"components/b.toml": strings.Replace(component("b", ""), "1.11.4", "~> 1.11", 1),
		}, []string{
			`components/b.toml:3:21: error: terraform_version must be one exact version, not "~> 1.11" (write it like "1.11.4")`,
			`metadata.toml:1:11: warning: format v1 is read as v2 (write "v2")`,
		}},
		"sources": {files{
			"components/a.toml": strings.Replace(component("a", ""), `"acme/infra"`, `"https://u:hunter2@git.example/x"`, 1),
			"components/b.toml": strings.Replace(component("b", ""), `"modules/x"`, `"../x"`, 1),
			"components/c.toml": strings.Replace(component("c", ""), `"main"`, `"--upload-pack=x"`, 1),
			"components/d.toml": strings.Replace(component("d", ""), `"acme/infra"`, `"."`, 1),
			"components/e.toml": strings.Replace(component("e", ""), `"acme/infra"`, `"ext::sh -c x"`, 1),
			"components/f.toml": strings.Replace(component("f", ""), `branch = "main"`, ``, 1),
			"components/g.toml": "type='terraform_module'\nname='g'\nterraform_version='1.0.0'\n",
			"components/h.toml": component("h", "") + strings.Replace(repoBlock, "public", "connected", 1),
			"components/i.toml": strings.Replace(component("i", ""), `"acme/infra"`, `"git@github.com:a/b.git"`, 1),
			"components/j.toml": strings.Replace(component("j", ""), `"acme/infra"`, `"file:///srv/git/x"`, 1),
		}, []string{
			"components/a.toml:7:8: error: repo contains a user or a password (remove it: access is set up for the org, not in the config)",
			`components/b.toml:8:13: error: directory "../x" is outside of the repository (write a path below the root of the repository, "." for the root itself)`,
			`components/c.toml:9:10: error: "--upload-pack=x" is no name of a branch (name a branch, a tag or a full commit)`,
			`components/d.toml:9:10: warning: the branch has no effect: repo "." is always at the app's own commit (remove it)`,
			`components/e.toml:7:8: error: repo is no address of a repository (write "owner/name", an https:// URL, or "." for the app's own repository)`,
			`components/f.toml:6:2: error: "branch" is missing (name a branch, a tag or a full commit)`,
			`components/g.toml:1:1: error: [public_repo] or [connected_repo] is missing (repo = "." is the app's own repository)`,
			`components/h.toml:11:2: error: both public_repo and connected_repo are given (keep one of them)`,
			`components/i.toml:7:8: error: repo is reached over SSH, which is not supported yet (write its https:// URL)`,
		}},
		"inputs and installs": {files{
			"inputs.toml":     inputsFile + "[[input]]\nname='x'\ndisplay_name='X'\ndescription='d'\ngroup='gg'\ntype='numbr'\n[[input]]\nname='y'\ndisplay_name='Y'\ndescription='d'\ngroup='g'\ntype='json'\ndefault='{'\nsensitive=true\n",
			"installs/a.toml": "name='a'\napproval_option='all'\n[inputs]\nsiz='1'\ntoken='hunter2'\ncount='many'\n",
		}, []string{
			`inputs.toml:31:7: error: there is no input group "gg" (add a [[group]] with that name)`,
			`inputs.toml:32:6: error: there is no input type "numbr" (did you mean "number"?)`,
			`inputs.toml:39:9: error: the default of input "y" is not JSON`,
			`inputs.toml:39:9: warning: input "y" is sensitive, but its default can be read by everyone who can read this file (remove the default and set it per install)`,
			`installs/a.toml:1:6: error: install "a": the required input "size" is missing (add it under [inputs])`,
			`installs/a.toml:2:17: error: there is no approval option "all" (write "prompt" or "approve-all")`,
			`installs/a.toml:4:1: error: the app has no input "siz" (did you mean "size"?)`,
			"installs/a.toml:5:1: warning: input \"token\" is sensitive and is not read from files (remove it here, in git's history too, and set it with `nuon installs`)",
			`installs/a.toml:6:7: error: the value of input "count" is not a number`,
		}},
		"actions": {files{
			"components/web.toml": component("web", ""),
			"actions/a.toml": `name = "a"
timeout = "2h"
break_glass_role = "x"
[[triggers]]
type = "post-component-deploy"
component_name = "wep"
[[triggers]]
type = "pre-deploy-component"
[[triggers]]
type = "cron"
[[triggers]]
type = "manuel"
[[triggers]]
type = "pre-sandbox-run"
[[triggers]]
type = "post-provision"
component_name = "web"
[[steps]]
name = "s"
[[steps]]
name = "s"
command = "x"
inline_contents = "./gone.sh"
[[steps]]
name = "a/b"
command = "x"
`,
		}, []string{
			`actions/a.toml:1:8: error: action "a" has two steps called "s" (rename one of them)`,
			`actions/a.toml:2:11: error: "timeout" must be a duration of at most an hour (write it like "90s", "5m" or "1h")`,
			`actions/a.toml:3:1: warning: accepted, no effect yet: break_glass_role, trigger cron`,
			`actions/a.toml:3:1: warning: break_glass_role is the older name of role (write role)`,
			`actions/a.toml:5:8: warning: triggers[0]: post-component-deploy is the older name (write "post-deploy-component")`,
			`actions/a.toml:6:18: error: the trigger names the component "wep", which does not exist (did you mean "web"?)`,
			`actions/a.toml:8:8: error: triggers[1]: "component_name" is missing: pre-deploy-component is about one component`,
			`actions/a.toml:10:8: error: triggers[2]: "cron_schedule" is missing (for example "0 3 * * *")`,
			`actions/a.toml:12:8: error: triggers[3]: there is no trigger type "manuel" (did you mean "manual"?)`,
			`actions/a.toml:14:8: warning: triggers[4]: pre-sandbox-run was removed from the format and never fires (remove it)`,
			`actions/a.toml:17:18: warning: triggers[5]: component_name has no effect: post-provision is not about one component (remove it)`,
			`actions/a.toml:18:3: error: steps[0]: inline_contents or command is missing`,
			`actions/a.toml:22:11: error: steps[1]: both inline_contents and command are given (keep one of them)`,
			`actions/a.toml:23:19: error: "inline_contents": the file ./gone.sh does not exist (tried actions/gone.sh)`,
			`actions/a.toml:24:3: error: steps[2]: [steps.public_repo] or [steps.connected_repo] is missing (name the repository that holds the program, or use inline_contents)`,
			`actions/a.toml:25:8: error: "a/b" is no name for a step (use anything on one line without slashes)`,
		}},
		"references": {files{
			"metadata.toml":       "version='v2'\nreadme='https://example.com/x'",
			"components/s/a.toml": component("a", "") + "[[var_file]]\ncontents = \"./gone\"\n[[var_file]]\ncontents = \"../../../up\"\n[[var_file]]\ncontents = \"./up\"\n[[var_file]]\ncontents = \"./\"\n[[var_file]]\ncontents = \"./bin\"\n",
			"components/up":       "found by the rule of the section",
			"components/bin":      "\xff",
		}, []string{
			`components/s/a.toml:11:12: error: "contents": the file ./gone does not exist (tried components/s/gone and components/gone)`,
			`components/s/a.toml:13:12: error: "contents": ../../../up is outside of the config directory (move the file into the config directory)`,
			`components/s/a.toml:17:12: error: "contents": components/s cannot be read: it is not a regular file`,
			`components/s/a.toml:19:12: error: "contents": components/bin cannot be read: it is not UTF-8 text`,
			`metadata.toml:2:8: error: "readme": remote file references are not supported yet (put the file beside the config and write ./name)`,
		}},
		"text with NUL": {files{"metadata.toml": "version='v2'\ndescription=\"a\\u0000\"\n"}, []string{
			"metadata.toml:2:13: error: the text contains a NUL character (remove it)",
		}},
		"a sandbox of another engine": {files{"sandbox.toml": "type='pulumi'\nruntime='go'\n" + repoBlock}, []string{
			"sandbox.toml:1:6: warning: accepted, no effect yet: a pulumi sandbox",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			app, found := Load(small().and(test.files).fs(), Options{})
			var got []string
			for _, one := range found {
				got = append(got, one.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("diagnostics:\n%s", diff)
			}
			if (app == nil) != found.HasErrors() || (found.Err() != nil) != found.HasErrors() {
				t.Errorf("app %v, error %v, but HasErrors %v", app, found.Err(), found.HasErrors())
			}
			if strings.Contains(found.String(), "hunter2") {
				t.Error("a password is repeated")
			}
		})
	}
}

func TestNothingThere(t *testing.T) {
	_, found := Load(fstest.MapFS{}, Options{})
	want := "metadata.toml:1:1: error: metadata.toml is missing (every app has one)\n" +
		"sandbox.toml:1:1: error: sandbox.toml is missing (every app has one)"
	if found.String() != want {
		t.Errorf("got\n%v", found)
	}
	if _, found := Load(os.DirFS(filepath.Join(t.TempDir(), "gone")), Options{}); !found.HasErrors() {
		t.Error("a directory that does not exist has no errors")
	}
}

func TestLimits(t *testing.T) {
	many := small()
	for i := range 10 {
		many[fmt.Sprintf("components/c%d.toml", i)] = component(fmt.Sprintf("c%d", i), "")
	}
	deep := small().and(files{"components/" + strings.Repeat("d/", 20) + "x.toml": component("x", "")})
	unknown := small()
	for i := range 300 {
		unknown["metadata.toml"] += fmt.Sprintf("[x%d]\na.b.c=1\n", i)
		unknown[fmt.Sprintf("actions/%d.toml", i)] = strings.Repeat("[[steps]]\nfoo=1\n", 20)
	}
	for name, test := range map[string]struct {
		files  files
		limits Limits
		want   string
	}{
		"large TOML":       {small().and(files{"inputs.toml": "# " + strings.Repeat("x", 2000)}), Limits{TOMLFile: 1000}, "it is larger than 1000 bytes"},
		"large reference":  {small().and(files{"metadata.toml": "version='v2'\nreadme='./r'", "r": strings.Repeat("x", 2000)}), Limits{ReferencedFile: 1000}, "it is larger than 1000 bytes"},
		"all together":     {many, Limits{Total: 500}, "the files of the app are larger than 500 bytes together"},
		"many files":       {many, Limits{Files: 5}, "there are more than 5 TOML files"},
		"many entries":     {many, Limits{Entries: 5}, "there are more than 5 files"},
		"deep directories": {deep, Limits{}, "nested more than 8 levels deep"},
		"deep tables":      {small().and(files{"inputs.toml": strings.Repeat("a.", 40) + "a = 1"}), Limits{}, "tables are nested more than 32 levels deep"},
		"deep lists":       {small().and(files{"inputs.toml": "a = " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)}), Limits{}, "tables are nested more than 32 levels deep"},
		"many diagnostics": {unknown, Limits{}, "more diagnostics (fix these first)"},
	} {
		t.Run(name, func(t *testing.T) {
			app, found := Load(test.files.fs(), Options{Limits: test.limits})
			if app != nil || !strings.Contains(found.String(), test.want) {
				t.Errorf("got %.500s, want %q", found, test.want)
			}
			if len(found) > maxDiagnostics+1 {
				t.Errorf("%d diagnostics", len(found))
			}
		})
	}
}

// Symbolic links could lead out of a checkout. None is followed, wherever it leads.
func TestSymbolicLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, links := range map[string]map[string]string{
		"a referenced file":                {"README.md": outside},
		"a TOML file":                      {"inputs.toml": outside},
		"a component":                      {"components/x.toml": outside},
		"a section":                        {"actions": filepath.Dir(outside)},
		"a directory of a referenced file": {"docs": filepath.Dir(outside)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			config := small().and(files{"components/a.toml": component("a", "")})
			if links["README.md"] != "" {
				config["metadata.toml"] = "version='v2'\nreadme='./README.md'"
			}
			if links["docs"] != "" {
				config["metadata.toml"] = "version='v2'\nreadme='./docs/secret.txt'"
			}
			if err := os.CopyFS(dir, config.fs()); err != nil {
				t.Fatal(err)
			}
			for link, target := range links {
				if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			_, found := Load(os.DirFS(dir), Options{})
			if !strings.Contains(found.String(), "links are not followed") || strings.Contains(found.String(), "hunter2") {
				t.Error(found)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	known := []string{"dependencies", "name", "type", "vars"}
	for mistaken, want := range map[string]string{
		"dependecies": "dependencies", "nmae": "name", "Name": "name", "typ": "type", "zzz": "", "x": "", "": "",
	} {
		got, _ := nearest(mistaken, known)
		if got != want {
			t.Errorf("nearest(%q) = %q, want %q", mistaken, got, want)
		}
	}
}

func TestSourceURL(t *testing.T) {
	for repo, want := range map[string]string{
		"acme/infra": "https://github.com/acme/infra.git", "acme/infra.git": "https://github.com/acme/infra.git",
		"https://git.example/x": "https://git.example/x", "file:///srv/x": "file:///srv/x", ".": "",
	} {
		if got := (Source{Repo: repo}).URL(); got != want {
			t.Errorf("URL of %q = %q, want %q", repo, got, want)
		}
	}
}

func TestTemplatesAndRefs(t *testing.T) {
	c := Component{
		Vars:     map[string]string{"a": "{{.nuon.install.inputs.x}}", "b": "plain"},
		EnvVars:  map[string]string{"E": "{{.nuon.id}}"},
		VarFiles: []string{"{{.nuon.inputs.inputs.x}}", "{{.nuon.components.net.outputs.cidr}}"},
	}
	if got := slices.Sorted(maps.Keys(c.Templates())); !slices.Equal(got, []string{"env_vars.E", "var_file[0].contents", "var_file[1].contents", "vars.a", "vars.b"}) {
		t.Errorf("Templates: %v", got)
	}
	var got []string
	for _, ref := range c.Refs() {
		got = append(got, ref.String())
	}
	if !slices.Equal(got, []string{"components.net.outputs.cidr", "inputs.inputs.x", "install.id"}) {
		t.Errorf("Refs: %v", got)
	}
}
