package app_test

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/appcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// base returns the config that every situation changes.
func base(t *testing.T) map[string]string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

// side returns the base config with the files of one side of a situation; an empty file is removed.
func side(t *testing.T, name string, a *txtar.Archive) *appconfig.App {
	t.Helper()
	files := base(t)
	for _, f := range a.Files {
		if file, ours := strings.CutPrefix(f.Name, name+"/"); ours {
			files[file] = string(f.Data)
		}
	}
	fsys := fstest.MapFS{}
	for file, text := range files {
		if text != "" {
			fsys[file] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
	}
	return load(t, fsys)
}

// codeOf returns the code of one side: the files of the repository acme/infra.
func codeOf(t *testing.T, name string, config *appconfig.App, a *txtar.Archive) appcode.Side {
	t.Helper()
	b := gittree.NewBuilder(nil)
	for _, f := range a.Files {
		if file, ours := strings.CutPrefix(f.Name, name+"-code/"); ours {
			if err := b.Add(file, 0o600, f.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	tree, err := b.Tree()
	if err != nil {
		t.Fatal(err)
	}
	return appcode.Side{App: config, Tree: tree, Repository: "acme/infra", Branch: "main"}
}

func load(t *testing.T, fsys fs.FS) *appconfig.App {
	t.Helper()
	config, found := appconfig.Load(fsys, appconfig.Options{})
	if config == nil {
		t.Fatal(found)
	}
	return config
}

// TestSituations shows the report of each change and its consequences.
func TestSituations(t *testing.T) {
	files, err := filepath.Glob("testdata/situations/*.txtar")
	if err != nil || len(files) < 25 {
		t.Fatal("there are too few situations: ", len(files), err)
	}
	fired := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before, after := side(t, "old", a), side(t, "new", a)
			var code map[string]appcode.Change
			if bytes.Contains(txtar.Format(a), []byte("-code/")) {
				if code, err = appcode.Compare(codeOf(t, "old", before, a), codeOf(t, "new", after, a)); err != nil {
					t.Fatal(err)
				}
			}
			r, err := app.Report(before, after, app.Options{Code: code})
			if err != nil {
				t.Fatal(err)
			}
			check(t, r)
			for _, c := range r.Changes {
				for _, found := range c.Findings {
					fired[found.Rule] = true
				}
			}
			var got bytes.Buffer
			if err := terminal.Render(&got, r, terminal.Options{Width: 120}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got.String(), "planted") {
				t.Errorf("a planted secret is shown:\n%s", got.String())
			}
			checkWanted(t, file, a, got.Bytes())
		})
	}
	for _, rule := range app.Rules() {
		if !fired[rule.Name] {
			t.Errorf("no situation makes %s say something", rule.Name)
		}
	}
}

// checkWanted compares a report with the one that a file of a situation ends with.
func checkWanted(t *testing.T, file string, a *txtar.Archive, got []byte) {
	t.Helper()
	last := len(a.Files) - 1
	if a.Files[last].Name != "want.txt" {
		a.Files = append(a.Files, txtar.File{Name: "want.txt"})
		last++
	}
	if golden.Updating() {
		a.Files[last].Data = got
		golden.Write(t, file, txtar.Format(a))
		return
	}
	if d := cmp.Diff(string(a.Files[last].Data), string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// check verifies what must hold for every report.
func check(t interface {
	Helper()
	Fatal(...any)
}, r *diff.Report) {
	t.Helper()
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Changes {
		if len(c.Fields) == 0 || len(c.Findings) == 0 {
			t.Fatal(c.Address, " says nothing of what changes, or of what follows")
		}
	}
}
