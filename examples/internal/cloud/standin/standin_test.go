package standin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// app has a module whose outputs a chart reads, both in another repository.
var app = fstest.MapFS{
	"metadata.toml": {Data: []byte("version = \"v2\"\n")},
	"runner.toml":   {Data: []byte("runner_type = \"aws\"\n")},
	"sandbox.toml": {Data: []byte("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \"acme/sandbox\"\n" +
		"directory = \".\"\nbranch = \"main\"\n")},
	"components/database.toml": {Data: []byte("name = \"database\"\ntype = \"terraform_module\"\n" +
		"terraform_version = \"1.11.4\"\n" + "[public_repo]\nrepo = \"acme/code\"\ndirectory = \"database\"\n" +
		"branch = \"main\"\n" +
		"[vars]\nsize = \"1\"\n[[var_file]]\ncontents = \"\"\"\n" +
		"zone = \"{{.nuon.install.id}}\"\nlist = [\n  1\n]\n\"\"\"\n")},
	"components/web.toml": {Data: []byte("name = \"web\"\ntype = \"helm_chart\"\nchart_name = \"web-app\"\n" +
		"[public_repo]\nrepo = \"acme/code\"\ndirectory = \"web\"\nbranch = \"v1\"\n" +
		"[values]\nhost = \"{{.nuon.components.database.outputs.db.host}}\"\n" +
		"port = \"{{.nuon.components.database.outputs.db.port}}\"\n")},
}

func collect(t *testing.T) []Code {
	t.Helper()
	config, diagnostics := appconfig.Load(app, appconfig.Options{})
	if config == nil {
		t.Fatal(diagnostics)
	}
	return Collect(config)
}

func TestCollect(t *testing.T) {
	want := []Code{
		{Kind: Module, Repository: "acme/code", Branch: "main", Directory: "database", Users: []string{"database"},
			Cloud:     "aws",
			Variables: []string{"list", "size", "zone"}, Outputs: [][]string{{"db", "host"}, {"db", "port"}}},
		{Kind: Chart, Repository: "acme/code", Branch: "v1", Directory: "web", Users: []string{"web"}, Cloud: "aws"},
	}
	if diff := cmp.Diff(want, collect(t)); diff != "" {
		t.Error(diff)
	}
}

// TestWrite writes stand-ins for a module that is not there and for a chart of placeholders, and keeps
// what has content.
func TestWrite(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.3\n")
	write("web/templates/deployment.yaml", "# placeholder\n")
	write("web/values.yaml", "replicas: 2\n")
	code := collect(t)
	for release, want := range map[int]string{1: "release = 1", 2: "release = 2"} {
		for i := range code {
			missing, err := code[i].Write(root, release)
			if err != nil || !missing {
				t.Fatalf("%s: missing %v, %v", code[i].Directory, missing, err)
			}
		}
		module := read("database/main.tf")
		for _, part := range []string{want, `variable "zone"`, `output "db"`, `"port" = 5432`, "aws_ssm_parameter"} {
			if !strings.Contains(module, part) {
				t.Errorf("the module of release %d has no %s:\n%s", release, part, module)
			}
		}
	}
	if chart := read("web/Chart.yaml"); !strings.Contains(chart, "version: 1.2.3") {
		t.Errorf("the chart is now %s", chart)
	}
	if read("web/values.yaml") != "replicas: 2\n" {
		t.Error("the values of the chart are gone")
	}
	if _, err := os.Stat(filepath.Join(root, "web/templates/deployment.yaml")); err == nil {
		t.Error("the placeholder is a template of the chart")
	}

	write("database/main.tf", "resource \"terraform_data\" \"real\" {}\n")
	if missing, err := code[0].Write(root, 1); err != nil || missing {
		t.Errorf("a module with content: missing %v, %v", missing, err)
	}
}
