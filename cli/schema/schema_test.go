package schema

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// run runs the command with an output format.
func run(t *testing.T, output string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: io.Discard, Output: output}})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// TestOne checks that the schema of a kind is printed by its name and by an alias, as
// JSON unless YAML is requested.
func TestOne(t *testing.T) {
	for _, args := range [][]string{{"table", "helm"}, {"json", "helm_chart"}} {
		out, err := run(t, args[0], args[1])
		var schema struct {
			Draft      string `json:"$schema"`
			Title      string
			Properties map[string]any
		}
		if err != nil || json.Unmarshal([]byte(out), &schema) != nil || schema.Title != "nuon: helm" ||
			schema.Draft == "" || schema.Properties["values_file"] == nil {
			t.Errorf("%v printed %.300s, %v", args, out, err)
		}
	}
	if out, err := run(t, "yaml", "sandbox"); err != nil || !strings.Contains(out, "\ntitle: 'nuon: sandbox'\n") {
		t.Errorf("printed %.300s, %v", out, err)
	}
}

// TestList checks that there is a row for each kind.
func TestList(t *testing.T) {
	out, err := run(t, "table")
	if err != nil || strings.Count(out, "\n") != len(format.Kinds()) ||
		!strings.Contains(out, "\nhelm\tcomponents/*.toml\thelm_chart\tA component of type helm_chart") {
		t.Errorf("printed %s, %v", out, err)
	}
	if out, err := run(t, "name"); err != nil || !strings.HasPrefix(out, "metadata\nsandbox\n") {
		t.Errorf("printed %s, %v", out, err)
	}
	if out, err := run(t, "json"); err != nil || !strings.Contains(out, `"paths": [`) {
		t.Errorf("printed %s, %v", out, err)
	}
}

// TestDirectory checks that a file is written for each kind, reproducibly, and a config for Taplo.
func TestDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for range 2 {
		out, err := run(t, "table", "--dir", "./editor//schemas")
		if err != nil || !strings.Contains(out, "cp editor/schemas/taplo.toml .taplo.toml") {
			t.Fatalf("printed %s, %v", out, err)
		}
	}
	found, err := filepath.Glob("editor/schemas/*")
	if err != nil || len(found) != len(format.Kinds())+1 {
		t.Errorf("wrote %v, %v", found, err)
	}
	rules, err := os.ReadFile("editor/schemas/taplo.toml")
	if err != nil || !strings.Contains(string(rules), `path = "editor/schemas/sandbox.json"`) {
		t.Errorf("wrote the rules\n%s\n%v", rules, err)
	}
	one, _ := run(t, "table", "sandbox")
	kept, err := os.ReadFile("editor/schemas/sandbox.json")
	if d := cmp.Diff(one, string(kept)); err != nil || d != "" {
		t.Errorf("the file differs from what is printed: %v\n%s", err, d)
	}
	if out, err := run(t, "json", "--dir", "x"); err != nil || !strings.Contains(out, `"directory": "x"`) ||
		!strings.Contains(out, `"helm.json"`) {
		t.Errorf("printed %s, %v", out, err)
	}
	if out, err := run(t, "table", "--dir", "editor/schemas/sandbox.json"); err == nil || out != "" {
		t.Errorf("wrote into a file: %s", out)
	}
}

// TestWrongUse checks that usage errors print nothing.
func TestWrongUse(t *testing.T) {
	for line, says := range map[string]string{"hlem": `did you mean "helm"?`,
		"weather-forecast": "list them with `nuon schema`", "helm --dir x": "remove helm"} {
		out, err := run(t, "table", strings.Fields(line)...)
		if exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), says) || out != "" {
			t.Errorf("%s printed %q, %v", line, out, err)
		}
	}
}

// TestCompletion checks that completion offers the kinds, for the first argument only.
func TestCompletion(t *testing.T) {
	if got, _ := Kinds(nil, nil, "he"); !cmp.Equal(got, []string{"helm\tcomponents/*.toml"}) {
		t.Errorf("offers %q", got)
	}
	if got, _ := Kinds(nil, []string{"helm"}, ""); len(got) > 0 {
		t.Errorf("offers %q", got)
	}
}
