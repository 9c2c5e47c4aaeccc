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

// BenchmarkValidate loads every app, with all checks. The baseline reads the same TOML files and
// decodes each with go-toml into a map[string]any, without checking the format or the files that
// they refer to.
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

// TestMade requires the generated apps to be valid, so that the benchmark measures a complete run
// and not one that stops at the first error.
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
		if files := len(tomlFiles(t, dir)); files < 15 || len(app.Components) < 5 || len(app.Policies) == 0 ||
			len(app.Actions) == 0 {
			t.Errorf("%s has only %d files", filepath.Base(dir), files)
		}
	}
}

// apps returns the directories of the apps to measure.
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

// sections are the directories whose files belong to the format; others are payload.
var sections = []string{
	"components", "actions", "runbooks", "installs", "inputs", "input_groups", "secrets", "permissions", "break_glass",
	"kubernetes_contexts",
	"policies", "branches",
}

// tomlFiles returns the config files of an app.
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

// times are the durations of all runs of one task.
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
