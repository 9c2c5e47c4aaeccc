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

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

const repoBlock = `
[public_repo]
repo = "acme/infra"
directory = "modules/x"
branch = "main"
`

// files is a config directory; small returns the smallest one that loads.
type files map[string]string

func small() files {
	return files{
		"metadata.toml": "version = \"v2\"\n",
		"sandbox.toml":  "terraform_version = \"1.11.4\"\n" + repoBlock,
	}
}

// and returns the directory with files added or replaced.
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

func moduleFile(name, rest string) string {
	return fmt.Sprintf("type = \"terraform_module\"\nname = %q\nterraform_version = \"1.11.4\"\n%s\n%s", name, rest,
		repoBlock)
}

func action(rest string) string {
	return "name = \"a\"\n" + rest +
		"\n[[triggers]]\ntype = \"manual\"\n[[steps]]\nname = \"s\"\ninline_contents = \"#!/bin/sh\"\n"
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
			Name: "sandbox", Kind: "sandbox", Terraform: &Terraform{Version: "1.11.4"},
			Source: &Source{Repo: "acme/infra", Directory: "modules/x", Branch: "main"},
		},
	}
	if diff := cmp.Diff(want, app); diff != "" {
		t.Error(diff)
	}
}

func TestLoadEverything(t *testing.T) {
	app, found := Load(small().and(files{
		"metadata.toml":  "version='v2'\nreadme='./README.md'\n",
		"README.md":      "# {{ not a template",
		"inputs.toml":    inputsFile,
		"secrets/x.toml": "name = \"db\"\ndescription = \"d\"\ndefault = \"hunter2\"\n",
		"sandbox.tfvars": "tags = {}\n",
		"sandbox.toml": "terraform_version = \"1.11.4\"\nmax_auto_retries = 2\n[public_repo]\nrepo='.'\n" +
			"directory='./sand//box'\n[[var_file]]\ncontents='./sandbox.tfvars'\n",
		"components/sub/2.toml": moduleFile("web", `dependencies = ["b", "a"]`) +
			"[vars]\nn = 1\nb = true\nurl = \"{{.nuon.components.net.outputs.url}}\"\n[[var_file]]\ncontents = \"\"\"\nx = 1\n" +
			"\"\"\"\n",
		"components/1.toml": moduleFile("net", ""),
		"components/a.toml": moduleFile("a", ""),
		"components/b.toml": moduleFile("b", ""),
		"actions/run.toml": "name='go'\ntimeout='90s'\n[[triggers]]\ntype='manual'\n[[triggers]]\n" +
			"type='post-deploy-component'\ncomponent_name='web'\n[[steps]]\nname='one'\ninline_contents='../scripts/x.sh'\n" +
			"[steps.env_vars]\nX='{{.nuon.components.web.outputs.url}}'\n[[steps]]\nname='two'\ncommand='run me'\n" +
			"[steps.connected_repo]\nrepo='https://git.example/x'\ndirectory='.'\nbranch='v1'\n",
		"scripts/x.sh":         "#!/bin/sh\necho {{.nuon.inputs.inputs.size}}\n",
		"installs/acme.toml":   "name='acme'\n[[inputs]]\nsize='1'\n[[inputs]]\ncount=5\n",
		"installs/globex.toml": "name='globex'\napproval_option='auto'\nallow_destroy=true\n[inputs]\nsize='2'\n",
	}).fs(), Options{})
	if app == nil {
		t.Fatal(found)
	}
	three := "3"
	want := &App{
		Metadata: Metadata{Version: "v2", Readme: "# {{ not a template"},
		Sandbox: &Component{
			Name: "sandbox", Kind: "sandbox", MaxAutoRetries: 2,
			Source: &Source{Repo: ".", Directory: "sand/box"}, Terraform: &Terraform{Version: "1.11.4",
				VarFiles: []string{"tags = {}\n"}},
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
				{Name: "one", InlineContents: "#!/bin/sh\necho {{.nuon.inputs.inputs.size}}\n",
					EnvVars: map[string]string{"X": "{{.nuon.components.web.outputs.url}}"}},
				{Name: "two", Command: "run me", Source: &Source{Repo: "https://git.example/x", Directory: ".", Branch: "v1",
					Connected: true}},
			},
		}},
		Secrets: []Secret{{Name: "db", Description: "d"}},
		Installs: []Install{
			{Name: "acme", ApprovalOption: "prompt", Inputs: map[string]string{"size": "1", "count": "5"}},
			{Name: "globex", ApprovalOption: "approve-all", AllowDestroy: true, Inputs: map[string]string{"size": "2"}},
		},
	}
	want.Components[3].Dependencies = []string{"a", "b"}
	want.Components[3].Terraform.Vars = map[string]string{"n": "1", "b": "true",
		"url": "{{.nuon.components.net.outputs.url}}"}
	want.Components[3].Terraform.VarFiles = []string{"x = 1\n"}
	if diff := cmp.Diff(want, app); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`installs/globex.toml:2:17: warning: "approval_option": auto is the older name of approve-all (write "approve-all")`,
		"metadata.toml:2:1: warning: accepted, no effect yet: readme",
		`secrets/x.toml:3:1: warning: the default of secret "db" has no effect: what everyone can read in a file is no secret (remove it and let the customer give the value, or write auto_generate = true)`,
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
		Name: name, Kind: KindTerraformModule, BuildTimeout: "5m", Terraform: &Terraform{Version: "1.11.4"},
		Source: &Source{Repo: "acme/infra", Directory: "modules/x", Branch: "main"},
	}
}

