package graph

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

const module = "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/x\"\n"

// app writes an app whose components depend on each other in all ways: listed, read by
// templates, and by a cluster.
func app(t *testing.T, change map[string]string) string {
	t.Helper()
	files := map[string]string{
		"metadata.toml":            "version = \"v2\"\n",
		"sandbox.toml":             module,
		"kubernetes_contexts.toml": "[[kubernetes_context]]\nname = \"edge\"\ncomponent = \"edge_cluster\"\n",
		"components/network.toml":  "type = \"terraform_module\"\nname = \"network\"\n" + module,
		"components/cluster.toml": "type = \"terraform_module\"\nname = \"edge_cluster\"\n" + module +
			"[vars]\nsubnets = \"{{.nuon.components.network.outputs.subnets}}\"\n",
		"components/database.toml": "type = \"terraform_module\"\nname = \"database\"\ndependencies = [\"network\"]\n" +
			module + "[vars]\n" +
			"a = \"{{.nuon.components.network.outputs.a}}\"\nb = \"{{.nuon.components.network.outputs.b}}\"\nc = " +
			"\"{{.nuon.components.network.outputs.c}}\"\nd = \"{{.nuon.components.network.outputs.d}}\"\n",
		"components/edge.toml": "type = \"kubernetes_manifest\"\nname = \"edge_quota\"\nnamespace = \"x\"\n" +
			"kubernetes_context = \"edge\"\nmanifest = \"apiVersion: v1\\nkind: Namespace\"\n",
		"components/image.toml": "type = \"container_image\"\nname = \"image\"\n[public]\nimage_url = " +
			"\"ghcr.io/acme/api\"\ntag = \"1\"\n",
		"components/last.toml": "type = \"terraform_module\"\nname = \"last\"\ndependencies = [\"database\", " +
			"\"edge_quota\"]\n" + module,
	}
	for file, text := range change {
		files[file] = text
	}
	dir := t.TempDir()
	for file, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, on *console.Console, args ...string) (out, remarks string, err error) {
	t.Helper()
	var o, r strings.Builder
	on.Out, on.Err = &o, &r
	c := New(&cmdenv.Env{Console: on})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the test binary
	err = c.ExecuteContext(t.Context())
	return o.String(), r.String(), err
}

// TestGolden checks all formats of the graph against testdata: of the whole app, of
// its teardown, and of one component.
func TestGolden(t *testing.T) {
	dir := app(t, nil)
	for name, args := range map[string][]string{
		"text":              {},
		"text-reverse":      {"--reverse"},
		"text-component":    {"--component", "database"},
		"mermaid":           {"--format", "mermaid"},
		"mermaid-reverse":   {"--format", "mermaid", "--reverse", "--component", "edge_cluster"},
		"dot":               {"--format", "dot"},
		"dot-of-one":        {"--format", "dot", "--component", "image"},
		"reverse-component": {"--component", "network", "--reverse"},
	} {
		t.Run(name, func(t *testing.T) {
			out, remarks, err := run(t, &console.Console{OutIsTerminal: true, Width: 80}, append(args, dir)...)
			if err != nil || remarks != "" {
				t.Errorf("%v, %s", err, remarks)
			}
			file := filepath.Join("testdata", name+".golden")
			golden.Check(t, file, out)
			for line := range strings.Lines(out) {
				if strings.HasPrefix(name, "text") && lipgloss.Width(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("a line is wider than the terminal: %s", line)
				}
			}
		})
	}
}

// TestData checks the names in their order, and the graph as JSON.
func TestData(t *testing.T) {
	dir := app(t, nil)
	if out, _, err := run(t, &console.Console{Output: "name"}, dir, "--reverse"); err != nil ||
		out != "last\nedge_quota\ndatabase\nedge_cluster\nimage\nnetwork\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	out, _, err := run(t, &console.Console{Output: "json"}, dir)
	var g Graph
	if err != nil || json.Unmarshal([]byte(out), &g) != nil {
		t.Fatalf("printed %s, %v", out, err)
	}
	if diff := cmp.Diff([][]string{{"image", "network"}, {"database", "edge_cluster"}, {"edge_quota"}, {"last"}},
		g.Waves); diff != "" {
		t.Error(diff)
	}
	if len(g.Components) != 6 || len(g.Edges) != 9 || g.Components[0] != (Component{"image", "container_image"}) {
		t.Errorf("the graph is %+v", g)
	}
	if out, _, err = run(t, &console.Console{Output: "json"}, dir, "--component", "image"); err != nil ||
		!strings.Contains(out, `"edges": []`) {
		t.Errorf("printed %s, %v", out, err)
	}
}

