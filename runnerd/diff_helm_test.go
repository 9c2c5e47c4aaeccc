package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
)

// chartsIn writes two versions of a chart with a dependency beside them, and
// changes to their directory.
func chartsIn(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"v1/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: names, version: ^1, " +
			"repository: \"file://../names\"}]\n",
		"v1/values.yaml": "image: web:1\n",
		"v1/templates/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ include \"name\" . }}}\n" +
			"spec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      " +
			"containers: [{name: web, image: {{ .Values.image | quote }}}]\n",
		"v1/templates/token.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {token: {{ " +
			"randAlphaNum 20 }}}\n",
		"v1/crds/a.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " +
			"as.example.com}\nspec: {group: example.com, names: {kind: A, plural: as}, scope: Namespaced, versions: []}\n",
		"names/Chart.yaml":       "apiVersion: v2\nname: names\nversion: 1.1.0\ntype: library\n",
		"names/templates/_n.tpl": "{{ define \"name\" }}{{ .Release.Name }}-web{{ end }}",
		"values.yaml":            "image: web:2\n",
	} {
		write(t, filepath.Join(dir, name), content)
		if after, is := strings.CutPrefix(name, "v1/"); is {
			content = strings.NewReplacer("version: 1.0.0", "version: 1.1.0", "Namespaced", "Cluster").Replace(content)
			if after == "templates/web.yaml" {
				content += "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: " +
					"pre-upgrade}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: m}]}}}\n"
			}
			write(t, filepath.Join(dir, "v2", after), content)
		}
	}
	t.Chdir(dir)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compared runs the command.
func compared(t *testing.T, request helmRequest) (diff.Report, error) {
	t.Helper()
	if request.Release == "" {
		request.Release, request.Namespace = "shop", "default"
	}
	asked, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	var out bytes.Buffer
	root.SetIn(bytes.NewReader(asked))
	root.SetOut(&out)
	root.SetArgs([]string{"diff", "helm"})
	if err := execute(root); err != nil {
		return diff.Report{}, err
	}
	var report diff.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	return report, report.Validate()
}

// addresses lists the changes with their actions.
func addresses(changes []diff.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, string(c.Action)+" "+c.Address)
	}
	return strings.Join(all, ", ")
}