// TestDiagnostics adds files to a valid config. testdata/diagnostics.txtar has the expected
// diagnostics.
func TestDiagnostics(t *testing.T) {
	told := goldensOf(t, "testdata/diagnostics.txtar")
	for name, added := range map[string]files{
		"broken TOML": {"inputs.toml": "[[group]]\nname = \n"},
		"a key twice": {"metadata.toml": "version='v2'\nversion='v2'\n"},
		"unknown keys at their place, all at once": {
			"metadata.toml":     "versoin = \"v2\"\n\n[onboardin]\nx = 1\n",
			"components/a.toml": moduleFile("a", "dependecies = []\nzzzzzzzz = 1"),
		},
		"wrong shapes": {"components/a.toml": moduleFile("a", "dependencies = \"b\"\nmax_auto_retries = \"many\"\n[vars]\n"+
			"l = [1]\n[env_vars]\n\"A B\" = 1979-05-27\n")},
		"unknown files": {"metdata.toml": "", "Cargo.toml": "", "src/x.toml": "", ".hidden.toml": "", "component.txt": "",
			"nuon.app.toml": ""},
		"both forms": {"secrets.toml": "[[secret]]\nname = 'b'\ndescription = 'b'", "secrets/a.toml": "name = 'a'"},
		"unknown component types": {
			"components/a.toml": "name='a'\ntype='terraform_modul'",
			"components/b.toml": "name='b'\ntype='job'\nimage_url='x'",
			"components/c.toml": "name='c'\ntype='x'",
			"components/d.toml": "# nothing",
		},
		"no effect yet is said once a file": {
			"components/a.toml": moduleFile("a", "skip_noops = true\ndrift_schedule = '* * * * *'"),
			"components/b.toml": "type='helm_chart'\nname='b'\nchart_name='b'\nskip_noops=true\n" + repoBlock,
			"runner.toml":       "runner_type='aws'\n",
			"stack.toml":        "name='n'\ndescription='d'\n",
			"policies.toml":     "",
			"break_glass.toml":  "[[role]]\nname='x'\ndescription='d'\n[[role.policies]]\nmanaged_policy_name='y'\n",
		},
		"stray keys": {
			"actions/a.toml": action("") + "enable_kube_config=true\n",
			"inputs.toml":    "[[group]]\nname='g'\ndescription='d'\ngroup='g'\n",
		},
		"names": {
			"components/a.toml": moduleFile("a-b", ""), "components/b.toml": moduleFile("sandbox", ""),
			"components/c.toml": moduleFile("..", ""), "components/d.toml": moduleFile(strings.Repeat("a", 101), ""),
		},
		"duplicates": {"components/a.toml": moduleFile("a", ""), "components/b.toml": moduleFile("a", "")},
		"dependencies": {
			"components/a.toml":   moduleFile("a", `dependencies = ["bb", "sandbox", "bbb", "bbb"]`),
			"components/bbb.toml": "type='kubernetes_manifest'\nname='bbb'\nnamespace='x'\n",
		},
		"a cycle is printed as the path that closes it": {
			"components/a.toml": moduleFile("a", `dependencies = ["b"]`),
			"components/b.toml": moduleFile("b", "[vars]\nx = \"{{.nuon.components.c.outputs.x}}\""),
			"components/c.toml": moduleFile("c", `dependencies = ["a"]`),
			"components/d.toml": moduleFile("d", "[vars]\nx = \"{{.nuon.components.d.outputs.x}}\""),
		},
		"a component that reads what its own deploy sets off": {
			"components/a.toml": moduleFile("a", "[vars]\nx = \"{{.nuon.actions.workflows.a.outputs.x}}\""),
			"components/b.toml": moduleFile("b", "dependencies = [\"c\"]\n[vars]\nx = "+
				"\"{{.nuon.actions.workflows.d.outputs.x}}{{.nuon.actions.workflows.d.outputs.y}}\""),
			"components/c.toml": moduleFile("c", "[vars]\nx = \"{{.nuon.actions.workflows.d.outputs.x}}\""),
			"components/d.toml": moduleFile("d", "[vars]\nx = \"{{.nuon.actions.workflows.e.outputs.x}}\""),
			"actions/a.toml":    action("") + "[[triggers]]\ntype = \"post-deploy-component\"\ncomponent_name = \"a\"\n",
			"components/e.toml": moduleFile("e", "[vars]\nx = \"{{.nuon.actions.workflows.f.outputs.x}}\""),
			"actions/f.toml": strings.Replace(action(""), `"a"`, `"f"`, 1) + "[[triggers]]\ntype = " +
				"\"post-deploy-all-components\"\n",
			"actions/d.toml": strings.Replace(action(""), `"a"`, `"d"`, 1) + "[[triggers]]\ntype = \"pre-deploy-component\"\n" +
				"component_name = \"b\"\n",
			"actions/e.toml": strings.Replace(action(""), `"a"`, `"e"`, 1) + "[[triggers]]\ntype = \"post-deploy-component\"\n" +
				"component_name = \"a\"\n",
		},
		"templates": {
			"inputs.toml":    inputsFile,
			"secrets.toml":   "[[secret]]\nname='db'\n",
			"actions/a.toml": action(""),
			"components/b.toml": moduleFile("b", `[vars]
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
		},
		"the sandbox reads no component": {
			"components/b.toml": moduleFile("b", ""),
			"sandbox.toml": "terraform_version = \"1.11.4\"\n[vars]\nx = \"{{.nuon.components.b.outputs.x}}\"\n" +
				repoBlock,
		},
		"templates in files keep their place": {
			"components/b.toml":   moduleFile("b", "") + "[[var_file]]\ncontents = \"./v.tfvars\"\n",
			"components/v.tfvars": "a = 1\nb = \"{{.nuon.inputs.inputs.x}}\"\n",
		},
		"versions": {
			"metadata.toml":     "version = 'v1'",
			"components/b.toml": strings.Replace(moduleFile("b", ""), "1.11.4", "~> 1.11", 1),
		},
		"sources": {
			"components/a.toml": strings.Replace(moduleFile("a", ""), `"acme/infra"`, `"https://u:hunter2@git.example/x"`, 1),
			"components/b.toml": strings.Replace(moduleFile("b", ""), `"modules/x"`, `"../x"`, 1),
			"components/c.toml": strings.Replace(moduleFile("c", ""), `"main"`, `"--upload-pack=x"`, 1),
			"components/d.toml": strings.Replace(moduleFile("d", ""), `"acme/infra"`, `"."`, 1),
			"components/e.toml": strings.Replace(moduleFile("e", ""), `"acme/infra"`, `"ext::sh -c x"`, 1),
			"components/f.toml": strings.Replace(moduleFile("f", ""), `branch = "main"`, ``, 1),
			"components/g.toml": "type='terraform_module'\nname='g'\nterraform_version='1.0.0'\n",
			"components/h.toml": moduleFile("h", "") + strings.Replace(repoBlock, "public", "connected", 1),
			"components/i.toml": strings.Replace(moduleFile("i", ""), `"acme/infra"`, `"git@github.com:a/b.git"`, 1),
			"components/j.toml": strings.Replace(moduleFile("j", ""), `"acme/infra"`, `"file:///srv/git/x"`, 1),
		},
		"inputs and installs": {
			"inputs.toml": inputsFile + "[[input]]\nname='x'\ndisplay_name='X'\ndescription='d'\ngroup='gg'\n" +
				"type='numbr'\n[[input]]\nname='y'\ndisplay_name='Y'\ndescription='d'\ngroup='g'\ntype='json'\ndefault='{'\n" +
				"sensitive=true\n",
			"installs/a.toml": "name='a'\napproval_option='all'\n[inputs]\nsiz='1'\ntoken='hunter2'\ncount='many'\n",
		},
		"actions": {
			"components/web.toml": moduleFile("web", ""),
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
		},
		"references": {
			"metadata.toml": "version='v2'\nreadme='https://example.com/x'",
			"components/s/a.toml": moduleFile("a", "") + "[[var_file]]\ncontents = \"./gone\"\n[[var_file]]\ncontents = " +
				"\"../../../up\"\n[[var_file]]\ncontents = \"./up\"\n[[var_file]]\ncontents = \"./\"\n[[var_file]]\ncontents = " +
				"\"./bin\"\n",
			"components/up":  "found by the rule of the section",
			"components/bin": "\xff",
		},
		"text with NUL":               {"metadata.toml": "version='v2'\ndescription=\"a\\u0000\"\n"},
		"a sandbox of another engine": {"sandbox.toml": "type='pulumi'\nruntime='go'\n" + repoBlock},
	} {
		t.Run(name, func(t *testing.T) {
			app, found := Load(small().and(added).fs(), Options{})
			told.check(t, name, found)
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
	want := ".:1:1: error: this is not a config directory: it has no metadata.toml (name another directory, or write " +
		"one with `nuon init`)"
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
		many[fmt.Sprintf("components/c%d.toml", i)] = moduleFile(fmt.Sprintf("c%d", i), "")
	}
	deep := small().and(files{"components/" + strings.Repeat("d/", 20) + "x.toml": moduleFile("x", "")})
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
		"large TOML": {small().and(files{"inputs.toml": "# " + strings.Repeat("x", 2000)}), Limits{TOMLFile: 1000},
			"it is larger than 1000 bytes"},
		"large reference": {small().and(files{"metadata.toml": "version='v2'\nreadme='./r'",
			"r": strings.Repeat("x", 2000)}), Limits{ReferencedFile: 1000}, "it is larger than 1000 bytes"},
		"all together":     {many, Limits{Total: 500}, "the files of the app are larger than 500 bytes together"},
		"many files":       {many, Limits{Files: 5}, "there are more than 5 TOML files"},
		"many entries":     {many, Limits{Entries: 5}, "there are more than 5 files"},
		"deep directories": {deep, Limits{}, "nested more than 8 levels deep"},
		"deep tables": {small().and(files{"inputs.toml": strings.Repeat("a.", 40) + "a = 1"}), Limits{},
			"tables are nested more than 32 levels deep"},
		"deep lists": {small().and(files{"inputs.toml": "a = " + strings.Repeat("[", 5000) +
			strings.Repeat("]", 5000)}), Limits{}, "tables are nested more than 32 levels deep"},
		"many diagnostics": {unknown, Limits{}, "there are more diagnostics than these (fix these first)"},
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

// TestLinksOut: links that leave the repository, or lead in a circle, are errors that show nothing of what they
// lead to.
func TestLinksOut(t *testing.T) {
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
		"a relative way out":               {"inputs.toml": "../../x"},
		"a way through git's own files":    {"inputs.toml": ".git/config"},
		"a circle":                         {"inputs.toml": "b", "b": "inputs.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			config := small().and(files{"components/a.toml": moduleFile("a", "")})
			if links["README.md"] != "" {
				config["metadata.toml"] = "version='v2'\nreadme='./README.md'"
			}
			if links["docs"] != "" {
				config["metadata.toml"] = "version='v2'\nreadme='./docs/secret.txt'"
			}
			writeLinked(t, dir, config, links)
			_, found := Load(os.DirFS(dir), Options{})
			if !strings.Contains(found.String(), "link") || !found.HasErrors() || strings.Contains(found.String(), "hunter2") {
				t.Error(found)
			}
			_, found = Load(os.DirFS(dir), Options{Root: os.DirFS(dir), Directory: "."})
			if !found.HasErrors() || strings.Contains(found.String(), "hunter2") {
				t.Errorf("in a repository: %v", found)
			}
		})
	}
}

// TestLinksInside follows the links that stay in the repository, out of the config directory too, and gives the app
// that copies in their place would give.
func TestLinksInside(t *testing.T) {
	repository := t.TempDir()
	shared := files{"shared/inputs.toml": "[[group]]\nname='g'\ndescription='d'\n",
		"shared/components/b.toml": moduleFile("b",
			""), "shared/read.md": "# Hello"}
	config := small().and(files{"components/a.toml": moduleFile("a", ""),
		"metadata.toml": "version='v2'\nreadme='./docs/read.md'"})
	copies := config.and(files{"inputs.toml": shared["shared/inputs.toml"], "components/more/b.toml": moduleFile("b", ""),
		"docs/read.md": "# Hello"})
	want, found := Load(copies.fs(), Options{})
	if want == nil {
		t.Fatal(found)
	}
	if err := os.CopyFS(repository, shared.fs()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(repository, "apps", "x")
	writeLinked(t, dir, config, map[string]string{"inputs.toml": "../inputs.toml",
		"components/more": "../../../shared/components",
		"docs":            "../../shared"})
	if err := os.Symlink("../shared/inputs.toml", filepath.Join(repository, "apps", "inputs.toml")); err != nil {
		t.Fatal(err)
	}
	got, found := Load(os.DirFS(dir), Options{Root: os.DirFS(repository), Directory: "apps/x"})
	if got == nil {
		t.Fatal(found)
	}
	if got.Digest() != want.Digest() {
		t.Error("the app is another one than with copies in place of the links")
	}
	if _, found = Load(os.DirFS(dir), Options{}); !strings.Contains(found.String(), "out of the config directory") {
		t.Errorf("without its repository: %v", found)
	}
}

// writeLinked writes a config and symbolic links.
func writeLinked(t *testing.T, dir string, config files, links map[string]string) {
	t.Helper()
	if err := os.CopyFS(dir, config.fs()); err != nil {
		t.Fatal(err)
	}
	for link, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"dependencies", "name", "type", "vars"}
	for mistaken, want := range map[string]string{
		"dependecies": "dependencies", "nmae": "name", "Name": "name", "typ": "type", "zzz": "", "x": "", "": "",
	} {
		got, _ := diagnostic.Nearest(mistaken, known)
		if got != want {
			t.Errorf("diagnostic.Nearest(%q) = %q, want %q", mistaken, got, want)
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
		EnvVars: map[string]string{"E": "{{.nuon.id}}"},
		Terraform: &Terraform{
			Vars:     map[string]string{"a": "{{.nuon.install.inputs.x}}", "b": "plain"},
			VarFiles: []string{"{{.nuon.inputs.inputs.x}}", "{{.nuon.components.net.outputs.cidr}}"},
		},
	}
	if got := slices.Sorted(maps.Keys(c.Templates())); !slices.Equal(got, []string{"env_vars.E", "var_file[0].contents",
		"var_file[1].contents", "vars.a", "vars.b"}) {
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
