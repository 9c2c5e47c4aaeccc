package initialize

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/style"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// repository creates a git work tree with files and makes it the current directory.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, dir, "init", "-q", "-b", "main")
	t.Chdir(dir)
	return dir
}

// valid fails the test for each diagnostic of an app, except warnings about settings
// without effect.
func valid(t interface {
	Helper()
	Errorf(string, ...any)
}, files fs.FS) {
	t.Helper()
	_, found := appconfig.Load(files, appconfig.Options{})
	for _, d := range found {
		if path.Ext(d.File) != ".toml" {
			continue // an existing manifest that refers to something that does not exist
		}
		if d.Severity == "error" || !strings.Contains(d.Message, "no effect yet") {
			t.Errorf("%s", d)
		}
	}
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".toml" {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if formatted, err := style.Format(text); err != nil || string(formatted) != string(text) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(string(text), string(formatted)))
		}
		return nil
	})
	if err != nil {
		t.Errorf("%v", err)
	}
}

// TestOfARepository checks the files written for each repository in testdata.
func TestOfARepository(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			name, err := filepath.Abs(name)
			if err != nil {
				t.Fatal(err)
			}
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			there := map[string]string{}
			for _, f := range archive.Files {
				if !strings.HasPrefix(f.Name, "written/") {
					there[f.Name] = string(f.Data)
				}
			}
			dir := repository(t, there)
			made, remarks, err := initialize(t,
				append([]string{"--name", "shop"}, strings.Fields(string(archive.Comment))...)...)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: archive.Comment, Files: slices.DeleteFunc(slices.Clone(archive.Files),
				func(f txtar.File) bool { return strings.HasPrefix(f.Name, "written/") })}
			for _, f := range made.Files {
				if strings.HasPrefix(f, "modules/") || f == "metadata.toml" {
					continue // from the sample
				}
				text, err := os.ReadFile(filepath.Join(made.Directory, f))
				if err != nil {
					t.Fatal(err)
				}
				got.Files = append(got.Files, txtar.File{Name: "written/" + f, Data: text})
			}
			told := strings.Join(made.Notes, "\n") + "\n" + made.Next[len(made.Next)-2] + "\n"
			for line := range strings.Lines(remarks) {
				if !strings.Contains(line, ": warning: ") { // warnings of the format, which change as it evolves
					told += "remark: " + line
				}
			}
			got.Files = append(got.Files, txtar.File{Name: "written/told", Data: []byte(told)})
			if golden.Updating() {
				golden.Write(t, name, txtar.Format(got))
			}
			if d := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(got))); d != "" && !golden.Updating() {
				t.Error(d)
			}
			valid(t, os.DirFS(made.Directory))
			if !strings.HasPrefix(made.Directory, dir[:len(dir)-len("shop")]) &&
				!strings.HasSuffix(made.Directory, "shop") {
				t.Errorf("wrote into %s", made.Directory)
			}
		})
	}
}

// atATerminal runs the command on a terminal with a person who gives these answers.
func atATerminal(t *testing.T, answers string, args ...string) (Created, string, error) {
	t.Helper()
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()    //nolint:errcheck // of a test
	defer typed.Close() //nolint:errcheck // of a test
	var out, remarks strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{In: oneByOne{in}, Out: &out, Err: &remarks, Output: "json",
		InIsTerminal: true, ErrIsTerminal: true}})
	c.SetArgs(append([]string{}, args...))
	c.SilenceErrors, c.SilenceUsage = true, true
	if _, err := typed.WriteString(answers); err != nil {
		t.Fatal(err)
	}
	err = c.ExecuteContext(t.Context())
	var made Created
	if err == nil {
		if err := json.Unmarshal([]byte(out.String()), &made); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	return made, remarks.String(), err
}

// oneByOne returns one byte per read, so that like on a terminal, a reader does not
// consume the input after its line.
type oneByOne struct{ file *os.File }

func (o oneByOne) Read(b []byte) (int, error) { return o.file.Read(b[:min(1, len(b))]) }

