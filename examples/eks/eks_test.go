// Package eks_test checks the example: its config has no errors or warnings, all files that it
// names exist, and its deploy order is that of its README.
package eks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

func TestConfig(t *testing.T) {
	app, found := appconfig.Load(os.DirFS("."), appconfig.Options{})
	if len(found) > 0 {
		t.Fatalf("the example has diagnostics:\n%v", found)
	}
	if diff := cmp.Diff([][]string{{"files"}, {"page"}}, app.Order()); diff != "" {
		t.Errorf("order:\n%s", diff)
	}
	files := map[string]string{"files": "main.tf", "page": "Chart.yaml"}
	for i := range app.Components {
		files[app.Components[i].Name] = filepath.Join(app.Components[i].Source.Directory, files[app.Components[i].Name])
	}
	files["sandbox"] = filepath.Join(app.Sandbox.Source.Directory, "versions.tf")
	for name, file := range files {
		if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
