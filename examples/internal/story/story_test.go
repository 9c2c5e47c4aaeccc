package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestStories runs every example's story with programs built from this tree.
func TestStories(t *testing.T) {
	repo, err := root()
	if err != nil {
		t.Fatal(err)
	}
	bin := programs(t, repo)
	var stories []string
	for _, dir := range []string{"examples", filepath.Join("examples", "internal")} {
		found, err := filepath.Glob(filepath.Join(repo, dir, "*", "story*.txtar"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no stories in %s: %v", filepath.Join(repo, dir), err)
		}
		stories = append(stories, found...)
	}
	turns := make(chan struct{}, runtime.NumCPU()+1)
	for _, file := range stories {
		// The name becomes that of a directory with repositories, so it must be valid in a URL.
		name := filepath.Base(filepath.Dir(file)) + "-" + strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			if none := os.Getenv("NUON_TEST_NO_CLUSTER"); none != "" && has(t, file, "\ncluster ") {
				t.Skip("no Kubernetes: " + none)
			}
			if testing.Short() && has(t, file, "\n[short] skip\n") { // which would give no reason
				t.Skip("takes minutes; make test LONG=1 runs it")
			}
			// Each story has its own directory, ports and Postgres. More concurrent stories than
			// busy processors would take a third more processor time in total: waiting systems poll
			// for work, and their stories poll for results.
			t.Parallel()
			dir, err := place()
			if err != nil {
				t.Fatal(err)
			}
			// the story itself runs after this function has returned
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			story := &teller{bin: bin, repo: repo, loud: io.Discard, turns: turns}
			testscript.Run(t, story.params([]string{file}, dir))
		})
	}
}

// has reports whether a story contains a text.
func has(t *testing.T, file, text string) bool {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(content), text)
}

// programs returns the directory of nuon, reconciler and runnerd: NUON_BIN, where `make` has just
// built them, otherwise a directory into which it builds them.
func programs(t testing.TB, repo string) string {
	t.Helper()
	if bin := os.Getenv("NUON_BIN"); filepath.IsAbs(bin) {
		return bin
	} else if bin != "" {
		t.Fatalf("NUON_BIN is %s; name the directory of the programs by its absolute path", bin)
	}
	bin := t.TempDir()
	for name, dir := range map[string]string{"nuon": "./cli", "reconciler": "./reconciler", "runnerd": "./runnerd"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o",
			filepath.Join(bin, name), dir)
		cmd.Dir, cmd.Env = repo, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return bin
}
