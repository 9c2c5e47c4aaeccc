package kubernetes_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestSituations compares the rendered text with the expected one, in situations that
// users complain about. The comment at the top of each file describes the complaint.
func TestSituations(t *testing.T) {
	files, err := filepath.Glob("testdata/situations/*.txtar")
	if err != nil || len(files) < 40 {
		t.Fatalf("only %d situations: %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { situation(t, name) })
	}
}

func situation(t *testing.T, name string) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	o := kubernetes.Options{Namespace: strings.TrimSpace(string(files["namespace"]))}
	if live, ok := files["live.yaml"]; ok {
		o.Live, o.ThreeWay = source("live.yaml", live), true
	}
	if again, ok := files["again.yaml"]; ok {
		o.Again = source("again.yaml", again)
	}
	report, err := kubernetes.Report(source("before.yaml", files["before.yaml"]),
		source("after.yaml", files["after.yaml"]), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Validate(); err != nil {
		t.Errorf("the report is not valid: %v", err)
	}
	var got bytes.Buffer
	if err := terminal.Render(&got, report, terminal.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if golden.Updating() {
		write(t, name, archive, got.Bytes())
		return
	}
	if want := string(files["want.txt"]); got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s\n(go test ./diff/kubernetes -update writes what it is now; read it)",
			got.String(), want)
	}
}

func write(t *testing.T, name string, archive *txtar.Archive, want []byte) {
	t.Helper()
	kept := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != "want.txt" {
			kept = append(kept, f)
		}
	}
	archive.Files = append(kept, txtar.File{Name: "want.txt", Data: want})
	golden.Write(t, name, txtar.Format(archive))
}

func source(name string, data []byte) []manifest.Source {
	return []manifest.Source{{Name: name, Data: data}}
}

// compare returns the report of two texts.
func compare(t *testing.T, before, after string, o kubernetes.Options) *diff.Report {
	t.Helper()
	report, err := kubernetes.Report(source("before.yaml", []byte(before)), source("after.yaml", []byte(after)), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Validate(); err != nil {
		t.Errorf("the report is not valid: %v", err)
	}
	return report
}
