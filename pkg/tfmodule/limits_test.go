package tfmodule

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// chainOfModules returns a tree in which m0 calls m1, m1 calls m2, and so on.
func chainOfModules(n int) fstest.MapFS {
	tree := fstest.MapFS{}
	for i := range n {
		content := ""
		if i+1 < n {
			content = fmt.Sprintf("\nmodule \"next\" {\n  source = \"../m%d\"\n}\n", i+1)
		}
		tree[fmt.Sprintf("m%d/main.tf", i)] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}

// TestReadLimits checks that what is at a limit is read, and that what is beyond it is refused, with the place and
// the remedy.
func TestReadLimits(t *testing.T) {
	manyFiles := func(n int, name string) fstest.MapFS {
		tree := files("m/a.tf", "")
		for i := range n {
			tree["m/"+fmt.Sprintf(name, i)] = &fstest.MapFile{}
		}
		return tree
	}
	for name, test := range map[string]struct {
		tree fstest.MapFS
		dir  string
		want string // empty if it is read
	}{
		"modules": {chainOfModules(maxModules), "m0", ""},
		"one module more": {chainOfModules(maxModules + 1), "m0",
			`m499/main.tf:2: module "next": more than 500 modules are called; split the component`},
		".tf files": {manyFiles(maxConfigFiles-1, "b%d.tf"), "m", ""},
		"one .tf file more": {manyFiles(maxConfigFiles, "b%d.tf"), "m",
			"m holds more than 2000 .tf files; split the module"},
		"one override file more": {manyFiles(maxConfigFiles, "b%d_override.tf.json"), "m",
			"m holds more than 2000 .tf files; split the module"},
		".tfvars files": {manyFiles(maxConfigFiles, "b%d.auto.tfvars"), "m", ""},
		"one .tfvars file more": {manyFiles(maxConfigFiles+1, "b%d.auto.tfvars"), "m",
			"m holds more than 2000 .tfvars files; split the module"},
		"bytes of a file": {files("m/a.tf", strings.Repeat("#", maxFileBytes)), "m", ""},
		"one byte more": {files("m/a.tf", strings.Repeat("#", maxFileBytes+1)), "m",
			"m/a.tf has more than 1048576 bytes; split it"},
		"prefixes": {files("m/a.tf", "locals {\n  a = "+strings.Repeat("!", maxPrefixes)+"true\n}\n"), "m", ""},
		"one prefix more": {files("m/a.tf", "locals {\n  a = "+strings.Repeat("!", maxPrefixes+1)+"true\n}\n"), "m",
			"m/a.tf:2: more than 100 operators follow each other; make it simpler"},
		"one prefix more, in two lines": {
			files("m/a.tf", "locals {\n  a = ("+strings.Repeat("!", maxPrefixes)+"\n!true)\n}\n"), "m",
			"m/a.tf:3: more than 100 operators follow each other; make it simpler"},
		"prefixes of two values": {files("m/a.tf", "locals {\n  a = "+strings.Repeat("!", maxPrefixes)+"true\n  b = "+
			strings.Repeat("!", maxPrefixes)+"true\n}\n"), "m", ""},
		"brackets in JSON": {files("m/a.tf.json", `{"locals":{"a":`+strings.Repeat("[", maxNesting-2)+
			strings.Repeat("]", maxNesting-2)+"}}"), "m", ""},
		"one bracket more in JSON": {files("m/a.tf.json", "{\"locals\":{\n\"a\":"+strings.Repeat("[", maxNesting-1)+
			strings.Repeat("]", maxNesting-1)+"}}"), "m",
			"m/a.tf.json:2: brackets are nested more than 200 deep; make it simpler"},
		"brackets beside each other in JSON": {files("m/a.tf.json", `{"locals":{"a":[`+strings.Repeat("[],", 2*maxNesting)+
			"[]]}}"), "m", ""},
		"brackets beside each other": {files("m/a.tf", "locals {\n  a = ["+strings.Repeat("[], ", 2*maxNesting)+"]\n}\n"),
			"m", ""},
		"operators in several strings": {files("m/a.tf.json", `{"locals":{"a":["${`+strings.Repeat("1+", maxOperators/2)+
			`1}","${`+strings.Repeat("1+", maxOperators/2)+`1}", "${1+1}"]}}`), "m",
			"m/a.tf.json:1: more than 50000 operators and brackets are in this file; split it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(test.tree, test.dir)
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("got %.300v\nwant %s", err, test.want)
			}
		})
	}
}

