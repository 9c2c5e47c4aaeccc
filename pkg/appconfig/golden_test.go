package appconfig

import (
	"cmp"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// goldens has the expected diagnostics of several configs, by name. -update writes the actual ones.
type goldens struct {
	file string
	told map[string]string
}

func goldensOf(t *testing.T, file string) *goldens {
	t.Helper()
	g := &goldens{file, map[string]string{}}
	archive, err := txtar.ParseFile(file)
	if err != nil && !golden.Updating() {
		t.Fatal(err)
	}
	if golden.Updating() {
		t.Cleanup(func() { g.write(t) })
		return g
	}
	for _, f := range archive.Files {
		g.told[f.Name] = string(f.Data)
	}
	return g
}

func (g *goldens) check(t *testing.T, name string, found Diagnostics) {
	t.Helper()
	got := found.String()
	if got != "" {
		got += "\n"
	}
	if golden.Updating() {
		g.told[name] = got
		return
	}
	want, there := g.told[name]
	if !there {
		t.Errorf("%s does not have %q", g.file, name)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("diagnostics:\n%s", diff)
	}
}

func (g *goldens) write(t *testing.T) {
	archive := &txtar.Archive{}
	for name, told := range g.told {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(told)})
	}
	slices.SortFunc(archive.Files, func(a, b txtar.File) int { return cmp.Compare(a.Name, b.Name) })
	if err := os.WriteFile(g.file, txtar.Format(archive), 0o644); err != nil { //nolint:gosec // it is a file of the repository
		t.Fatal(err)
	}
}
