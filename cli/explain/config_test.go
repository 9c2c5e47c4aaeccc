package explain

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// config runs `nuon explain config` on a console.
func config(t *testing.T, c *console.Console, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	c.Out, c.Err = &out, io.Discard
	command := New(&cmdenv.Env{Console: c})
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append([]string{"config"}, args...))
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

// TestConfigKey checks that all facts about a key are printed, in a pipe one per line.
func TestConfigKey(t *testing.T) {
	out, err := config(t, &console.Console{Output: "table"}, "values_file.contents")
	want := `helm.values_file.contents

  The values, as YAML.

  type      text
  was       source
  template  rendered for each install; can read {{.nuon.…}} (see docs/config.md)
  file      can be a reference to a file with the text: ./ ../ https:// git:: or file://, from the directory of this file, else from components/
  in        components/*.toml

    [[values_file]]
    contents = "./values/api.yaml"
`
	if d := cmp.Diff(want, out); err != nil || d != "" {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

// TestConfigWraps checks that long facts are wrapped to the width of the terminal,
// indented below their label.
func TestConfigWraps(t *testing.T) {
	out, err := config(t, &console.Console{Output: "table", OutIsTerminal: true, Width: 60}, "triggers.type")
	if err != nil || !strings.Contains(out,
		"\n  one of    manual, cron, pre-provision, post-provision,\n            pre-reprovision, post-reprovision,") {
		t.Errorf("printed %s, %v", out, err)
	}
	for line := range strings.Lines(out) {
		if len(line) > 61 {
			t.Errorf("has a line of %d bytes: %s", len(line), line)
		}
	}
}

// TestLookUp checks that keys are found by all the ways in which people name them.
func TestLookUp(t *testing.T) {
	for query, want := range map[string]string{
		"sandbox": "kind sandbox", "helm_chart": "kind helm", "component-root": "kind component",
		"helm.values_file.contents": "helm.values_file.contents",
		"component.values_file":     "helm.values_file", "component.dependencies": "component.dependencies",
		"helm.dependencies": "helm.dependencies",
		"triggers.type":     "action.triggers.type", "cron_schedule": "action.triggers.cron_schedule",
		"drift_schedule":                  "sandbox.drift_schedule",
		"action.steps[0].env_vars.REGION": "action.steps.env_vars", `helm.values."image.tag"`: "helm.values",
		"[[steps]].command":  "action.steps.command runbook.steps.command",
		"values_file.source": "helm.values_file.contents", "helm.value": "helm.value",
		"install.component_toggles.cache": "install.component_toggles",
		"installs":                        "kind installs", "runner.runner_type": "runner.runner_type",
		"stack.name": "stack.name", "full.components": "full.components", "config_vars": "",
		"": "", ".": "", "nonsense": "", "sandbox.nonsense": "", "sandbox.source.x": "", "runbook.cells.x.y": "runbook.cells",
		strings.Repeat("a.", 5000): "",
	} {
		if got := told(lookUp(query)); got != want {
			t.Errorf("%.60s is %q, want %q", query, got, want)
		}
	}
}

// told formats an answer on one line: its kinds, and the first location of each of its keys.
func told(a answer) string {
	var words []string
	for _, k := range a.Kinds {
		words = append(words, "kind "+k.Name)
	}
	for _, k := range a.Keys {
		words = append(words, k.At[0])
	}
	return strings.Join(words, " ")
}

// TestEveryKeyIsFound checks that kind and path identify a key uniquely.
func TestEveryKeyIsFound(t *testing.T) {
	for _, k := range format.Kinds() {
		walk(k.Keys(), func(key format.Key) {
			found := lookUp(k.Name + "." + key.Path)
			if len(found.Keys) != 1 || found.Keys[0].Path != key.Path {
				t.Errorf("%s.%s is %s", k.Name, key.Path, told(found))
			}
		})
	}
}

// TestConfigKind checks that a kind is printed with its keys and an example file,
// followed by keys of the same name.
func TestConfigKind(t *testing.T) {
	out, err := config(t, &console.Console{Output: "table"}, "policies")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"policies  policies.toml\n\n  Checks that plans and manifests must pass.\n\n",
		"policy.contents\ttext\tyes\tA ClusterPolicy of Kyverno", "\n    [[policy]]\n    type     = \"sandbox\"\n",
		"\nKeys with this name:\n\npermissions.provision_role.policies (and 5 more)\tarray of tables\t",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	out, _ = config(t, &console.Console{Output: "table"}, "helm")
	if strings.Contains(out, "\nvalue\t") ||
		!strings.HasPrefix(out, "helm  components/*.toml, type = \"helm_chart\"\n") {
		t.Errorf("printed %s", out)
	}
	if out, _ = config(t, &console.Console{Output: "table"}, "full"); strings.Contains(out, "sandbox.vars\t") ||
		!strings.Contains(out, "sandbox\ttable\t") {
		t.Errorf("printed %s", out)
	}
}

// TestConfigList checks that there is a row for each kind.
func TestConfigList(t *testing.T) {
	out, err := config(t, &console.Console{Output: "table"})
	if err != nil || strings.Count(out, "\n") != len(format.Kinds()) ||
		!strings.HasPrefix(out, "metadata\tmetadata.toml\t") {
		t.Errorf("printed %s, %v", out, err)
	}
}

// TestConfigStray checks that for a common mistake, the output names the key to use instead.
func TestConfigStray(t *testing.T) {
	out, err := config(t, &console.Console{Output: "table"}, "helm.timeout")
	if err != nil || !strings.Contains(out, "  Not a key of the format: write deploy_timeout or build_timeout.\n") ||
		strings.Contains(out, "type ") {
		t.Errorf("printed %s, %v", out, err)
	}
}

// TestConfigAsData checks the description of a key as data.
func TestConfigAsData(t *testing.T) {
	out, err := config(t, &console.Console{Output: "json"}, "secret.kubernetes_sync_targets.key")
	var got answer
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got.Keys) != 1 {
		t.Fatalf("printed %s, %v", out, err)
	}
	k := got.Keys[0]
	if d := cmp.Diff([]any{[]string{"secret.kubernetes_sync_targets.key"}, []string{"secrets/*.toml"},
		"kubernetes_sync_targets.key", format.String, "value", "[[kubernetes_sync_targets]]\nkey = \"value\"\n"},
		[]any{k.At, k.Files, k.Path, k.Type, k.Default, k.TOML}); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if out, err := config(t, &console.Console{Output: "yaml"}, "sandbox"); err != nil ||
		!strings.HasPrefix(out, "kinds:\n- description: ") || !strings.Contains(out, "\n  name: sandbox\n") {
		t.Errorf("printed %.300s, %v", out, err)
	}
}

// TestConfigUnknown checks that an unknown name is a usage error with the nearest name.
func TestConfigUnknown(t *testing.T) {
	for query, says := range map[string]string{"hlem.values": `did you mean "helm.values"?`,
		"sandbx": `did you mean "sandbox"?`, "zzzzzzzzzz": "list the kinds of file"} {
		out, err := config(t, &console.Console{Output: "table"}, query)
		if exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), says) || out != "" {
			t.Errorf("%s printed %q, %v", query, out, err)
		}
	}
	if _, err := config(t, &console.Console{Output: "table"}, "a", "b"); err == nil {
		t.Error("took two keys")
	}
}

// TestConfigCompletion checks that completion offers kinds, and after a dot the
// current keys of a kind.
func TestConfigCompletion(t *testing.T) {
	for word, want := range map[string][]string{
		"hel":        {"helm\tcomponents/*.toml"},
		"helm.value": {"helm.values\t", "helm.values_file\t", "helm.values_file.contents\t", "helm.values_file.path\t"},
		"nonsense.":  nil,
	} {
		got, _ := configKeys(nil, nil, word)
		ok := len(got) == len(want)
		for i := range min(len(got), len(want)) {
			ok = ok && strings.HasPrefix(got[i], want[i])
		}
		if !ok {
			t.Errorf("%s offers %q", word, got)
		}
	}
	if got, _ := configKeys(nil, []string{"helm"}, ""); got != nil {
		t.Errorf("offers %q", got)
	}
}