func several() map[string]string {
	return map[string]string{
		"deploy/chart/Chart.yaml":            "name: web\nversion: 1.0.0\n",
		"deploy/chart/templates/x.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		"deploy/chart/charts/sub/Chart.yaml": "name: sub\n",
		"infra/main.tf": "provider \"aws\" {}\nvariable \"zone\" {}\nmodule \"a\" { source = " +
			"\"./a\" }\n",
		"infra/a/main.tf":                    "",
		"k8s/quota.yaml":                     "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: team}\n",
		"k8s/values.yaml":                    "replicas: 2\n",
		"node_modules/x/Chart.yaml":          "name: no\n",
		"apps/other/metadata.toml":           "version = \"v2\"\n",
		"apps/other/modules/account/main.tf": "",
		"examples/one/main.tf":               "",
		".hidden/Chart.yaml":                 "name: no\n",
		"k8s/overlays/kustomization.yaml": "namespace: over\nresources: [../base, ../extra/e.yaml, " +
			"'https://x.example/y.yaml', ../../../../..]\n",
		"k8s/base/kustomization.yaml": "resources: [d.yaml]\n",
		"k8s/base/d.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\n",
		"k8s/extra/e.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\n",
		"lib/Chart.yaml":              "name: lib\ntype: library\n",
		"docker-compose.yaml":         "services: {web: {image: x}}\n",
		"skaffold.yaml":               "apiVersion: skaffold/v2\nkind: Config\n",
		"deploy/chart/crd.yaml":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
		"k8s/overlays/more.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
		"turned\u202e/Chart.yaml":     "name: no\n",
		"broken/Chart.yaml":           "name: [\n",
	}
}

