package terraform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/markdown"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/diff/terraform"
	"github.com/nuon-toolkit/nuon/pkg/golden"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestRealPlans runs the real Terraform over small modules, from before.tf to a plan of after.tf,
// and compares every rendering with its golden file.
func TestRealPlans(t *testing.T) {
	modules, err := filepath.Glob("testdata/modules/*")
	if err != nil || len(modules) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for _, dir := range modules {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			checkGolden(t, filepath.Base(dir), stableIDs(planOf(t, dir)))
		})
	}
}

// TestRarePlans covers plans that the built-in resources cannot produce.
func TestRarePlans(t *testing.T) {
	plans, err := filepath.Glob("testdata/plans/*.json")
	if err != nil || len(plans) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, file := range plans {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			checkGolden(t, strings.TrimSuffix(filepath.Base(file), ".json"), data)
		})
	}
}

// checkGolden compares all renderings of a plan with golden files, and checks what must hold for any
// plan.
func checkGolden(t *testing.T, name string, plan []byte) {
	t.Helper()
	r, err := terraform.Report(bytes.NewReader(plan), terraform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, r)
	for ext, text := range renderings(t, r) {
		if strings.Contains(text, "planted") {
			t.Errorf("a planted secret is in the %s rendering:\n%s", ext, text)
		}
		golden.Check(t, filepath.Join("testdata", "golden", name+"."+ext), text)
	}
}

func checkReport(t *testing.T, r *diff.Report) {
	t.Helper()
	if err := r.Validate(); err != nil {
		t.Errorf("the report is not valid: %v", err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back diff.Report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, &back); d != "" {
		t.Errorf("the report is different after JSON:\n%s", d)
	}
	if r.Digest() != back.Digest() {
		t.Error("the digest is different after JSON")
	}
}

// renderings returns all rendered forms of a report by file extension.
func renderings(t interface {
	Helper()
	Fatal(...any)
}, r *diff.Report) map[string]string {
	t.Helper()
	out := map[string]string{}
	render := func(ext string, f func(*bytes.Buffer) error) {
		var buf bytes.Buffer
		if err := f(&buf); err != nil {
			t.Fatal(err)
		}
		out[ext] = buf.String()
	}
	render("txt", func(b *bytes.Buffer) error { return terminal.Render(b, r, terminal.Options{}) })
	render("all.txt", func(b *bytes.Buffer) error {
		return terminal.Render(b, r, terminal.Options{All: true, Width: 60})
	})
	render("ansi", func(b *bytes.Buffer) error { return terminal.Render(b, r, terminal.Options{Color: true, Width: 100}) })
	render("md", func(b *bytes.Buffer) error { return markdown.Render(b, r, markdown.Options{}) })
	render("json", func(b *bytes.Buffer) error {
		enc := json.NewEncoder(b)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	})
	return out
}

// planOf applies before.tf, then plans after.tf and returns the plan's JSON.
func planOf(t *testing.T, module string) []byte {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Fatal("this test needs terraform on the PATH: install Terraform 1.11 or newer")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	rc := filepath.Join(dir, "cli.tfrc")
	if err := os.WriteFile(rc, []byte("disable_checkpoint = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	use := func(name string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"before.tf", "after.tf"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	use("before.tf")
	terraformRun(t, dir, rc, "init", "-input=false", "-no-color")
	terraformRun(t, dir, rc, "apply", "-auto-approve", "-input=false", "-no-color")
	use("after.tf")
	terraformRun(t, dir, rc, "init", "-input=false", "-no-color")
	terraformRun(t, dir, rc, "plan", "-out=plan.bin", "-input=false", "-no-color")
	return terraformRun(t, dir, rc, "show", "-json", "plan.bin")
}

func terraformRun(t *testing.T, dir, rc string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(testtime.Context(t), "terraform", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("terraform %s: %v\n%s%s", args[0], err, out, stderr.String())
	}
	return out
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// stableIDs replaces the random ids that Terraform generated with numbers, in order of appearance.
func stableIDs(plan []byte) []byte {
	seen := map[string]string{}
	return uuid.ReplaceAllFunc(plan, func(id []byte) []byte {
		if _, ok := seen[string(id)]; !ok {
			seen[string(id)] = fmt.Sprintf("id-%d", len(seen)+1)
		}
		return []byte(seen[string(id)])
	})
}
