package bench

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// BenchmarkValidate loads every app, with all checks. The peer reads the same TOML files and decodes each with go-toml into a
// map[string]any, which tells nothing about the format and nothing about the files that these refer to.
func BenchmarkValidate(b *testing.B) {
	dirs := apps(b)
	var ours, decoded times
	for b.Loop() {
		ours.take(func() { validate(b, dirs) })
		decoded.take(func() { decode(b, dirs) })
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1000*ours.median().Seconds(), "ms")
	b.ReportMetric(ours.median().Seconds()/decoded.median().Seconds(), "x-toml")
	b.ReportMetric(float64(len(dirs)), "apps")
}

// TestMade: the apps that are made are right, so that what is measured is the whole way and not the way to the first mistake.
func TestMade(t *testing.T) {
	dirs := made(t)
	if len(dirs) != madeApps {
		t.Fatalf("made %d apps", len(dirs))
	}
	for _, dir := range dirs {
		app, found := appconfig.Load(os.DirFS(dir), appconfig.Options{})
		if app == nil {
			t.Fatalf("%s: %v", filepath.Base(dir), found.Err())
		}
		if files := len(tomlFiles(t, dir)); files < 15 || len(app.Components) < 5 || len(app.Policies) == 0 || len(app.Actions) == 0 {
			t.Errorf("%s has only %d files", filepath.Base(dir), files)
		}
	}
}

// apps gives the directories of the apps that are measured.
func apps(b *testing.B) []string {
	b.Helper()
	root := os.Getenv("NUON_CORPUS")
	if root == "" {
		return made(b)
	}
	dirs, err := filepath.Glob(filepath.Join(root, "*", "metadata.toml"))
	if err != nil || len(dirs) == 0 {
		b.Fatalf("there is no app in %s: %v", root, err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

func validate(b *testing.B, dirs []string) {
	b.Helper()
	for _, dir := range dirs {
		if app, found := appconfig.Load(os.DirFS(dir), appconfig.Options{}); app == nil {
			b.Fatalf("%s: %v", dir, found.Err())
		}
	}
}

func decode(b *testing.B, dirs []string) {
	b.Helper()
	for _, dir := range dirs {
		for _, file := range tomlFiles(b, dir) {
			data, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			var all map[string]any
			if err := toml.Unmarshal(data, &all); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// sections are the directories whose files are those of the format; others hold payload.
var sections = []string{
	"components", "actions", "runbooks", "installs", "inputs", "input_groups", "secrets", "permissions", "break_glass", "kubernetes_contexts",
	"policies", "branches",
}

// tomlFiles finds the files of an app's config.
func tomlFiles(tb testing.TB, dir string) []string {
	tb.Helper()
	var files []string
	add := func(below string) {
		err := fs.WalkDir(os.DirFS(dir), below, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && below == "." && name != ".":
				return fs.SkipDir
			case strings.HasSuffix(name, ".toml"):
				files = append(files, filepath.Join(dir, filepath.FromSlash(name)))
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	add(".")
	for _, section := range sections {
		if info, err := os.Stat(filepath.Join(dir, section)); err == nil && info.IsDir() {
			add(section)
		}
	}
	return files
}

// times are how long one thing took, each time.
type times []time.Duration

func (t *times) take(what func()) {
	start := time.Now()
	what()
	*t = append(*t, time.Since(start))
}

func (t times) median() time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[len(sorted)/2]
}