// TestMistakes checks usage errors, and that all errors of an invalid config are printed.
func TestMistakes(t *testing.T) {
	dir := app(t, nil)
	for flags, says := range map[string]string{
		"--component databse": "did you mean database?", "--component sandbox": "no such component",
		"--format svg": "use one of text, mermaid, dot",
	} {
		if out, _, err := run(t, &console.Console{}, append(strings.Fields(flags),
			dir)...); exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), says) || out != "" {
			t.Errorf("%s: printed %q, ended with %v", flags, out, err)
		}
	}
	circle := map[string]string{"components/network.toml": "type = \"terraform_module\"\nname = \"network\"\n" +
		"dependencies = [\"last\"]\n" + module}
	if out, remarks, err := run(t, &console.Console{}, app(t, circle)); exitcode.CodeOf(err) != exitcode.Usage ||
		out != "" ||
		!strings.Contains(remarks, "in a circle") || strings.Contains(remarks, "warning:") {
		t.Errorf("printed %q and %q, %v", out, remarks, err)
	}
	if _, _, err := run(t, &console.Console{}, filepath.Join(dir, "none")); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("a directory that is not there ended with %v", err)
	}
}

// TestEscaped checks that no name can end the string that contains it. The parser of
// the format rejects such names, but drawing must not rely on that.
func TestEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`["\\\n;\]<#&-]{1,8}`), rapid.String()).Draw(t, "name")
		g := &Graph{Waves: [][]string{{name}}, Components: []Component{{name, "kind"}}}
		label, closed := strings.CutSuffix(strings.SplitAfter(g.mermaid(), "[\"")[1], "<br/><small>kind</small>\"]\n")
		if !closed || strings.ContainsAny(label, "\"<>&[]\n\\") {
			t.Fatalf("the label %q is not one in\n%s", label, g.mermaid())
		}
		if got := quoted(name); strings.ContainsAny(strings.NewReplacer(`\\`, ``, `\"`,
			``).Replace(got[1:len(got)-1]), "\"\n\x1b") {
			t.Fatalf("%q ends early", got)
		}
	})
}

// TestComplete checks that completion offers the components of the directory, and none
// for an invalid config.
func TestComplete(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	if names, _ := components(cmd, []string{app(t, nil)}, ""); strings.Join(names,
		" ") != "database edge_cluster edge_quota image last network" {
		t.Errorf("gives %v", names)
	}
	if names, _ := components(cmd, []string{t.TempDir()}, ""); names != nil {
		t.Errorf("gives %v", names)
	}
}

// TestText checks the text without components, and that colors do not change it.
func TestText(t *testing.T) {
	on := &console.Console{OutIsTerminal: true, Width: 80}
	if got := (&text{console: on, graph: newGraph(&appconfig.App{})}).String(); got != "0  sandbox\n" {
		t.Errorf("an app without components is\n%s", got)
	}
	dir := app(t, nil)
	plain, _, _ := run(t, on, dir, "--component", "database")
	colored, _, err := run(t, &console.Console{OutIsTerminal: true, Width: 80, Color: true}, dir,
		"--component", "database")
	stripped := strings.NewReplacer("\x1b[1m", "", "\x1b[2m", "", "\x1b[0m", "").Replace(colored)
	if err != nil || strings.Join(strings.Fields(stripped), " ") != strings.Join(strings.Fields(plain), " ") ||
		!strings.Contains(colored, "\x1b[1mdatabase\x1b[0m") {
		t.Errorf("in colour it is\n%s", colored)
	}
}