func TestDiffOfTwoCharts(t *testing.T) {
	chartsIn(t)
	got, err := compared(t, helmRequest{Before: helmSide{Chart: "v1"}, After: helmSide{Chart: "v2",
		Values: []helmValues{{"values.yaml", "image: web:2\n"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(addresses(got.Changes), "update Deployment.apps/shop-web") ||
		addresses(got.Hooks) != "create Job.batch/migrate" {
		t.Errorf("changes %s, hooks %s", addresses(got.Changes), addresses(got.Hooks))
	}
	notes := strings.Join(got.Notes, "\n")
	for _, words := range []string{"from web 1.0.0 (v1) to web 1.1.0 (v2)", "lookup finds nothing",
		"another definition of as.example.com"} {
		if !strings.Contains(notes, words) {
			t.Errorf("the notes have no %q:\n%s", words, notes)
		}
	}
	regenerated := false
	for _, c := range got.Changes {
		for _, f := range c.Fields {
			regenerated = regenerated || c.Name == "token" && f.Regenerated
		}
	}
	if !regenerated {
		t.Error("the token is not known to be made anew")
	}
}

// TestDiffShowsWhatCRDsFoldersAdd checks that the report shows an object in crds/,
// which the apply creates regardless of its kind.
func TestDiffShowsWhatCRDsFoldersAdd(t *testing.T) {
	chartsIn(t)
	write(t, "v2/crds/admin.yaml",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: as.example.com}\n"+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: Group, "+
			"apiGroup: rbac.authorization.k8s.io, name: everybody}]\n")
	got, err := compared(t, helmRequest{Before: helmSide{Chart: "v1"}, After: helmSide{Chart: "v2"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Changes {
		if c.Address == "ClusterRoleBinding.rbac.authorization.k8s.io/as.example.com" {
			if len(c.Findings) == 0 {
				t.Errorf("no finding about a binding to cluster-admin: %+v", c)
			}
			return
		}
	}
	t.Errorf("the binding of crds/ is not shown, but %s", addresses(got.Changes))
}

// TestRenderedObjects: the objects that a chart creates, of whose images nuon images tells, include those in crds/.
func TestRenderedObjects(t *testing.T) {
	chartsIn(t)
	write(t, "v1/crds/b.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: early}\n"+
		"spec: {containers: [{image: early:1}]}\n")
	root := newRoot()
	var out bytes.Buffer
	root.SetIn(strings.NewReader(`{"chart": "v1", "release": "shop", "namespace": "default"}`))
	root.SetOut(&out)
	root.SetArgs([]string{"render", "helm"})
	if err := execute(root); err != nil {
		t.Fatal(err)
	}
	var got renderResponse
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(got.Objects, "---\n")
	if !strings.Contains(all, "web:1") || !strings.Contains(all, "early:1") ||
		strings.Contains(all, "CustomResourceDefinition") {
		t.Errorf("rendered %s", all)
	}
}

// TestDiffOfTheSame compares a chart with itself: with other values, and with
// no difference at all.
func TestDiffOfTheSame(t *testing.T) {
	chartsIn(t)
	got, err := compared(t, helmRequest{Before: helmSide{Chart: "v1"}, After: helmSide{Chart: "v1",
		Sets: []string{"image=web:3"}}})
	if err != nil || !strings.Contains(addresses(got.Changes), "update Deployment.apps/shop-web") {
		t.Error(addresses(got.Changes), err)
	}
	got, err = compared(t, helmRequest{Before: helmSide{Chart: "v1"}, After: helmSide{Chart: "v1"}})
	if err != nil || got.Applyable {
		t.Errorf("a chart differs from itself: %s, %v", addresses(got.Changes), err)
	}
}

// TestSetsWithCommas checks that a --set in helm's syntax for several keys gets a note on how
// it is interpreted, without the value.
func TestSetsWithCommas(t *testing.T) {
	chartsIn(t)
	for text, told := range map[string]bool{"image=hunter2,replicas=3": true, "image=a,b": false,
		`image=a\,b=c`: false, "image=a": false, "image=,b=c": false} {
		got, err := compared(t, helmRequest{Before: helmSide{Chart: "v1"}, After: helmSide{Chart: "v1",
			Sets: []string{text}}})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(got.Notes, "\n")
		if strings.Contains(notes, "--set image is one text") != told || strings.Contains(notes, "hunter2") {
			t.Errorf("--set %s: notes %s", text, notes)
		}
	}
}

func TestDiffOfChartsRefuses(t *testing.T) {
	chartsIn(t)
	write(t, "bad/Chart.yaml", "apiVersion: v2\nname: bad\nversion: 1.0.0\n")
	write(t, "bad/templates/a.yaml", "\n{{ .Values.a.b | nothing }}\n")
	for name, test := range map[string]struct {
		after helmSide
		want  string
	}{
		"nothing there":  {helmSide{Chart: "v3"}, "v3 is no chart: no such file or directory; name a directory"},
		"no archive":     {helmSide{Chart: "values.yaml"}, "is no packed chart"},
		"without an end": {helmSide{Chart: "/dev/zero"}, "is larger than 32 MiB"},
		"no chart":       {helmSide{Chart: "."}, "has no Chart.yaml"},
		"no name":        {helmSide{Chart: "oci://registry.example.com"}, "names no chart; write"},
		"plain http":     {helmSide{Chart: "http://charts.example.com/web:1"}, "https only"},
		"a template":     {helmSide{Chart: "bad"}, "templates/a.yaml"},
		"values":         {helmSide{Chart: "v1", Values: []helmValues{{"my.yaml", "- a"}}}, "my.yaml is not a mapping"},
		"a digest": {helmSide{Chart: "oci://registry.example.com/a/web@sha256:00"},
			"named by its version here, as oci://host"},
		"a set": {helmSide{Chart: "v1", Sets: []string{"a"}}, "KEY=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := compared(t, helmRequest{Before: helmSide{Chart: "v1"}, After: test.after}); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	if _, err := compared(t, helmRequest{Before: helmSide{Chart: "v1"}, After: helmSide{Chart: "v1"},
		Kubernetes: "new"}); err == nil || !strings.Contains(err.Error(), "1.33.0") {
		t.Errorf("a version of Kubernetes: %v", err)
	}
}

func TestScalarsOfSets(t *testing.T) {
	for text, want := range map[string]any{"": "", "1": int64(1), "0": int64(0), "01": "01", "-5": int64(-5),
		"1.5": "1.5", "true": true, "null": nil, "a,b": "a,b", "1e6": "1e6"} {
		if got := scalar(text); got != want {
			t.Errorf("%q is %#v, want %#v", text, got, want)
		}
	}
}

func TestSplitReference(t *testing.T) {
	for text, want := range map[string][3]string{
		"oci://h:5000/a/b/web:1.2.3":     {"oci://h:5000/a/b", "web", "1.2.3"},
		"oci://h/web":                    {"oci://h", "web", ""},
		"https://h/charts/web:>=1.2 <2":  {"https://h/charts", "web", ">=1.2 <2"},
		"https://h:8443/web:1.0.0+build": {"https://h:8443", "web", "1.0.0+build"},
	} {
		repository, chart, version, err := splitReference(text)
		if err != nil || [3]string{repository, chart, version} != want {
			t.Errorf("%s: %s %s %s, %v", text, repository, chart, version, err)
		}
	}
	for _, text := range []string{"oci://h", "oci://h:5000", "https://h/", "https://", "oci://h/a/:1"} {
		if _, _, _, err := splitReference(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
