package diff

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	model "github.com/nuon-toolkit/nuon/diff"
)

// write creates files in a new directory and changes into it.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// nuon runs `nuon diff` without a terminal. output is the value of NUON_OUTPUT.
func nuon(ctx context.Context, in io.Reader, output, line string) (out, remarks string, err error) {
	var o, r strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{In: in, Out: &o, Err: &r, Output: output, Width: 80}})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(strings.Fields(line))
	err = c.ExecuteContext(ctx)
	return o.String(), r.String(), err
}

const (
	web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1"}
`
	secret = `apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
stringData: {password: hunter2-long}
`
	text1 = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t, namespace: shop}\ndata:\n  t: |\n    1\n    2\n    3\n" +
		"    4\n    5\n    6\n    7\n    8\n    9\n"
	plan = `{"format_version":"1.2","applyable":true,"complete":true,"resource_changes":[{"address":"aws_x.a","mode":"managed","type":"aws_x","name":"a","provider_name":"p",
"change":{"actions":["update"],"before":{"n":1,"tag":"planted-secret"},"after":{"n":2,"tag":"planted-secret"},"after_unknown":{},"before_sensitive":{},"after_sensitive":{}}}]}`
	none = `{"format_version":"1.2","applyable":false,"complete":true}`
)

// sides returns the files of most tests.
func sides() map[string]string {
	return map[string]string{
		"a.yaml": web + "---\n" + secret, "same/x.yaml": web, "same/y.yaml": secret,
		"b.yaml": strings.Replace(web, "replicas: 2", "replicas: 3", 1) + "---\n" +
			strings.Replace(secret, "hunter2", "hunter3", 1),
		"image.yaml":    strings.Replace(web, "web:1", "web:2", 1) + "---\n" + secret,
		"replicas.yaml": strings.Replace(web, "replicas: 2", "replicas: 7", 1) + "---\n" + secret,
		"t1.yaml":       text1, "t2.yaml": strings.Replace(text1, "    5\n", "    five\n", 1), "plan.json": plan,
		"none.json": none, "empty.json": "",
		"bad.yaml": "a: [\n", "cut.json": plan[:len(plan)/2], "tfplan": "PK\x03\x04rest",
		"known.txt":        "\r\nplanted-secret\r\n",
		"ignore.toml":      "[[ignore]]\nname = \"autoscaled\"\nkind = \"Deployment\"\npointers = [\"/spec/replicas\"]\n",
		"ignore-bad.toml":  "[[ignore]]\nnam = 1\n",
		"ignore-plan.toml": "[[ignore]]\nname = \"n\"\naddress = \"aws_x.*\"\npointers = [\"/n\"]\n",
	}
}

// TestExitCodes checks that a difference exits with 1 only with --exit-code,
// and that a failure always exits with 2 and a message.
func TestExitCodes(t *testing.T) {
	write(t, sides())
	for line, want := range map[string]struct {
		code int
		says string // in the output, or the error
	}{
		"manifests a.yaml b.yaml":                                         {0, "shop/Deployment.apps/web"},
		"manifests a.yaml b.yaml --exit-code":                             {1, "shop/Deployment.apps/web"},
		"manifests a.yaml a.yaml --exit-code":                             {0, "No changes"},
		"manifests a.yaml same --exit-code":                               {0, "No changes"},
		"manifests a.yaml replicas.yaml --exit-code":                      {1, "replicas"},
		"manifests a.yaml replicas.yaml --exit-code --ignore ignore.toml": {0, "autoscaled"},
		"manifests a.yaml image.yaml --exit-code --ignore ignore.toml": {1,
			`ignore rule "autoscaled" matched nothing`},
		"manifests a.yaml b.yaml --exit-code --ignore ignore.toml":                 {1, "autoscaled"},
		"manifests a.yaml replicas.yaml --ignore ignore.toml --ignore ignore.toml": {0, "autoscaled"},
		"manifests a.yaml a.yaml --live b.yaml --exit-code":                        {1, "replicas"},
		"manifests a.yaml a.yaml --live a.yaml --exit-code":                        {0, "No changes"},
		"manifests a.yaml b.yaml --ignore none.toml --exit-code": {2,
			"--ignore: read none.toml: no such file"},
		"manifests a.yaml b.yaml --ignore ignore-bad.toml --exit-code": {2,
			"ignore-bad.toml:2:1: there is no ignore.nam"},
		"manifests a.yaml none.yaml --exit-code": {2,
			"read none.yaml: no such file or directory"},
		"manifests bad.yaml b.yaml --exit-code":          {2, "bad.yaml:"},
		"manifests a.yaml b.yaml --secret-file none.txt": {2, "--secret-file: read none.txt"},
		"manifests - -": {2, "only one side can be -"},
		"manifests a.yaml b.yaml -o name": {2,
			"-o name: use one of text, side, markdown, json, yaml"},
		"manifests a.yaml b.yaml --pager sometimes": {2,
			"--pager sometimes: use one of auto, always, never"},
		"manifests a.yaml b.yaml --context -1": {2,
			"--context -1: use 0 or more lines"},
		"terraform plan.json":                                       {0, "aws_x.a"},
		"terraform plan.json --exit-code":                           {1, "aws_x.a"},
		"terraform none.json --exit-code":                           {0, "No changes"},
		"terraform plan.json --exit-code --ignore ignore-plan.toml": {0, "ignored by n"},
		"terraform cut.json --exit-code": {2,
			"read cut.json: not a Terraform plan that can be read"},
		"terraform a.yaml --exit-code": {2,
			"read a.yaml: not a Terraform plan that can be read"},
		"terraform empty.json": {2,
			"empty.json is empty; use the output of `terraform show -json PLANFILE`"},
		"terraform tfplan": {2,
			"tfplan is a plan file, not its JSON; use <(terraform show -json tfplan)"},
		"terraform same":     {2, "read same: is a directory"},
		"terraform none.txt": {2, "read none.txt: no such file"},
	} {
		out, _, err := nuon(t.Context(), strings.NewReader(""), "table", line)
		text := out
		if err != nil && err.Error() != "" {
			text = err.Error()
			if out != "" {
				t.Errorf("nuon diff %s: printed %q beside its error", line, out)
			}
		}
		if exitcode.CodeOf(err) != want.code || !strings.Contains(text, want.says) {
			t.Errorf("nuon diff %s: ended with %d, want %d; said %q, want %q", line, exitcode.CodeOf(err),
				want.code, text, want.says)
		}
	}
}

// TestFormats checks that every format prints the same report without secrets,
// and that NUON_OUTPUT selects the format.
func TestFormats(t *testing.T) {
	write(t, sides())
	for _, c := range []struct{ output, flags, has string }{
		{"table", "", "replicas"},
		{"table", "-o text", "replicas"},
		{"table", "-o table", "replicas"},
		{"table", "-o side", "replicas"},
		{"table", "-o markdown", "**"},
		{"table", "-o json", `"kind": "kubernetes"`},
		{"table", "-o yaml", "kind: kubernetes\n"},
		{"json", "", `"kind": "kubernetes"`},
		{"json", "-o text", "replicas"},
	} {
		for _, all := range []string{"", " --show-all"} {
			out, remarks, err := nuon(t.Context(), nil, c.output, "manifests a.yaml b.yaml "+c.flags+all)
			if err != nil || remarks != "" || !strings.Contains(out, c.has) || !strings.Contains(out, "spec.replicas") {
				t.Errorf("NUON_OUTPUT=%s %s%s: %v, %q, %s", c.output, c.flags, all, err, remarks, out)
			}
			if strings.Contains(out, "hunter") || strings.Contains(out, "\x1b") {
				t.Errorf("%s%s shows a secret, or colours in a pipe:\n%s", c.flags, all, out)
			}
		}
	}
	if _, _, err := nuon(t.Context(), nil, "name", "manifests a.yaml b.yaml"); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("NUON_OUTPUT=name: %v", err)
	}
	out, _, err := nuon(t.Context(), nil, "table", "manifests a.yaml b.yaml -o json")
	var r model.Report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

// TestIgnoredReasons checks that a risk disappears when the last field that
// causes it is ignored, and not before.
func TestIgnoredReasons(t *testing.T) {
	two := strings.Replace(strings.Replace(web, "web:1", "web:2", 1), "app: web}}\n    spec",
		"app: web, tier: x}}\n    spec", 1)
	for pointers, want := range map[string]model.Risk{
		`"/nothing"`: model.RiskRestart,
		`"/spec/template/spec/containers/name=web/image"`:   model.RiskRestart,
		`"/spec/template/metadata"`:                         model.RiskRestart,
		`"/spec/template/metadata/labels/*", "/**/image"`:   model.RiskInPlace,
		`"/spec/template"`:                                  model.RiskInPlace,
		`"/spec/template/spec/containers/name=other/image"`: model.RiskRestart,
	} {
		write(t, map[string]string{"a.yaml": web, "b.yaml": two,
			"i.toml": "[[ignore]]\nname = \"r\"\npointers = [" + pointers + "]\n"})
		out, _, err := nuon(t.Context(), nil, "json", "manifests a.yaml b.yaml --ignore i.toml")
		var r model.Report
		if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.Validate() != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if r.Risk() != want {
			t.Errorf("%s: risk %s, want %s", pointers, r.Risk(), want)
		}
	}
}

// TestContext checks the number of context lines, and that --show-all shows a
// text that is otherwise truncated. JSON and YAML output is never truncated.
func TestContext(t *testing.T) {
	long := map[string]string{"t1.yaml": text1, "t2.yaml": strings.Replace(text1, "    5\n", "    five\n", 1)}
	var before, after strings.Builder
	for range 300 {
		before.WriteString("    old\n")
		after.WriteString("    new\n")
	}
	long["l1.yaml"], long["l2.yaml"] = text1+before.String(), text1+after.String()
	write(t, long)
	for flags, want := range map[string]int{"": 7, " --context 1": 3, " -U 0": 1, " -U 100": 9} {
		out, _, err := nuon(t.Context(), nil, "json", "manifests t1.yaml t2.yaml"+flags)
		var r model.Report
		if err != nil || json.Unmarshal([]byte(out), &r) != nil || len(r.Changes) != 1 ||
			len(r.Changes[0].Fields) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		kept := 0
		for _, l := range r.Changes[0].Fields[0].Lines {
			if l.Op != model.LineAdded && l.Op != model.LineSkipped {
				kept++
			}
		}
		if kept != want {
			t.Errorf("%s: %d lines of before, want %d", flags, kept, want)
		}
	}
	if out, _, err := nuon(t.Context(), nil, "table", "manifests l1.yaml l2.yaml"); err != nil ||
		strings.Count(out, "new") >= 300 {
		t.Errorf("%v, %d", err, strings.Count(out, "new"))
	}
	for _, format := range []string{"json", "yaml"} {
		if out, _, err := nuon(t.Context(), nil, "table", "manifests l1.yaml l2.yaml -o "+format); err != nil ||
			strings.Count(out, "text: new") != 300 && strings.Count(out, `"text": "new"`) != 300 {
			t.Errorf("-o %s is cut: %v, %d", format, err, strings.Count(out, "new"))
		}
	}
	if out, _, err := nuon(t.Context(), nil, "table", "manifests l1.yaml l2.yaml --show-all"); err != nil ||
		strings.Count(out, "new") != 300 {
		t.Errorf("%v, %d", err, strings.Count(out, "new"))
	}
}

// TestSecretFile checks that values of --secret-file are masked where nothing
// else marks them as secret.
func TestSecretFile(t *testing.T) {
	files := sides()
	files["plan.json"] = strings.Replace(plan, `"tag":"planted-secret"},"after_unknown"`,
		`"tag":"the planted-secret here"},"after_unknown"`, 1)
	write(t, files)
	out, _, err := nuon(t.Context(), nil, "table", "terraform plan.json")
	if err != nil || !strings.Contains(out, "planted-secret") {
		t.Errorf("without the file: %v, %s", err, out)
	}
	for _, format := range []string{"text", "side", "markdown", "json", "yaml"} {
		out, _, err := nuon(t.Context(), nil, "table",
			"terraform plan.json --show-all --secret-file known.txt -o "+format)
		if err != nil || strings.Contains(out, "planted") || !strings.Contains(out, "tag") {
			t.Errorf("-o %s: %v, %s", format, err, out)
		}
	}
}

// TestStdin checks that stdin can be any of the sides, or the plan.
func TestStdin(t *testing.T) {
	write(t, sides())
	for line, in := range map[string]string{"manifests - b.yaml": "a.yaml", "manifests a.yaml -": "b.yaml",
		"manifests a.yaml a.yaml --live -": "b.yaml", "terraform -": "plan.json"} {
		content, err := os.Open(in)
		if err != nil {
			t.Fatal(err)
		}
		if out, _, err := nuon(t.Context(), content, "table", line+" --exit-code"); exitcode.CodeOf(err) != 1 || out == "" {
			t.Errorf("%s: %v, %s", line, err, out)
		}
		_ = content.Close()
	}
}

// TestCtrlC checks that a command that waits for input can be canceled.
func TestCtrlC(t *testing.T) {
	write(t, sides())
	for _, line := range []string{"manifests - b.yaml", "terraform -"} {
		from, to := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, _, err := nuon(ctx, from, "table", line)
			done <- err
		}()
		if _, err := io.WriteString(to, "{"); err != nil { // returns when it was read
			t.Fatal(err)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", line, err)
		}
		_ = to.Close()
	}
}

// TestDiffers checks that differs counts what an apply would do or leave to
// do, and not what is ignored.
func TestDiffers(t *testing.T) {
	folded := func(rule string) model.Change {
		return model.Change{Address: "a", Action: model.Update, Fields: []model.FieldChange{{Path: "p", Fold: rule}}}
	}
	one := []model.Change{{Address: "a", Action: model.Create}}
	for name, c := range map[string]struct {
		report model.Report
		want   bool
	}{
		"nothing":                  {model.Report{}, false},
		"a change":                 {model.Report{Changes: one}, true},
		"an output":                {model.Report{Outputs: one}, true},
		"a hook":                   {model.Report{Hooks: one}, true},
		"a test":                   {model.Report{Tests: one}, true},
		"kept":                     {model.Report{Kept: one}, true},
		"deferred":                 {model.Report{Deferred: one}, true},
		"drift":                    {model.Report{Drift: one}, false},
		"drift that is taken over": {model.Report{Drift: one, Applyable: true}, true},
		"a chart label": {
			model.Report{Changes: []model.Change{folded("chart label")}, Applyable: true}, true},
		"ignored": {
			model.Report{Changes: []model.Change{folded("ignored by x")}, Applyable: true}, false},
		"ignored, and a chart label": {
			model.Report{Changes: []model.Change{folded("ignored by x"), folded("chart label")}, Applyable: true},
			true},
		"made anew at each rendering": {model.Report{Changes: []model.Change{folded("regenerated")}}, false},
		"that, and something else":    {model.Report{Changes: []model.Change{folded("regenerated"), one[0]}}, true},
		"a check that fails": {
			model.Report{Checks: []model.Check{{Address: "a", Status: model.CheckFail}}}, false},
		"a change that cannot be applied": {model.Report{Changes: one, Applyable: false}, true},
	} {
		if got := hasDifferences(&c.report); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
