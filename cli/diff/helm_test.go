package diff

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	model "github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// fakeRunnerd puts a runnerd on PATH that stores its request in the file asked.json and
// runs the script.
func fakeRunnerd(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\ntest \"$*\" = 'diff helm' || exit 9\ncat >" +
		filepath.Join(dir, "asked.json") + "\n" + script + "\n"
	testprogram.Write(t, filepath.Join(dir, "runnerd"), text)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("ASKED", filepath.Join(dir, "asked.json"))
}

// asked returns the request that the fake received.
func asked(t *testing.T) helmRequest {
	t.Helper()
	text, err := os.ReadFile(os.Getenv("ASKED"))
	if err != nil {
		t.Fatal(err)
	}
	var r helmRequest
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// saying returns a script that prints a report of one new ConfigMap.
func saying(t *testing.T) string {
	t.Helper()
	r := model.Report{Kind: model.KindKubernetes, Applyable: true, Notes: []string{"after: web 1.2.3"},
		Changes: []model.Change{
			{Address: "ConfigMap/a", ResourceKind: "ConfigMap", Name: "a", Action: model.Create, Risk: model.RiskAdditive},
		}}
	r.Totals = r.Count()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return "cat <<'END'\n" + string(text) + "\nEND"
}

func TestHelmAsksRunnerd(t *testing.T) {
	fakeRunnerd(t, saying(t))
	write(t, map[string]string{"all.yaml": "a: 1\n", "new.yaml": "b: 2\n", "known": "hunter2\r\n\nsecond\n"})
	out, _, err := nuon(t.Context(), strings.NewReader("c: 3\n"), "",
		"helm old new -f all.yaml -f - --values-after new.yaml --set x=1 --set-before y=2 --set-after z=a,b "+
			"--release web --namespace shop --kube-version 1.33.0 --api-versions a/v1,b/v1/C --secret-file known -U 5")
	if err != nil || !strings.Contains(out, "ConfigMap/a") || !strings.Contains(out, "after: web 1.2.3") {
		t.Fatalf("%v\n%s", err, out)
	}
	got := asked(t)
	if len(got.TagKey) != 32 {
		t.Errorf("the key has %d bytes", len(got.TagKey))
	}
	got.TagKey = nil
	all, pipe := helmValues{"all.yaml", "a: 1\n"}, helmValues{"-", "c: 3\n"}
	want := helmRequest{
		Before: helmSide{Chart: "old", Values: []helmValues{all, pipe}, Sets: []string{"x=1", "y=2"}},
		After: helmSide{Chart: "new", Values: []helmValues{all, pipe, {"new.yaml", "b: 2\n"}},
			Sets: []string{"x=1", "z=a,b"}},
		Release: "web", Namespace: "shop", Kubernetes: "1.33.0", APIs: []string{"a/v1", "b/v1/C"},
		Secrets: []string{"hunter2", "second"}, Context: 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHelmOfACluster(t *testing.T) {
	fakeRunnerd(t, saying(t))
	for line, want := range map[string]helmCluster{
		"":                       {KubeConfig: "/from/the/variable"},
		" --kubeconfig here":     {KubeConfig: "here"},
		" --kube-context prod":   {KubeConfig: "/from/the/variable", Context: "prod"},
		" --driver secret -o md": {},
	} {
		t.Setenv("KUBECONFIG", "/from/the/variable")
		_, _, err := nuon(t.Context(), nil, "", "helm chart --cluster"+line)
		if want.KubeConfig == "" {
			if exitcode.CodeOf(err) != exitcode.Usage {
				t.Errorf("%s: %v", line, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(line, err)
		}
		if diff := cmp.Diff(&want, asked(t).Cluster); diff != "" {
			t.Error(line, diff)
		}
	}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", "/home/vera")
	if _, _, err := nuon(t.Context(), nil, "", "helm chart --cluster"); err != nil ||
		asked(t).Cluster.KubeConfig != "/home/vera/.kube/config" {
		t.Error(err, asked(t).Cluster)
	}
}

func TestHelmEndsWith(t *testing.T) {
	for name, test := range map[string]struct {
		script, line string
		code         int
		words        string
	}{
		"a difference": {saying(t), "helm a b --exit-code", exitcode.Failed, ""},
		"an error": {"echo 'runnerd: a is no chart; name one' >&2; exit 1", "helm a b", exitcode.Usage,
			"a is no chart; name one"},
		"a breakdown": {"printf 'fatal error: out of memory\\n\\ngoroutine 7 [running]:\\nx.y()\\n' >&2; exit 2",
			"helm a b", exitcode.Usage, "out of memory"},
		"silence":   {"exit 3", "helm a b", exitcode.Usage, "failed without a message"},
		"no report": {"echo nothing", "helm a b", exitcode.Usage, "same version as nuon"},
		"a wrong report": {`echo '{"kind":"kubernetes","totals":{"create":3}}'`, "helm a b",
			exitcode.Usage, "invalid report"},
		"the same":          {saying(t), "helm a", exitcode.Usage, "nothing to compare the chart with"},
		"two and a cluster": {saying(t), "helm a b --cluster", exitcode.Usage, "name only the new chart"},
		"values of both":    {saying(t), "helm a --cluster --set-before x=1", exitcode.Usage, "remove them"},
		"a version": {saying(t), "helm a --cluster --kube-version 1.30.0", exitcode.Usage,
			"cannot be used with --cluster"},
		"no cluster": {saying(t), "helm a b --kubeconfig x", exitcode.Usage, "need --cluster"},
		"a driver":   {saying(t), "helm a --cluster --driver sql", exitcode.Usage, "configmap or secret"},
		"no values":  {saying(t), "helm a b -f none.yaml", exitcode.Usage, "read none.yaml: no such file"},
		"several":    {saying(t), "helm a --cluster", exitcode.Usage, "names several files"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeRunnerd(t, test.script)
			t.Setenv("KUBECONFIG", "a:b")
			_, _, err := nuon(t.Context(), nil, "", test.line)
			if err != nil && strings.Contains(err.Error(), "goroutine") {
				t.Error("what the program did when it broke down is shown")
			}
			if exitcode.CodeOf(err) != test.code || test.words != "" && !strings.Contains(err.Error(), test.words) {
				t.Errorf("ended with %d: %v", exitcode.CodeOf(err), err)
			}
		})
	}
	t.Setenv("PATH", t.TempDir())
	if _, _, err := nuon(t.Context(), nil, "", "helm a b"); err == nil || !strings.Contains(err.Error(), "runnerd") {
		t.Error(err)
	}
}
