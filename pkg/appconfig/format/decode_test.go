package format

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// decoded reads a text as a kind of file, and gives what is said of it.
func decoded[T any](t *testing.T, kind, text string) (into T, table *syntax.Table, said diagnostic.Diagnostics) {
	t.Helper()
	of, ok := FindKind(kind)
	if !ok {
		t.Fatalf("there is no kind %s", kind)
	}
	table, problem := syntax.Parse("f", []byte(text))
	if problem != nil {
		t.Fatal(problem)
	}
	Decode(table, of.Keys(), &into, func(d diagnostic.Diagnostic) { said = append(said, d) })
	said.Sort()
	return into, table, said
}

func TestDecodeAction(t *testing.T) {
	got, _, said := decoded[Action](t, "action", `
name = 'a'
labels = {n = 1, b = true, f = 1.5}
image = {name = 'x', ports = [1, 2.5, 9007199254740993, {d = 1979-05-27}]}
dependencies = ['b', 3]
[[inputs]]
name = 'i'
default = false
required = 'true'
[[triggers]]
type = 'pre-component-deploy'
index = '2'
[[steps]]
name = 's'
env_vars = {A = 'x'}
public_repo = {repo = 'a/b', directory = '.'}
`)
	no := "false"
	want := Action{
		Name: "a", Timeout: "5m", Labels: map[string]string{"n": "1", "b": "true", "f": "1.5"},
		Image: map[string]any{"name": "x", "ports": []any{1.0, "2.5", "9007199254740993",
			map[string]any{"d": "1979-05-27"}}},
		Dependencies: []string{"b", "3"}, Inputs: []ActionInput{{Name: "i", Type: "string", Default: &no, Required: true}},
		Triggers: []Trigger{{Type: "pre-deploy-component", Index: 2}},
		Steps: []Step{{Name: "s", EnvVars: map[string]string{"A": "x"},
			Repositories: Repositories{PublicRepo: &Repository{Repo: "a/b", Directory: "."}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"f:3:1: warning: accepted, no effect yet: dependencies, image, labels",
		`f:11:8: warning: "triggers[0].type": pre-component-deploy is the older name of pre-deploy-component (write "pre-deploy-component")`,
	}, strings.Split(said.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestDecodeSays checks the message for one mistake each, and that the rest is read in spite of it.
func TestDecodeSays(t *testing.T) {
	const right = "type = 'helm_chart'\nname = 'x'\nchart_name = 'hello'\nlabels = {a = '1'}\n"
	const idle = "f:4:1: warning: accepted, no effect yet: labels"
	for text, want := range map[string]string{
		"nmae = 1":             `f:5:1: error: unknown key "nmae" (did you mean "name"?)`,
		"namespaces = {a = 1}": `f:5:1: error: unknown key "namespaces" (did you mean "namespace"?)`,
		"vars = 1":             `f:5:1: error: unknown key "vars" (it is a key of terraform_module components)`,
		"repo = 'a/b'":         `f:5:1: error: unknown key "repo" (write it below [public_repo])`,
		"helm_repo = {namespace = 'x'}": "f:5:13: error: \"helm_repo.chart\" is missing (write chart = \"ledger-api\")\n" +
			"f:5:13: error: \"helm_repo.repo_url\" is missing (write repo_url = \"https://charts.example.com\")\nf:5:14: " +
			"error: unknown key \"helm_repo.namespace\" (write it at the top of the file)",
		"[[values_file]]\nsource = './x'":                 `f:6:1: warning: "values_file[0].source" is the older name of "contents" (write contents)`,
		"[[values_file]]\nsource = './x'\ncontents = 'y'": `f:6:1: warning: "values_file[0].source" is the older name of "contents", which is there too (remove it)`,
		"timeout = '5m'":                           `f:5:1: warning: "timeout" is not a key of the format and has no effect (write deploy_timeout or build_timeout)`,
		"value = []":                               `f:5:1: error: "value" is not accepted any more (write a [values] table)`,
		"namespace = {}":                           `f:5:13: error: "namespace" must be a string, not a table`,
		"take_ownership = 'yes'":                   `f:5:18: error: "take_ownership" must be true or false, not a string (write true)`,
		"max_auto_retries = 1.5":                   `f:5:20: error: "max_auto_retries" must be a whole number, not a number`,
		"dependencies = 'b'":                       `f:5:16: error: "dependencies" must be a list of strings, not a string (write ["b"])`,
		"dependencies = ['b', {}]":                 `f:5:22: error: "dependencies[1]" must be a string, not a table`,
		"values = {a = [1]}":                       `f:5:15: error: "values.a" must be a string, a number, or true or false, not a list (write a key for each item, beginning with "a[0]", or put it into a values_file)`,
		"values = 'x'":                             `f:5:10: error: "values" must be a table of strings, numbers, and true or false, not a string`,
		"[[values]]\na = '1'":                      `f:5:3: error: "values" must be a table of strings, numbers, and true or false, not a list (write [values] instead of [[values]])`,
		"[values_file]\ncontents='x'":              `f:5:2: error: "values_file" must be an array of tables, not a table (write [[values_file]])`,
		"values_file = ['x']":                      `f:5:16: error: "values_file[0]" must be a table, not a string`,
		"[[helm_repo]]":                            `f:5:3: error: "helm_repo" must be a table, not a list (write [helm_repo] instead of [[helm_repo]])`,
		"storage_driver = 'Secret'":                `f:5:18: error: "storage_driver" cannot be "Secret" (did you mean "secret"?)`,
		"storage_driver = 'x{{.nuon.install.id}}'": "",
		"operation_roles = [{operation = 'deploy', role = ''}]": `f:5:50: error: "operation_roles[0].role" must not be empty`,
		"drift_schedule = 'never'":                              "cron",
	} {
		t.Run(text, func(t *testing.T) {
			got, _, said := decoded[HelmChart](t, "helm", right+text+"\n")
			if got.ChartName != "hello" || got.Name != "x" || got.BuildTimeout != "5m" {
				t.Errorf("read %+v", got)
			}
			var lines []string
			for _, one := range said {
				if !strings.HasPrefix(one.String(), idle) {
					lines = append(lines, one.String())
				}
			}
			if want == "cron" {
				if len(said) != 2 || said[1].Rule != FormatCron {
					t.Error(said)
				}
				return
			}
			if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTexts(t *testing.T) {
	got, table, _ := decoded[HelmChart](t, "helm", "type = 'helm_chart'\nname = 'x'\nchart_name = 'hello'\nnamespace = "+
		"'n'\ndependencies = ['a', 'b']\n"+
		"values = {\"image.tag\" = '1', n = 1, b = 'x'}\n[[values_file]]\ncontents = './one'\n[[values_file]]\nsource = "+
		"'./two'\n[[values_file]]\npath = 'p'\n")
	of, _ := FindKind("helm")
	var templated, files []string
	for text := range Texts(table, of.Keys(), &got, func(k *Key) bool { return k.Template || k.Name == "dependencies" }) {
		templated = append(templated, text.Path+"="+text.Value)
		if n := table.Find(text.Path); n != text.Node {
			t.Errorf("%s is not at %+v", text.Path, text.Node.At)
		}
	}
	for text := range Texts(table, of.Keys(), &got, func(k *Key) bool { return k.File }) {
		files = append(files, text.Path)
		text.Set("text of " + text.Value)
	}
	want := "dependencies[0]=a dependencies[1]=b namespace=n values.\"image.tag\"=1 values.b=x " +
		"values_file[0].contents=./one values_file[1].contents=./two values_file[2].path=p"
	if diff := cmp.Diff(strings.Split(want, " "), templated); diff != "" {
		t.Error(diff)
	}
	if strings.Join(files, " ") != "values_file[0].contents values_file[1].contents" ||
		got.ValuesFiles[1].Contents != "text of ./two" {
		t.Errorf("%v, and %+v", files, got.ValuesFiles)
	}
	for range Texts(table, of.Keys(), &got, templateOnly) {
		break // it can be left
	}
}

func templateOnly(k *Key) bool { return k.Template }

func TestSort(t *testing.T) {
	action := Action{Dependencies: []string{"b", "a", "b"}, Steps: []Step{{Name: "z"}, {Name: "a"}}}
	of, _ := FindKind("action")
	SortSets(of.Keys(), &action)
	if diff := cmp.Diff(Action{Dependencies: []string{"a", "b"}, Steps: []Step{{Name: "z"}, {Name: "a"}}},
		action); diff != "" {
		t.Error(diff)
	}
	chart := HelmChart{Component: Component{OperationRoles: []OperationRole{{Operation: "teardown", Role: "x"},
		{Operation: "deploy", Role: "y"}}}}
	of, _ = FindKind("helm")
	SortSets(of.Keys(), &chart)
	if chart.OperationRoles[0].Operation != "deploy" || chart.OperationRoles[1].Role != "x" {
		t.Errorf("%+v", chart.OperationRoles)
	}
}

// However much is wrong, what is said is bounded.
func TestDecodeIsBounded(t *testing.T) {
	var text strings.Builder
	for range 5000 {
		text.WriteString("[[steps]]\nfoo = 1\nname = []\n")
	}
	_, _, said := decoded[Action](t, "action", text.String())
	if len(said) > maxReported {
		t.Errorf("%d are said", len(said))
	}
}
