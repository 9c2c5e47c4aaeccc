package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkHelm compares `nuon diff helm` on two versions of the chart of examples/shop with what a
// person can do without it: two `helm template` and a `git diff` of their outputs. Ours renders
// each version twice, to find what is random.
func BenchmarkHelm(b *testing.B) {
	program := nuon(b)
	b.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH")) // runnerd renders
	helm := helmProgram(b)
	before, after := filepath.Join("..", "..", "examples", "shop", "chart"), filepath.Join(b.TempDir(), "chart")
	if err := os.CopyFS(after, os.DirFS(before)); err != nil {
		b.Fatal(err)
	}
	replace(b, filepath.Join(after, "values.yaml"), "replicas: 1", "replicas: 3")

	var ours, peer times
	for b.Loop() {
		ours = append(ours, process(b, 0, program, "diff", "helm", before, after).Time)

		names := [2]string{filepath.Join(b.TempDir(), "before.yaml"), filepath.Join(b.TempDir(), "after.yaml")}
		var total time.Duration
		for i, chart := range []string{before, after} {
			total += process(b, 0, helm, "template", "shop", chart, "--output-dir", names[i]).Time
		}
		total += process(b, 1, "git", "diff", "--no-index", names[0], names[1]).Time
		peer = append(peer, total)
	}
	ours.report(b)
	ours.per(b, peer, "x-helm-template")
}

// helmProgram builds the helm of go.mod.
func helmProgram(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "helm")
	cmd := exec.Command("go", "build", "-trimpath", "-o", bin, "helm.sh/helm/v3/cmd/helm")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// replace changes a text in a file, which must have it.
func replace(b *testing.B, name, before, after string) {
	b.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	changed := strings.Replace(string(content), before, after, 1)
	if changed == string(content) {
		b.Fatalf("%s has no %q", name, before)
	}
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		b.Fatal(err)
	}
}
