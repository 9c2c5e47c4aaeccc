package tfmodule

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

func files(pairs ...string) fstest.MapFS {
	made := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		made[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1]), Mode: 0o644}
	}
	return made
}

func TestRead(t *testing.T) {
	tree := files(
		"modules/web/main.tf",
		"module \"shared\" {\n  source = \"../shared\"\n}\n\nmodule \"part\" {\n  source = \"./part\"\n}\nresource "+
			"\"random_pet\" \"a\" {}\n",
		"modules/web/state.tf", "terraform {\n  backend \"s3\" {\n    bucket = \"x\"\n  }\n}\n",
		"modules/web/part/main.tf", "module \"again\" {\n  source = \"../../shared\"\n}\n",
		"modules/web/scripts/run.sh", "#!/bin/sh\n",
		"modules/shared/main.tf.json",
		`{"module": {"vpc": {"source": "terraform-aws-modules/vpc/aws", "version": "5.0.0"}}}`,
		"modules/shared/versions.tf",
		"terraform {\n  required_providers {\n    time = {\n      source = \"hashicorp/time\"\n      version = \"~> "+
			"0.14\"\n    }\n  }\n}\n",
		"modules/other/main.tf", "resource \"terraform_data\" \"x\" {}\n",
	)
	got, err := Read(tree, "modules/web")
	if err != nil {
		t.Fatal(err)
	}
	want := &Module{
		Dir:  "modules/web",
		Dirs: []string{"modules/shared", "modules/web"},
		Remote: []RemoteSource{{
			Module: "vpc", Source: "terraform-aws-modules/vpc/aws", Version: "5.0.0",
			Position: Position{File: "modules/shared/main.tf.json", Line: 1},
		}},
		Providers: []Provider{
			{Name: "time", Source: "hashicorp/time", Constraints: []string{"~> 0.14"}, Dir: "modules/shared"},
			{Name: "random", Dir: "modules/web"},
		},
		Backend: &Backend{Kind: "s3", Position: Position{File: "modules/web/state.tf", Line: 2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	call := func(source string) string { return "\nmodule \"x\" {\n  source = \"" + source + "\"\n}\n" }
	tests := map[string]struct {
		tree fstest.MapFS
		dir  string
		want string
	}{
		"directory outside":  {files("a.tf", ""), "../x", "leads out of the repository"},
		"absolute directory": {files("a.tf", ""), "/etc", "leads out of the repository"},
		"no such directory":  {files("m/a.tf", ""), "n", "there is no directory n in the repository"},
		"file as directory":  {files("m/a.tf", ""), "m/a.tf", "is not a directory"},
		"no configuration":   {files("m/readme", "", "m/x/a.tf", ""), "m", "there are no .tf files in m"},
		"call that escapes": {files("m/a.tf", call("../../../x")), "m",
			`m/a.tf:2: module "x" calls "../../../x", which leads out of the repository`},
		"call of nothing": {files("m/a.tf", call("../n")), "m", `m/a.tf:2: module "x": there is no directory n`},
		"call of an empty one": {files("m/a.tf", call("../n"), "n/b", ""), "m",
			`m/a.tf:2: module "x": there are no .tf files in n`},
		"call with backslashes": {files("m/a.tf", call(`..\\n`)), "m", "leads out of the repository"},
		"call without source":   {files("m/a.tf", "module \"x\" {}\n"), "m", `m/a.tf:1: module "x" has no source`},
		"syntax":                {files("m/a.tf", "\n\nresource {\n"), "m", "m/a.tf:3: "},
		"broken JSON":           {files("m/a.tf.json", "{\n\"a\": }"), "m", "m/a.tf.json:2: this is not JSON"},
		"too large":             {files("m/a.tf", strings.Repeat("#", maxFileBytes+1)), "m", "split it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(test.tree, test.dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestCloudIsABackend(t *testing.T) {
	module, err := Read(files("a.tf", "terraform {\n  cloud {}\n}\n", "b.tf.json", `{"locals": {"a": 1}}`), ".")
	if err != nil || module.Backend == nil || module.Backend.Kind != "cloud" {
		t.Fatal(module, err)
	}
}

func TestCirclesEnd(t *testing.T) {
	tree := files(
		"a/main.tf", "module \"b\" {\n  source = \"../b\"\n}\n",
		"b/main.tf", "module \"a\" {\n  source = \"../a\"\n}\n",
	)
	dirs, _, err := Closure(tree, "a")
	if diff := cmp.Diff([]string{"a", "b"}, dirs); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

func TestRootOfTheTree(t *testing.T) {
	dirs, _, err := Closure(files("main.tf", "module \"x\" {\n  source = \"./x\"\n}\n", "x/a.tf", ""), ".")
	if diff := cmp.Diff([]string{"."}, dirs); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

// TestLinks uses a real disk, where os.DirFS alone would follow any link.
func TestLinks(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret.tf"), "variable \"planted\" {}\n")
	tests := map[string]struct {
		links map[string]string // link -> target
		want  []string
		wrong string
	}{
		"to a file beside": {links: map[string]string{"m/b.tf": "../common/b.tf"},
			want: []string{"common", "m"}},
		"to a directory": {links: map[string]string{"m/scripts": "../common/deep"},
			want: []string{"common/deep", "m"}},
		"inside the module": {links: map[string]string{"m/b.tf": "a.tf.txt"}, want: []string{"m"}},
		"that dangles":      {links: map[string]string{"m/b.txt": "../nowhere/b.txt"}, want: []string{"m"}},
		"absolute": {links: map[string]string{"m/b.tf": filepath.Join(outside, "secret.tf")},
			wrong: "m/b.tf leads out of the repository"},
		"out by dots": {links: map[string]string{"m/b.tf": "../../secret.tf"},
			wrong: "m/b.tf leads out of the repository"},
		"out by a second link": {links: map[string]string{"door": outside, "m/b.tf": "../door/secret.tf"},
			wrong: "leads through another one, door"},
		"as the module directory": {links: map[string]string{"m/x": "../common", "m/x.tf": "x/call.tf.txt"},
			wrong: "leads through another one"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := linked(t, map[string]string{"m/a.tf": "variable \"a\" {}\n", "m/a.tf.txt": "variable \"b\" {}\n",
				"common/b.tf": "variable \"c\" {}\n", "common/deep/run.sh": ""}, test.links)
			dirs, _, err := Closure(os.DirFS(root), "m")
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Fatalf("got %v %v, want %s", dirs, err, test.wrong)
				}
				return
			}
			if diff := cmp.Diff(test.want, dirs); diff != "" || err != nil {
				t.Fatal(diff, err)
			}
		})
	}
}

// linked returns a new directory with files and, by the name of each, the targets of symbolic links.
func linked(t *testing.T, files, links map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(root, name), text)
	}
	for link, target := range links {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLinkedModuleDirectory(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "real/a.tf"), "")
	write(t, filepath.Join(root, "m/a.tf"), "module \"x\" {\n  source = \"../alias\"\n}\n")
	if err := os.Symlink("real", filepath.Join(root, "alias")); err != nil {
		t.Fatal(err)
	}
	_, _, err := Closure(os.DirFS(root), "m")
	if err == nil || !strings.Contains(err.Error(), "m/a.tf:1") ||
		!strings.Contains(err.Error(), "symbolic link alias") {
		t.Fatal(err)
	}
}

// TestOutside checks that an artifact of the module contains what Outside does not filter out.
func TestOutside(t *testing.T) {
	tree := files(
		"top.txt", "", "modules/readme", "",
		"modules/web/main.tf", "", "modules/web/.terraform.lock.hcl", "", "modules/web/.terraform/modules/x", "",
		"modules/web/terraform.tfstate", "", "modules/web/terraform.tfstate.backup", "", "modules/web/sub/run.sh", "",
		"modules/web/.git/config", "", "modules/webby/main.tf", "", "modules/shared/main.tf", "",
	)
	read, err := artifact.ReadFS(tree, artifact.ReadOptions{Skip: Outside([]string{"modules/shared", "modules/web"})})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range read {
		got = append(got, file.Path)
	}
	want := []string{"modules/shared/main.tf", "modules/web/.terraform.lock.hcl", "modules/web/main.tf",
		"modules/web/sub/run.sh"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("module \"x\" {\n  source = \"../x\"\n}\n", "{}")
	f.Add("variable \"a\" {\n default = [1, {b = \"${c}\"}]\n}\n", `{"module": {"a": {"source": "./b"}}}`)
	f.Add("terraform {\n  required_providers {\n    a = { source = \"b/c\", version = var.v }\n  }\n}\n", `[1]`)
	f.Fuzz(func(t *testing.T, native, json string) {
		module, err := Read(files("m/a.tf", native, "m/b.tf.json", json), "m")
		if err != nil {
			return
		}
		for _, dir := range module.Dirs {
			if !fs.ValidPath(dir) {
				t.Fatalf("directory %q leads out", dir)
			}
		}
	})
}

// TestVariables checks the interface of the root module: its variables, with the changes of
// override files, its outputs, and the variables that Terraform assigns automatically.
func TestVariables(t *testing.T) {
	tree := files(
		"m/a.tf",
		"variable \"zone\" {\n  type = list(string)\n  description = \"Where\"\n}\nvariable \"kept\" { default = null }\n"+
			"module \"b\" { source = \"../b\" }\n",
		"m/b.tf", "variable \"key\" {\n  type = string\n  sensitive = true\n}\noutput \"url\" { value = 1 }\n",
		"m/c.tf.json", `{"variable": {"size": {"type": "number"}}, "output": {"name": {"value": "x"}}}`,
		"m/a_override.tf", "variable \"kept\" { description = \"Mine\" }\nmodule \"b\" { count = 2 }\n",
		"m/override.tf.json", `{"variable": {"size": {"default": 2}}}`,
		"m/terraform.tfvars", "key = \"k\"\n", "m/more.auto.tfvars.json", `{"zone": []}`,
		"m/others.tfvars", "size = 3\n",
		"b/b.tf", "variable \"inner\" {}\noutput \"deep\" { value = 1 }\n",
	)
	got, err := Read(tree, "m")
	if err != nil {
		t.Fatal(err)
	}
	want := []Variable{
		{Name: "kept", Description: "Mine", Position: Position{"m/a.tf", 5}},
		{Name: "key", Type: "string", Required: true, Sensitive: true, Position: Position{"m/b.tf", 1}},
		{Name: "size", Type: "number", Position: Position{"m/c.tf.json", 1}},
		{Name: "zone", Type: "list(string)", Description: "Where", Required: true, Position: Position{"m/a.tf", 1}},
	}
	if diff := cmp.Diff(want, got.Variables); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"name", "url"}, {"key", "zone"}, {"b", "m"}},
		[][]string{got.Outputs, got.Assigned, got.Dirs}); diff != "" {
		t.Error(diff)
	}
}

// TestAssignments covers both languages of tfvars files and invalid files, none of which may end
// the process.
func TestAssignments(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "[]",
		"a = 1\n  b = {\n  x = 1\n}\n":        "[{a 1 1} {b 2 3}]",
		"{\"a\": 1,\n \"b\": [2]}":            "[{a 1 2} {b 2 2}]",
		"a = ":                                "v.tfvars:1: ",
		"a {\n}\n":                            "v.tfvars:1: ",
		"{\"a\":":                             "v.tfvars.json:1: ",
		"a = " + strings.Repeat("[", 100_000): "v.tfvars:1: brackets are nested",
		"a = " + strings.Repeat("!", 100_000): "v.tfvars:1: more than",
		"# " + strings.Repeat("x", 1<<20):     "v.tfvars has more than",
	} {
		got, err := Assignments("v.tfvars", []byte(text))
		said := fmt.Sprint(got)
		if err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, want) {
			t.Errorf("%.40q gives %s, want %s", text, said, want)
		}
	}
}
