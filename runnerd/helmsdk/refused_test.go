//go:build !race

package helmsdk

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

func TestChartRefused(t *testing.T) {
	nested := tgz(t, "a", tree{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n"})
	for range 12 {
		nested = tgz(t, "a", tree{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "charts/a.tgz": nested})
	}
	big := tgz(t, "big", tree{"Chart.yaml": "apiVersion: v2\nname: big\nversion: 1.0.0\n", "a": strings.Repeat("a", 4<<20),
		"b": strings.Repeat("a", 4<<20), "c": strings.Repeat("a", 4<<20)})
	bombs := tree{}
	for _, name := range strings.Split("a b c d e f g h i j", " ") {
		bombs["charts/"+name+".tgz"] = big
	}
	for name, test := range map[string]struct {
		files tree
		want  string
	}{
		"no Chart.yaml": {tree{"Chart.yaml": ""}, "Chart.yaml file is missing"},
		"library": {tree{"Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n"},
			"library chart"},
		"no version":       {tree{"Chart.yaml": "apiVersion: v2\nname: lib\n"}, "version is required"},
		"name with path":   {tree{"Chart.yaml": "apiVersion: v2\nname: ../../x\nversion: 1.0.0\n"}, "name"},
		"name of dots":     {tree{"Chart.yaml": "apiVersion: v2\nname: ..\nversion: 1.0.0\n"}, "name"},
		"subchart's name":  {tree{"charts/cache/Chart.yaml": "apiVersion: v2\nname: ..\nversion: 1.0.0\n"}, "name"},
		"climbing":         {tree{"../x": "x"}, "unsafe tree"},
		"archive climbs":   {tree{"charts/x.tgz": tgz(t, "x", tree{"../../../x": "x"})}, "parent directory"},
		"no archive":       {tree{"charts/x.tgz": "x"}, "charts/x.tgz"},
		"nested archives":  {tree{"charts/a.tgz": nested}, "more than 8 times"},
		"many archives":    {bombs, "64 MiB"},
		"values not YAML":  {tree{"values.yaml": "a: [\n"}, "values.yaml"},
		"values with bomb": {tree{"values.yaml": bomb()}, "aliases"},
		"long string bomb": {tree{"values.yaml": "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" +
			strings.Repeat("*a,", 1000) + "*a]\n"}, "aliases"},
		"deep": {tree{"Chart.yaml": web()["Chart.yaml"] + "annotations: " + strings.Repeat("[", 500) +
			strings.Repeat("]", 500)}, "deeper"},
		"bomb in a archive": {
			tree{"charts/x.tgz": tgz(t, "x", tree{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n",
				"values.yaml": bomb()})}, "aliases"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadChart(web().with(test.files).files())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
	if _, err := LoadChart(
		[]artifact.File{{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: x\nversion: 1.0.0\n")},
			{Path: "values.yaml", Link: "Chart.yaml"}}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a link: %v", err)
	}
}

// A template that includes itself endlessly is an error, and does not end the process.
func TestEndlessTemplates(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"include":  `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`,
		"template": `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
	} {
		ctx := testtime.Context(t)
		_, err := RenderOffline(ctx, app(tree{"a": text}).load(t),
			RenderRequest{Release: "shop", Namespace: "ns", Revision: 1}, "", nil)
		if err == nil || ctx.Err() != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRenderRefused(t *testing.T) {
	for name, test := range map[string]struct {
		files  tree
		values map[string]any
		want   []string
	}{
		"parse error": {files: tree{"templates/x.yaml": "a: 1\nb: {{ if }}\n"},
			want: []string{"web/templates/x.yaml, line 2", "missing value for if", "correct the template"}},
		"unknown func": {files: tree{"templates/x.yaml": "{{ nonsense }}"},
			want: []string{"web/templates/x.yaml, line 1", `"nonsense" not defined`}},
		"nil pointer": {files: tree{"templates/x.yaml": "\n\n{{ .Values.a.b.c }}"},
			want: []string{"web/templates/x.yaml, line 3", "nil pointer", "set it"}},
		"required": {files: tree{"templates/x.yaml": `{{ required "a host is needed" .Values.host }}`},
			want: []string{"web/templates/x.yaml, line 1", "a host is needed"}},
		"fail": {files: tree{"charts/cache/templates/x.yaml": `{{ fail "no such size" }}`},
			want: []string{"web/charts/cache/templates/x.yaml, line 1", "no such size"}},
		"tpl hides": {files: tree{"templates/x.yaml": `{{ tpl (printf "%s {{ nonsense }}" .Values.password) . }}`},
			values: map[string]any{"password": "hunter2"}, want: []string{"nonsense"}},
		"control": {files: tree{"templates/x.yaml": `{{ fail "\u001b[31mred\u202e" }}`},
			want: []string{"\uFFFD[31mred\uFFFD"}},
		"endless": {
			files: tree{"templates/x.yaml": `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`},
			want:  []string{"render web/templates/x.yaml, line 1", "nested reference name: x"}},
		"not YAML": {files: tree{"templates/x.yaml": "a: [\n"},
			want: []string{"web/templates/x.yaml does not come to YAML"}},
		"second document": {
			files: tree{"templates/x.yaml": "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nfoo: 1\n"},
			want:  []string{"web/templates/x.yaml, document 2", "apiVersion or kind"}},
		"a scalar": {files: tree{"templates/x.yaml": "hello"},
			want: []string{"web/templates/x.yaml does not come to a Kubernetes object"}},
		"nameless": {
			files: tree{"templates/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n"},
			want:  []string{"web/templates/x.yaml", "no metadata.name"}},
		"twice": {
			files: tree{"templates/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-cache}\n"},
			want:  []string{"ConfigMap ns/shop-cache is in web/charts/cache/templates/cache.yaml already"}},
		"twice in one namespace": {
			files: tree{"templates/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-cache, namespace: ns}\n"},
			want: []string{"web/templates/x.yaml", "ConfigMap ns/shop-cache",
				"is in web/charts/cache/templates/cache.yaml already", "once"}},
		"twice in the cluster": {
			files: tree{"templates/x.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n" +
				"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: other}\n"},
			want: []string{"web/templates/x.yaml, document 2", "Namespace a is in web/templates/x.yaml already"}},
		"twice in a list": {
			files: tree{"templates/x.yaml": "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: shop-cache}}]\n"},
			want:  []string{"ConfigMap ns/shop-cache is in web/charts/cache/templates/cache.yaml already"}},
		"a hook in a list": {
			files: tree{"templates/x.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n" +
				"  metadata: {name: a, annotations: {helm.sh/hook: test}}\n"},
			want: []string{"web/templates/x.yaml: item 1 of a List", "helm.sh/hook", "a document of its own"}},
		"bomb":           {files: tree{"templates/x.yaml": bomb()}, want: []string{"aliases"}},
		"no value again": {files: tree{"templates/x.yaml": "# <no <no value>value>"}, want: []string{"<no value>"}},
		"too large": {files: tree{"templates/x.yaml": `{{ range until 5000 }}# {{ repeat 10000 "x" }}{{ end }}`},
			want: []string{"more than 32 MiB"}},
		"old Kubernetes": {files: tree{"Chart.yaml": web()["Chart.yaml"] + "kubeVersion: '>=9.0.0-0'\n"},
			want: []string{"needs Kubernetes >=9.0.0-0"}},
		"not whole": {files: tree{"charts/cache/Chart.yaml": "", "charts/cache/values.yaml": "",
			"charts/cache/templates/cache.yaml": "", "charts/cache/templates/NOTES.txt": ""},
			want: []string{"is not whole", "cache"}},
		"CRD": {files: tree{"crds/x.yaml": "kind: X\n"}, want: []string{"web/crds/x.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryOffline(web().with(test.files).load(t), test.values)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "hunter2") || strings.ContainsAny(err.Error(), "\x1b\n\u202e") ||
				len(err.Error()) > 3000 {
				t.Errorf("this must not be shown: %q", err)
			}
		})
	}
}
