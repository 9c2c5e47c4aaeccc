package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/jsonschema"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// compiled returns the schema of a kind, compiled by another implementation.
func compiled(t *testing.T, kind string) *validator.Schema {
	t.Helper()
	k, ok := format.FindKind(kind)
	if !ok {
		t.Fatalf("there is no kind %s", kind)
	}
	raw, err := json.Marshal(jsonschema.ForKind(k))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("mem:///"+kind, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///" + kind)
	if err != nil {
		t.Fatalf("the schema of %s: %v", kind, err)
	}
	return s
}

// check validates a TOML text.
func check(t *testing.T, s *validator.Schema, text []byte) error {
	t.Helper()
	var file map[string]any
	if err := toml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	value, err := validator.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

// TestRealFiles: every file of the examples, and of the corpus if it is available, matches the
// schema of its kind.
func TestRealFiles(t *testing.T) {
	roots := []string{"../../../examples"}
	if corpus := os.Getenv("NUON_CORPUS"); corpus != "" {
		roots = append(roots, corpus)
	}
	schemas, counts := map[string]*validator.Schema{}, map[string]int{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".toml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || len(bytes.TrimSpace(text)) == 0 {
				return err
			}
			kinds := kindsAt(path, string(text))
			for _, kind := range kinds {
				if schemas[kind] == nil {
					schemas[kind] = compiled(t, kind)
				}
				counts[kind]++
				if err := check(t, schemas[kind], text); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("files by kind: %v", counts)
	if counts["sandbox"] == 0 || counts["terraform"] == 0 || counts["component"] == 0 || counts["action"] == 0 {
		t.Errorf("saw only %v", counts)
	}
}

// kindsAt returns the kinds of a file by its path, and of a component by its type; none if no
// kind has the path.
func kindsAt(path, text string) []string {
	dir, base := filepath.Base(filepath.Dir(path)), filepath.Base(path)
	var names []string
	for _, k := range format.Kinds() {
		for _, place := range k.Paths {
			if place != base && place != dir+"/*.toml" || k.Name == "break-glass" && dir == "break_glass" ||
				k.Name == "kubernetes-contexts" && dir == "kubernetes_contexts" {
				continue
			}
			if k.Component == "" || regexp.MustCompile(`(?m)^type\s*=\s*"`+k.Component+`"`).MatchString(text) {
				names = append(names, k.Name)
			}
		}
	}
	return names
}

// TestSchemas: what each schema accepts and rejects.
func TestSchemas(t *testing.T) {
	const helm = "type = \"helm_chart\"\nname = \"api\"\nchart_name = \"ledger-api\"\n"
	for _, c := range []struct{ kind, text, wrong string }{
		{"metadata", `version = "v2"`, ""},
		{"metadata", `version = "v3"`, "/version"},
		{"metadata", ``, "'version'"},
		{"metadata", "version = \"v2\"\nnmae = 1", "nmae"},
		{"metadata", "version = \"v2\"\n[label_colors]\na = [1]", "/label_colors/a"},
		{"metadata", "version = \"v2\"\n[onboarding]\nenabled = \"true\"\ncategory = 3", ""},
		{"runner", `runner_type = "aws-eks"`, ""},
		{"runner", "runner_type = \"aws\"\ninit_script_url = \"ftp://x\"", "/init_script_url"},
		{"runner", `source = "./x.toml"`, ""},
		{"runner", `helm_driver = "secret"`, "runner_type"},
		{"sandbox", "max_auto_retries = \"3\"\nskip_noops = \"false\"", ""},
		{"sandbox", "max_auto_retries = \"three\"", "/max_auto_retries"},
		{"sandbox", "skip_noops = \"maybe\"", "/skip_noops"},
		{"sandbox", "drift_schedule = \"0 3 * *\"", "/drift_schedule"},
		{"sandbox", "[[var]]\nname = 1", "/var"},
		{"input", "name = \"\"\ndisplay_name = 1\ndescription = \"d\"\ngroup = \"g\"", "/name"},
		{"input-group", "name = \"a\"\ndescription = \"d\"\ngroup = \"g\"", ""},
		{"helm", helm, ""},
		{"helm", helm + `timeout = "1m"`, ""},
		{"helm", helm + `build_timeout = "soon"`, "/build_timeout"},
		{"helm", helm + `storage_driver = "{{.nuon.inputs.inputs.driver}}"`, ""},
		{"helm", helm + `storage_driver = "sql"`, "/storage_driver"},
		{"helm", helm + "[[values_file]]\nsource = \"./x\"", ""},
		{"helm", helm + "[values]\n\"a.b\" = 1\nc = true", ""},
		{"helm", helm + "[values_file]\nsource = \"./x\"", "/values_file"},
		{"terraform", helm, "/type"},
		{"component", helm, ""},
		{"component", helm + `vars = {}`, "vars"},
		{"component", helm + "[[value]]", "/value"},
		{"component", "type = \"helm_chart\"\nname = \"x\"", "chart_name"},
		{"component", "type = \"external_image\"\nname = \"x\"\n[public]\nimage_url = \"a\"\ntag = 1", ""},
		{"component", "type = \"container_image\"\nname = \"x\"\nnamespace = \"a\"", "namespace"},
		{"component", "type = \"job\"\nname = \"x\"", "/type"},
		{"component", "name = \"x\"", "source"},
		{"component", "source = \"./x.toml\"", ""},
		{"action", "name = \"x\"\n[[triggers]]\ntype = \"pre-component-deploy\"\n[[triggers]]\ntype = \"pre-sandbox-run\"\n" +
			"[[steps]]\nname = \"s\"\ncommand = \"x\"", ""},
		{"action", "name = \"x\"\ntriggers = []\nsteps = []", "/triggers"},
		{"install", "name = \"x\"\napproval_option = \"auto\"\n[[inputs]]\na = 1\n[[inputs]]\nb = \"x\"", ""},
		{"install", "name = \"x\"\n[inputs]\na = []", "/inputs"},
		{"install", "name = \"x\"\n[component_toggles]\na = true\nb = 1", "/component_toggles/b"},
		{"triggers", "[anything]\nat = [\"all\"]", ""},
		{"full", "version = \"v1\"\n[[components]]\nname = \"x\"\ntype = \"helm_chart\"\n[components.helm_chart]\n" +
			"chart_name = \"abcde\"", ""},
		{"full", "[[components]]\nname = \"x\"\ntype = \"helm_chart\"\n[components.helm_chart]\nchart = \"abcde\"", "chart"},
	} {
		err := check(t, compiled(t, c.kind), []byte(c.text))
		var refused *validator.ValidationError
		if c.wrong == "" && err != nil ||
			c.wrong != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s:\n%s\nends with %v, want %q", c.kind, c.text, err, c.wrong)
		}
		agrees(t, c.kind, c.text, c.wrong != "")
	}
}

// TestExampleFiles: the example of each kind matches its schema.
func TestExampleFiles(t *testing.T) {
	for _, k := range format.Kinds() {
		if err := check(t, compiled(t, k.Name), []byte(k.ExampleFile())); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
}

// agrees requires the schema and the decoder to reject the same files. It skips kinds that are
// never read as a file alone, and files with an include.
func agrees(t *testing.T, kind, text string, refused bool) {
	t.Helper()
	k, _ := format.FindKind(kind)
	if kind == "component" || kind == "full" || k.OpenEnded || strings.Contains(text, "\nsource =") ||
		strings.HasPrefix(text, "source =") {
		return
	}
	table, wrong := syntax.Parse(kind, []byte(text))
	if wrong != nil {
		t.Fatal(wrong)
	}
	var said diagnostic.Diagnostics
	format.Decode(table, k.Keys(), reflect.New(k.Type).Interface(),
		func(d diagnostic.Diagnostic) { said = append(said, d) })
	if said.HasErrors() != refused {
		t.Errorf("%s: refused by the schema: %v, and by the decoder:\n%s\n%s", kind, refused, said, text)
	}
}
