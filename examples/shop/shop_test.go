// Package shop_test checks the example: its config has no errors or warnings, all files that it
// names exist, and its deploy order is that of its README.
package shop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

func TestConfig(t *testing.T) {
	app, found := appconfig.Load(os.DirFS("."), appconfig.Options{})
	if len(found) > 0 {
		t.Fatalf("the example has diagnostics:\n%v", found)
	}
	if diff := cmp.Diff([][]string{{"database"}, {"shop"}, {"settings"}}, app.Order()); diff != "" {
		t.Errorf("order:\n%s", diff)
	}
	for name, file := range map[string]string{"database": "main.tf", "shop": "Chart.yaml"} {
		c, _ := app.Component(name)
		directory, ok := strings.CutPrefix(c.Source.Directory, "examples/shop/")
		if !c.Source.IsAppRepository() || !ok {
			t.Errorf("%s comes from %+v", name, c.Source)
		}
		if _, err := os.Stat(filepath.Join(directory, file)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if input, ok := app.Input("database_password"); !ok || !input.Sensitive {
		t.Error("database_password is not a sensitive input")
	}
	if action, ok := app.Action("look"); !ok || !action.KubeConfig {
		t.Error("the action look has no kubeconfig")
	}
	if len(app.Installs) != 1 {
		t.Errorf("%d installs, want 1", len(app.Installs))
	}
}
