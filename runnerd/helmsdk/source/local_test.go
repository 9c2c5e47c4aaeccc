package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadLocal(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"repo/.git/HEAD": "x", "repo/secret.txt": "not read",
		"repo/deploy/web/Chart.yaml":       yamlOf("web", "1.0.0", needs("a 1 file://../a")),
		"repo/deploy/web/templates/x.yaml": "x",
		"repo/deploy/a/Chart.yaml":         yamlOf("a", "1.0.0", needs("b 1 file://../../b")),
		"repo/b/Chart.yaml":                yamlOf("b", "1.0.0"),
		"plain/Chart.yaml":                 yamlOf("plain", "1.0.0"), "plain/values.yaml": "",
		"linked/.git/HEAD": "x", "linked/app/Chart.yaml": yamlOf("app", "1.0.0"), "linked/app/charts/lib": "-> ../../now",
		"linked/now": "-> lib", "linked/lib/Chart.yaml": yamlOf("lib", "1.0.0"),
		"linked/app/charts/inner/Chart.yaml": yamlOf("inner", "1.0.0", needs("side 1 file://../../../side")),
		"linked/side/Chart.yaml":             yamlOf("side", "1.0.0"),
		"leak/.git/HEAD":                     "x", "leak/Chart.yaml": yamlOf("leak", "1.0.0"),
		"leak/values.yaml": "-> ../repo/secret.txt",
		"out/.git/HEAD":    "x", "out/Chart.yaml": yamlOf("out", "1.0.0", needs("b 1 file://../repo/b")),
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, is := strings.CutPrefix(content, "-> "); is {
			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"repo/deploy/web": "deploy/web: b/Chart.yaml deploy/a/Chart.yaml deploy/web/Chart.yaml deploy/web/templates/x.yaml",
		"plain":           "plain: plain/Chart.yaml plain/values.yaml",
		"out":             ".: Chart.yaml",
		"linked/app": "app: app/Chart.yaml app/charts/inner/Chart.yaml app/charts/lib lib/Chart.yaml now " +
			"side/Chart.yaml",
	} {
		files, at, err := ReadLocal(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := at + ": " + pathsOf(&Chart{Files: files}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		_, err = New(Options{}).FromTree(t.Context(), files, at)
		if (err != nil) != (name == "out") || err != nil && !strings.Contains(err.Error(), "leads out of the repository") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := ReadLocal(filepath.Join(dir, "leak"))
	refused(t, err, "values.yaml", "leads out of the tree")
	if _, _, err := ReadLocal(filepath.Join(dir, "none")); err == nil {
		t.Error("there is no such directory")
	}
}