// TestParseErrors checks the whole text of what is said of files that cannot be read.
func TestParseErrors(t *testing.T) {
	for name, test := range map[string]struct{ file, content, want string }{
		"several problems": {"a.tf", "variable \"a\" {\n  type = \n}\nvariable {}\noutput {}\n",
			"m/a.tf:2: Invalid expression: Expected the start of an expression, but found an invalid expression token"},
		"of the configuration": {"a.tf", "resource \"x\" {}\nvariable {}\n",
			"m/a.tf:1: Missing name for resource: All resource blocks must have 2 labels (type, name) (and 1 more)"},
		"a variable twice in JSON": {"a.tf.json", `{"variable": {"a": {}}, "variable": 1}`, "m/a.tf.json:1: "},
		"JSON that ends": {"a.tf.json", "{\"a\":\n{",
			"m/a.tf.json:2: Missing value: The JSON data ends prematurely"},
		"JSON with more behind":    {"a.tf.json", "{}\n{}", "m/a.tf.json:2: Extraneous data after value"},
		"JSON with a comment":      {"a.tf.json", "{\n// x\n}", "m/a.tf.json:2: this is not JSON: invalid character '/'"},
		"a source that is no text": {"a.tf", "module \"x\" {\n  source = [\"./y\"]\n}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(files("m/"+test.file, test.content), "m")
			if test.want == "" {
				return // it must not panic
			}
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestFilesOfAModule checks which files of a directory Terraform reads as configuration and as values.
func TestFilesOfAModule(t *testing.T) {
	variable := func(name string) string { return fmt.Sprintf("variable %q {}\n", name) }
	module, err := Read(files(
		"m/main.tf", variable("a"), "m/b.tf.json", `{"variable": {"b": {}}}`,
		"m/.hidden.tf", variable("hidden"), "m/c.tf.bak", variable("backup"), "m/tf", variable("no_dot"),
		"m/d.json", `{"variable": {"json": {}}}`, "m/sub.tf/main.tf", variable("below"), "m/e.tfvars", "not_loaded = 1\n",
		"m/terraform.tfvars", "a = 1\n", "m/terraform.tfvars.json", `{"j": 1}`, "m/x.auto.tfvars", "x = 1\na = 2\n",
		"m/y.auto.tfvars.json", `{"y": {"not": "a variable"}}`, "m/my.terraform.tfvars", "no = 1\n",
		"m/dir.auto.tfvars/a.tf", "", "m/z.auto.tfvars.bak", "no = 1\n",
	), "m")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range module.Variables {
		names = append(names, v.Name)
	}
	if diff := cmp.Diff([][]string{{"a", "b"}, {"a", "j", "x", "y"}}, [][]string{names, module.Assigned}); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(files("m/a.tf", "", "m/terraform.tfvars", "\na = [\n"), "m"); err == nil ||
		!strings.HasPrefix(err.Error(), "m/terraform.tfvars:3: ") {
		t.Errorf("a broken file of values: %v", err)
	}
}

// TestOverrides checks what a block of an override file leaves of the block that it overrides.
func TestOverrides(t *testing.T) {
	original := "variable \"v\" {\n  type = string\n  description = \"d\"\n  sensitive = true\n}\n" +
		"module \"m\" {\n  source = \"acme/a/aws\"\n  version = \"1.0.0\"\n}\n"
	variable := func(required bool, kind, description string) Variable {
		return Variable{Name: "v", Type: kind, Description: description, Required: required, Sensitive: true,
			Position: Position{"m/a.tf", 1}}
	}
	call := func(source, version, file string, line int) RemoteSource {
		return RemoteSource{Module: "m", Source: source, Version: version, Position: Position{file, line}}
	}
	for override, want := range map[string]struct {
		Variable Variable
		Call     RemoteSource
	}{
		"": {variable(true, "string", "d"), call("acme/a/aws", "1.0.0", "m/a.tf", 6)},
		"variable \"v\" { type = number }\n": {variable(true, "number", "d"),
			call("acme/a/aws", "1.0.0", "m/a.tf", 6)},
		"variable \"v\" {\n  default = 1\n  description = \"e\"\n}\n": {variable(false, "string", "e"),
			call("acme/a/aws", "1.0.0", "m/a.tf", 6)},
		"module \"m\" { version = \"2.0.0\" }\n": {variable(true, "string", "d"),
			call("acme/a/aws", "2.0.0", "m/a.tf", 6)},
		"\nmodule \"m\" { source = \"acme/b/aws\" }\n": {variable(true, "string", "d"),
			call("acme/b/aws", "", "m/z_override.tf", 2)},
	} {
		module, err := Read(files("m/a.tf", original, "m/z_override.tf", override), "m")
		if err != nil {
			t.Errorf("%q: %v", override, err)
			continue
		}
		if diff := cmp.Diff([]Variable{want.Variable}, module.Variables); diff != "" {
			t.Errorf("%q: %s", override, diff)
		}
		if name := override; strings.Contains(name, "version") || !strings.Contains(name, "module") {
			module.Remote[0].Position = want.Call.Position // that of the file in which the version is
		}
		if diff := cmp.Diff([]RemoteSource{want.Call}, module.Remote); diff != "" {
			t.Errorf("%q: %s", override, diff)
		}
	}
}

// TestOrder checks the order of calls and providers, which must not depend on the order in which modules are read.
func TestOrder(t *testing.T) {
	module, err := Read(files(
		"m/b.tf", "module \"z\" {\n  source = \"acme/z/aws\"\n}\nmodule \"a\" {\n  source = \"acme/a/aws\"\n}\n",
		"m/a.tf", "module \"y\" {\n  source = \"git::https://example.com/y\"\n}\nmodule \"local\" { source = \"../b\" }\n",
		"m/v.tf", "terraform {\n  required_providers {\n    zeta = { source = \"acme/zeta\" }\n    alpha = {\n"+
			"      version = \">= 1, < 2\"\n    }\n  }\n}\nresource \"beta_thing\" \"x\" {}\ndata \"gamma_thing\" \"x\" {}\n"+
			"data \"zeta_thing\" \"x\" {}\n",
		"b/main.tf", "module \"x\" {\n  source = \"/srv/shared\"\n}\nresource \"delta_thing\" \"x\" {}\n",
	), "m")
	if err != nil {
		t.Fatal(err)
	}
	var calls, providers []string
	for _, remote := range module.Remote {
		calls = append(calls, fmt.Sprintf("%s %s=%s", remote.Position, remote.Module, remote.Source))
	}
	for _, p := range module.Providers {
		providers = append(providers, fmt.Sprintf("%s/%s %s %s", p.Dir, p.Name, p.Source, strings.Join(p.Constraints, "|")))
	}
	if diff := cmp.Diff([]string{"b/main.tf:1 x=/srv/shared", "m/a.tf:1 y=git::https://example.com/y",
		"m/b.tf:1 z=acme/z/aws",
		"m/b.tf:4 a=acme/a/aws"}, calls); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b/delta  ", "m/alpha  >= 1, < 2", "m/beta  ", "m/gamma  ", "m/zeta acme/zeta "},
		providers); diff != "" {
		t.Error(diff)
	}
}

// TestBackends checks which block is reported as the backend of a root module.
func TestBackends(t *testing.T) {
	for content, want := range map[string]*Backend{
		"terraform {\n  required_version = \">= 1\"\n}\n":                         nil,
		"terraform {\n  backend \"s3\" {}\n}\n":                                   {"s3", Position{"m/a.tf", 2}},
		"terraform {}\nterraform {\n\n  backend \"gcs\" {}\n}\n":                  {"gcs", Position{"m/a.tf", 4}},
		"terraform {\n  cloud {\n    organization = \"a\"\n  }\n}\n":              {"cloud", Position{"m/a.tf", 2}},
		"locals {\n  backend = 1\n}\nmodule \"cloud\" {\n  source = \"./x\"\n}\n": nil,
	} {
		module, err := Read(files("m/a.tf", content, "m/x/a.tf", "terraform {\n  backend \"local\" {}\n}\n"), "m")
		if err != nil {
			t.Errorf("%s: %v", content, err)
			continue
		}
		if diff := cmp.Diff(want, module.Backend); diff != "" {
			t.Errorf("%s: %s", content, diff)
		}
	}
	module, err := Read(files("m/a.tf.json", "{\"terraform\": [{\n\"backend\": {\"http\": {}}}]}"), "m")
	if err != nil || module.Backend == nil || *module.Backend != (Backend{"http", Position{"m/a.tf.json", 2}}) {
		t.Errorf("in JSON: %+v, %v", module, err)
	}
}

// TestMoreLinks checks links that TestLinks does not: of files that are never packed, of configuration, and with
// targets that are written in unusual ways.
func TestMoreLinks(t *testing.T) {
	for name, test := range map[string]struct {
		links map[string]string
		want  []string
		wrong string
	}{
		"ignored files": {links: map[string]string{"m/.terraform": "/etc", "m/x.tfstate": "/etc/passwd",
			"m/y.tfstate.backup": "../../out"}, want: []string{"m"}},
		"to the root": {links: map[string]string{"m/all": ".."}, want: []string{"."}},
		"to itself":   {links: map[string]string{"m/here": "."}, want: []string{"m"}},
		"by a detour": {links: map[string]string{"m/x": "../m/../common/deep"}, want: []string{"common/deep", "m"}},
		"of a linked directory": {links: map[string]string{"m/x": "../common", "common/far": "../other"},
			want: []string{"common", "m", "other"}},
		"in a linked directory, ignored": {links: map[string]string{"m/x": "../common", "common/.git": "/etc"},
			want: []string{"common", "m"}},
		"in a linked directory, out": {links: map[string]string{"m/x": "../common", "common/far": "../../other"},
			wrong: "read module common: the symbolic link common/far leads out of the repository, to \"../../other\"; " +
				"put the file itself there"},
		"with a backslash": {links: map[string]string{"m/x": `..\common`},
			wrong: "read module m: the symbolic link m/x leads out of the repository, to \"..\\\\common\"; " +
				"put the file itself there"},
		"configuration that dangles": {links: map[string]string{"m/b.tf": "../common/none.tf"},
			wrong: "read common/none.tf: "},
		"configuration that is a directory": {links: map[string]string{"m/b.tf": "../common"},
			wrong: "common is not a regular file; remove it or rename it"},
		"through itself": {links: map[string]string{"m/b.tf": "b.tf"},
			wrong: "the symbolic link m/b.tf leads through another one, m/b.tf; let it name the file itself"},
	} {
		t.Run(name, func(t *testing.T) {
			root := linked(t, map[string]string{"m/a.tf": "variable \"a\" {}\n", "common/b.tf": "",
				"common/deep/run.sh": "", "other/x": ""}, test.links)
			dirs, _, err := Closure(os.DirFS(root), "m")
			if test.wrong != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.wrong) {
					t.Errorf("got %v, %v\nwant %s", dirs, err, test.wrong)
				}
				return
			}
			if diff := cmp.Diff(test.want, dirs); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

// TestOutermost checks that a directory whose name starts like that of another is not taken to be below it.
func TestOutermost(t *testing.T) {
	for want, dirs := range map[string][]string{
		"":        nil,
		"a ab b":  {"b", "ab", "a/b", "a", "a/c/d"},
		".":       {"a", ".", "b/c"},
		"a/b a/c": {"a/c", "a/b", "a/b/c"},
	} {
		if got := strings.Join(outermost(dirs), " "); got != want {
			t.Errorf("of %v: %s, want %s", dirs, got, want)
		}
	}
}
