package appconfig

import (
	"os"
	"path/filepath"
	"testing"
)

// Every real app must load without an error. NUON_CORPUS is a directory with one app in each directory.
func TestCorpus(t *testing.T) {
	corpus := os.Getenv("NUON_CORPUS")
	if corpus == "" {
		t.Skip("NUON_CORPUS is not set")
	}
	dirs, err := os.ReadDir(corpus)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue
		}
		app, found := Load(os.DirFS(filepath.Join(corpus, dir.Name())), Options{})
		if found.HasErrors() {
			t.Errorf("%s:\n%v", dir.Name(), found.Err())
			continue
		}
		t.Logf("%s: %d warnings\n%v", dir.Name(), len(found), found)
		counts["apps"]++
		counts["warnings"] += len(found)
		counts["terraform components"] += len(app.Components)
		counts["actions"] += len(app.Actions)
		counts["inputs"] += len(app.Inputs)
		counts["secrets"] += len(app.Secrets)
		counts["installs"] += len(app.Installs)
		roundTrip(t, app)
	}
	if counts["apps"] == 0 {
		t.Fatalf("there is no app in %s", corpus)
	}
	t.Logf("loaded %v", counts)
}
