package jsonschema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/jsonschema"
)

// TestTaploRules: each file path has one schema.
func TestTaploRules(t *testing.T) {
	var file struct {
		Rule []struct {
			Include []string
			Schema  struct{ Path string }
		}
	}
	if err := toml.Unmarshal([]byte(jsonschema.TaploRules("editor/schemas")), &file); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range file.Rule {
		for _, glob := range r.Include {
			if got[glob] != "" {
				t.Errorf("%s has two schemas", glob)
			}
			got[glob] = r.Schema.Path
		}
	}
	for glob, want := range map[string]string{
		"**/sandbox.toml": "sandbox", "**/components/**/*.toml": "component", "**/break_glass.toml": "break-glass",
		"**/break_glass/**/*.toml":         "break-glass-role",
		"**/kubernetes_contexts/**/*.toml": "kubernetes-context", "**/permissions/**/*.toml": "role",
		"**/permissions.toml": "permissions", "**/nuon.*.toml": "full",
		"**/branch.toml": "branch", "**/branches/**/*.toml": "branch",
	} {
		if d := cmp.Diff("editor/schemas/"+want+".json", got[glob]); d != "" {
			t.Errorf("%s: %s", glob, d)
		}
	}
	places := map[string]bool{}
	for _, k := range format.Kinds() {
		for _, p := range k.Paths {
			places[p] = true
		}
	}
	if len(got) != len(places) {
		t.Errorf("%d of %d places have a schema: %v", len(got), len(places), got)
	}
}
