package format_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// TestSnippets: each is TOML in which the key is, at its path.
func TestSnippets(t *testing.T) {
	for _, k := range format.Kinds() {
		visit(k.Keys(), func(key format.Key) {
			text := k.Snippet(key.Path)
			if key.Unsupported || key.Removed {
				if text != "" {
					t.Errorf("%s %s has the snippet\n%s", k.Name, key.Path, text)
				}
				return
			}
			var file map[string]any
			if err := toml.Unmarshal([]byte(text), &file); err != nil || !holds(file, strings.Split(key.Path, ".")) {
				t.Errorf("%s %s has the snippet\n%s\n%v", k.Name, key.Path, text, err)
			}
		})
	}
	helm, _ := format.FindKind("helm")
	action, _ := format.FindKind("action")
	if got, want := action.Snippet("steps.public_repo.repo"), "[[steps]]\n[steps.public_repo]\nrepo = "+
		"\"acme/infra\"\n"; got != want {
		t.Errorf("the snippet is\n%s, want\n%s", got, want)
	}
	for path, want := range map[string]string{
		"values_file.contents": "[[values_file]]\ncontents = \"./values/api.yaml\"\n",
		"values":               "[values]\n\"image.tag\" = \"{{.nuon.components.api_image.outputs.image.tag}}\"\n",
		"skip_noops":           "skip_noops = true\n", "dependencies": "dependencies = [\"database\"]\n",
		"helm_repo":                 "[helm_repo]\nrepo_url = \"https://charts.example.com\"\nchart = \"ledger-api\"\n",
		"operation_roles.operation": "[[operation_roles]]\noperation = \"deploy\"\n",
		"max_auto_retries":          "max_auto_retries = 1\n", "nonsense": "", "value": "",
	} {
		if got := helm.Snippet(path); got != want {
			t.Errorf("%s has the snippet\n%s, want\n%s", path, got, want)
		}
	}
}

// holds finds a path in decoded TOML, in the first of an array of tables.
func holds(value any, path []string) bool {
	if list, ok := value.([]any); ok && len(list) > 0 && len(path) > 0 {
		value = list[0]
	}
	if len(path) == 0 {
		return true
	}
	table, ok := value.(map[string]any)
	if !ok {
		return false
	}
	below, ok := table[path[0]]
	return ok && holds(below, path[1:])
}

// TestExamplesAreRight: an example is one of the values that its key can have, in the format that it must
// have, and is needed where nothing else is a value.
func TestExamplesAreRight(t *testing.T) {
	for _, k := range format.Kinds() {
		visit(k.Keys(), func(key format.Key) {
			at := k.Name + " " + key.Path
			switch {
			case key.Type == format.String && !key.Unsupported && !key.Removed && key.Example == "" && key.Default == "" &&
				key.Values == nil && key.Suggested == nil:
				t.Errorf("%s has no example", at)
			case (key.Type == format.Map || key.Type == format.MergedMap || key.Type == format.Flags ||
				key.Type == format.TypedMap) && !strings.Contains(key.Example, "="):
				t.Errorf("%s has the example %q", at, key.Example)
			case key.Example != "" && key.Values != nil && !slices.Contains(key.Values, key.Example), key.Example != "" &&
				key.Suggested != nil && !slices.Contains(key.Suggested, key.Example):
				t.Errorf("the example of %s is none of its values", at)
			}
			if key.Example != "" && !key.File {
				if problem, _ := format.CheckValue(key.Format, key.Example); problem != "" {
					t.Errorf("the example of %s %s", at, problem)
				}
			}
			if key.File && key.Example != "" && !strings.HasPrefix(key.Example, "./") && key.Name != "dockerfile" {
				t.Errorf("the example of %s is no reference", at)
			}
		})
	}
}

// TestExampleFiles: every kind has one, whose keys it has.
func TestExampleFiles(t *testing.T) {
	for _, k := range format.Kinds() {
		var file map[string]any
		if err := toml.Unmarshal([]byte(k.ExampleFile()), &file); err != nil || len(file) == 0 {
			t.Errorf("the example of %s: %d keys, %v", k.Name, len(file), err)
		}
		if k.Name == "component" { // no file is of this kind alone
			k, _ = format.FindKind("container-image")
		}
		for name := range file {
			if _, ok := k.Key(name); !ok && !k.OpenEnded {
				t.Errorf("the example of %s has the key %s", k.Name, name)
			}
		}
	}
}