// TestQuestions checks that a person can choose from what was found.
func TestQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		answers string
		args    []string
		want    []string
		says    string
	}{
		"all": {"\n\n\n", nil, []string{"runner.toml", "components/web.toml", "components/infra.toml",
			"components/quota.toml", "components/overlays.toml"}, "  1  deploy/chart: Helm chart web 1.0.0\n  2  infra: " +
			"Terraform module\n  3  k8s: Kubernetes manifest quota.yaml\n  4  k8s/overlays: kustomization\n"},
		"some": {"mine\n4 1,1\ngcp\n", nil, []string{"runner.toml", "components/web.toml",
			"components/overlays.toml"}, "Name of the app [shop]: "},
		"none": {"\nnone\n", nil, []string{"components/web.toml"}, "none for a sample"},
		"no cloud": {"\n2\nnone\n", nil, []string{"components/infra.toml"},
			"Cloud of the installs: aws, azure, gcp, none [aws]: "},
		"one directory": {"\nazure\n", []string{"--from", "infra"}, []string{"runner.toml", "components/infra.toml"}, ""},
		// and not the subdirectories
		"what is there": {"\n\n", []string{"--from", "k8s"}, []string{"components/quota.toml"}, ""},

		"not one of them": {"\n9\n", nil, nil, `invalid choice "9": enter numbers from 1 to 4`},
		"no such cloud":   {"\n1\nmoon\n", nil, nil, `invalid cloud "moon"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t, several())
			made, remarks, err := atATerminal(t, c.answers, append(c.args, "-i")...)
			if c.want == nil {
				if exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), c.says) {
					t.Errorf("ended with %v", err)
				}
				return
			}
			if err != nil || !strings.Contains(remarks, c.says) {
				t.Fatalf("%v, %s", err, remarks)
			}
			got := slices.DeleteFunc(made.Files, func(f string) bool {
				return f == "metadata.toml" || f == "sandbox.toml" || f == "inputs.toml" ||
					strings.HasPrefix(f, "modules/")
			})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d, remarks)
			}
			valid(t, os.DirFS(dir))
		})
	}
}

// TestNothingIsAsked checks that without --interactive, the command uses defaults and
// reads nothing from a terminal: what is typed next is for the shell.
func TestNothingIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"the sample": {nil, []string{"components/web.toml"}},
		"all below": {[]string{"--from", "."}, []string{"runner.toml", "components/web.toml", "components/infra.toml",
			"components/quota.toml", "components/overlays.toml"}},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t, several())
			made, remarks, err := atATerminal(t, "cd hello\n", c.args...)
			if err != nil || made.Name != "shop" || strings.Contains(remarks, "[") {
				t.Fatalf("made %s, %v, %s", made.Name, err, remarks)
			}
			got := slices.DeleteFunc(made.Files, func(f string) bool {
				return !strings.HasPrefix(f, "components/") && f != "runner.toml"
			})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, _, err := initialize(t, "-i"); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("--interactive without a terminal ended with %v", err)
	}
}

// TestInAPipe checks that without a terminal nothing is asked, and that existing files
// are used only with --from.
func TestInAPipe(t *testing.T) {
	repository(t, several())
	made, _, err := initialize(t, "--dry-run")
	if err != nil || !slices.Contains(made.Files, "modules/web/main.tf") ||
		!strings.Contains(made.Texts["sandbox.toml"], "modules/account") {
		t.Errorf("%v, %+v", err, made)
	}
	if _, err := os.Stat("metadata.toml"); !os.IsNotExist(err) {
		t.Errorf("--dry-run has written: %v", err)
	}
	made, remarks, err := initialize(t, "--dry-run", "--from", ".", "apps/shop")
	if err != nil || len(made.Texts) != len(made.Files) ||
		!strings.Contains(remarks, "skipped broken: its Chart.yaml is empty") &&
			!strings.Contains(remarks, "skipped broken: invalid YAML") {
		t.Errorf("%v, %+v, %s", err, made.Files, remarks)
	}
	if !slices.Contains(made.Files, "components/manifests/quota.yaml") ||
		made.Texts["components/manifests/quota.yaml"] != several()["k8s/quota.yaml"] {
		t.Errorf("a manifest outside of the app's directory was not copied: %v", made.Files)
	}
	if _, _, err := initialize(t, "--cloud", "moon"); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("a cloud that is none ended with %v", err)
	}
}

// TestPeople checks that the output names the files and their sources, and that a dry
// run prints their contents.
func TestPeople(t *testing.T) {
	repository(t, several())
	for args, says := range map[string]string{
		"--dry-run --from deploy/chart": "\n--- components/web.toml\n# helm\ntype       = \"helm_chart\"\n",
		"--from deploy/chart":           "\n\nThe component web is the chart in deploy/chart.\n",
	} {
		var out strings.Builder
		c := New(&cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: &out,
			Err: &strings.Builder{}, Output: "table"}})
		c.SetArgs(strings.Fields(args))
		if err := c.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), says) {
			t.Errorf("%s: %v, %s", args, err, out.String())
		}
	}
}

// TestBounds checks that too many finds are an error, and that too large files are not read.
func TestBounds(t *testing.T) {
	many := map[string]string{}
	for i := range maxFinds + 1 {
		many[fmt.Sprintf("c%d/Chart.yaml", i)] = "name: web\n"
	}
	repository(t, many)
	if _, _, err := initialize(t, "--from", "."); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "more than 50 charts") {
		t.Errorf("many charts ended with %v", err)
	}
	manifests := map[string]string{"large/a.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: a}\n" +
		strings.Repeat("#", maxFile)}
	for i := range maxManifests + 1 {
		manifests[fmt.Sprintf("many/%d.yaml", i)] = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
	}
	repository(t, manifests)
	for from, says := range map[string]string{"many": "combine them with a kustomization.yaml",
		"large": "no Helm chart"} {
		if _, _, err := initialize(t, "--from", from); exitcode.CodeOf(err) != exitcode.Usage ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s ended with %v", from, err)
		}
	}
	large := map[string]string{}
	for i := range 40 {
		// A text that is invalid YAML from its first byte must not keep the parser busy for
		// seconds.
		large[fmt.Sprintf("%02d/values.yaml", i)] = "\x01" + strings.Repeat("#", maxFile-1)
	}
	repository(t, large)
	if _, _, err := initialize(t, "--from", "."); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "more than 32 MiB of YAML") {
		t.Errorf("much YAML ended with %v", err)
	}
	repository(t, map[string]string{"a/README.md": ""})
	if err := os.Symlink("/etc", "links"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", "a/Chart.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"a", "links"} {
		if _, _, err := initialize(t, "--from", from); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("%s ended with %v", from, err)
		}
	}
}

// hostile lists texts that attempt to be parsed as something else.
var hostile = []string{
	"x", "web", "A b", "\"", "'''", "\"\"\"", "]\n[evil]\nx = 1\n", "{{.nuon.install.id}}", "\x1b[31m", "\u202e", "#", "é",
	"../..", "-", "..", "{{", strings.Repeat("long", 100), "a\\", "\x00", "\xff", "sandbox", "1", "ends with '''\nx = 1",
}

// TestHostile checks that the written files are valid and formatted for any names and
// contents of charts, modules and manifests.
func TestHostile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func() string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hostile), 1, 3).Draw(t, "text"), "")
		}
		quoted := func() string { b, _ := json.Marshal(text()); return string(b) }
		dir := func() string {
			return rapid.SampledFrom([]string{".", "x", "a/b", "My Dir", "it's \"x\"", "{{.nuon.install.id}}",
				"overlays/p", "k/overlays/p", "k/base", "é", "[x]", "a#b"}).Draw(t, "dir")
		}
		files := fstest.MapFS{}
		add := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
		for range rapid.IntRange(1, 4).Draw(t, "finds") {
			switch at := dir(); rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				add(path.Join(at, "Chart.yaml"),
					fmt.Sprintf("name: %s\nversion: %s\nappVersion: %s\n", quoted(), quoted(), quoted()))
				add(path.Join(at, "values.yaml"),
					fmt.Sprintf("image: {tag: %s, repository: %s}\nreplicas: %s\ningress: {hosts: [{host: %s}]}\n",
						quoted(), quoted(), quoted(), quoted()))
			case 1:
				add(path.Join(at, "main.tf"), fmt.Sprintf("variable %s {\n  description = %s\n  type = list(string)\n}\nvariable "+
					"\"b\" { description = %s }\nvariable \"b-c\" {}\nvariable \"b_c\" {}\n", hcl(text()), hcl(text()), hcl(text())))
			case 2:
				add(path.Join(at, "kustomization.yaml"),
					fmt.Sprintf("namespace: %s\nresources: [%s]\n", quoted(), quoted()))
			default:
				add(path.Join(at, rapid.SampledFrom([]string{"x.yaml", "it's \"y\".yml", "{{x}}.yaml"}).Draw(t, "file")),
					fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s, namespace: %s}\n",
						quoted(), quoted(), quoted()))
			}
		}
		s := &searcher{ctx: t.Context(), fsys: files, used: map[string]bool{}}
		if err := s.walk(".", 0); err != nil {
			t.Fatal(err)
		}
		a := &app{name: "shop", place: place{dir: "/repo", root: "/repo"}}
		a.take(s.outer())
		written, err := a.files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range written {
			add(f.path, f.text)
		}
		for name := range files {
			if path.Ext(name) == ".tf" {
				delete(files, name) // only the app is validated
			}
		}
		valid(t, files)
		for _, n := range append(a.notes, s.notes...) {
			if strings.ContainsAny(n, "\x00\n\x1b") {
				t.Errorf("a note is %q", n)
			}
		}
	})
}

// hcl quotes a text for Terraform.
func hcl(text string) string {
	b, _ := json.Marshal(text)
	return strings.ReplaceAll(string(b), "${", "$${")
}

// FuzzDocuments checks that reading a chart or manifest of any bytes can only fail with an error.
func FuzzDocuments(f *testing.F) {
	for _, text := range []string{"name: x\nversion: 1\n", "a: &a [*a]\n", "a: &a [x]\nb: &b [*a, *a]\nname: *b\n",
		"---\n---\n", "apiVersion: v1\nkind: List\nitems: []\n", "{", "\ufeff", "a: !!binary x", "? [a]\n: b"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &searcher{ctx: t.Context(), used: map[string]bool{}, fsys: fstest.MapFS{
			"c/Chart.yaml": {Data: text}, "c/values.yaml": {Data: text}, "k/kustomization.yaml": {Data: text},
			"m/x.yaml": {Data: text},
		}}
		if err := s.walk(".", 0); err != nil {
			t.Fatal(err)
		}
		a := &app{name: "x", place: place{dir: "/x", root: "/x"}}
		a.take(s.outer())
		if _, err := a.files(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLabel checks that any name becomes a valid Kubernetes label.
func TestLabel(t *testing.T) {
	for name, want := range map[string]string{"web": "web", "My Web!": "my-web", "": "app", "1st": "app-1st",
		"--a--": "a", "é": "app", strings.Repeat("a", 49) + "-b": strings.Repeat("a", 49)} {
		if got := label(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// TestNamesOfOthers checks which names are valid for apps and for Terraform variables.
func TestNamesOfOthers(t *testing.T) {
	for name, want := range map[string][2]bool{ // an app's, a variable's
		"a": {true, true}, "a-1_b": {true, true}, "1a": {true, false}, "": {false, false}, "-a": {false, false},
		"_a": {false, true}, "A": {false, true},
		"é1": {false, true}, "a b": {false, false}, "a\n": {false, false}, "a\"": {false, false}, "a.b": {false, false},
		strings.Repeat("a", 63): {true, true}, strings.Repeat("a", 64): {false, true},
	} {
		if got := [2]bool{isName(name), isVariable(name)}; got != want {
			t.Errorf("%q is an app's name, a variable's: %v", name, got)
		}
	}
	for name, want := range map[string]string{"My Shop": "my_shop", "--a..b--": "a_b", "é": "",
		"a\n\x1b[31m": "a_31m"} {
		if got := simplifyName(name, "_"); got != want {
			t.Errorf("%q becomes %q", name, got)
		}
	}
}

// TestLeftOutOnce checks that a directory that is searched twice gets only one note.
func TestLeftOutOnce(t *testing.T) {
	dir := repository(t, map[string]string{"broken/main.tf": "variable {"})
	_, _, err := initialize(t, "--name", "x", "--from", "broken", filepath.Join(dir, "app"))
	if err == nil || strings.Count(err.Error(), "skipped") != 1 {
		t.Errorf("ended with %v", err)
	}
}

// TestTemplatesThatAreNone checks that a manifest that would make the app invalid is left out.
func TestTemplatesThatAreNone(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	dir := repository(t, map[string]string{"k8s/good.yaml": object, "k8s/bad.yaml": object +
		"data: {a: \"{{.nuon.install.id\"}\n"})
	made, remarks, err := initialize(t, "--name", "x", "--from", "k8s", filepath.Join(dir, "app"))
	if err != nil || !slices.Contains(made.Files, "components/good.toml") ||
		slices.Contains(made.Files, "components/bad.toml") {
		t.Errorf("wrote %v, %v", made.Files, err)
	}
	if !strings.Contains(remarks, "skipped k8s/bad.yaml: ") {
		t.Errorf("said %q", remarks)
	}
}
