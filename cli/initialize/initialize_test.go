package initialize

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v (install git): %v\n%s", args, err, out)
	}
}

// initialize runs the command without a terminal.
func initialize(t *testing.T, args ...string) (Created, string, error) {
	t.Helper()
	var out, remarks strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{In: strings.NewReader("never\nread\n"), Out: &out,
		Err: &remarks, Output: "json"}})
	c.SetArgs(append([]string{}, args...))
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	var made Created
	if err == nil {
		if err := json.Unmarshal([]byte(out.String()), &made); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	return made, remarks.String(), err
}

func load(t *testing.T, dir string) *appconfig.App {
	t.Helper()
	app, found := appconfig.Load(os.DirFS(dir), appconfig.Options{})
	if len(found) > 0 {
		t.Fatalf("what was written has diagnostics:\n%v", found)
	}
	return app
}

// TestSample checks that the sample has no diagnostics, and that the output names the
// next commands.
func TestSample(t *testing.T) {
	t.Chdir(t.TempDir())
	made, remarks, err := initialize(t, "my App!")
	if err != nil || remarks != "" {
		t.Fatalf("%v, %s", err, remarks)
	}
	here, err := filepath.EvalSymlinks(".")
	if err != nil {
		t.Fatal(err)
	}
	if here, err = filepath.Abs(here); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(here, "my App!")
	want := Created{
		Name: "my-app", Directory: dir,
		Files: []string{"metadata.toml", "sandbox.toml", "components/web.toml", "inputs.toml", ".gitignore",
			"modules/account/main.tf", "modules/web/main.tf"},
		Next: []string{
			"cd 'my App!'", "git init -b main && git add -A && git commit -m 'Package my-app'",
			"nuon apps create my-app --repo 'file://" + dir + "'",
			"nuon sync . --app my-app", "nuon installs create acme --app my-app", "nuon review",
		},
		Notes: []string{},
	}
	if d := cmp.Diff(want, made); d != "" {
		t.Error(d)
	}
	app := load(t, dir)
	if len(app.Components) != 1 || app.Components[0].Source.Directory != "modules/web" {
		t.Errorf("has the components %+v", app.Components)
	}
	for _, c := range append(app.Components, *app.Sandbox) {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(c.Source.Directory), "main.tf")); err != nil {
			t.Error(err)
		}
	}
}

// TestNothingIsOverwritten checks that no file is overwritten, and that no files are
// written before such an error.
func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "inputs.toml")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := initialize(t, "--name", "x", dir)
	if exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "already has inputs.toml, and no file is overwritten") {
		t.Errorf("ended with %v", err)
	}
	entries, err := os.ReadDir(dir)
	if b, _ := os.ReadFile(mine); string(b) != "mine" || err != nil || len(entries) != 1 {
		t.Errorf("%v, %v, %q", entries, err, b)
	}
	if _, _, err := initialize(t, mine); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("in a file it ended with %v", err)
	}
}

const moduleText = `
variable "zone" {
  type        = string
  description = "A \"zone\"\nof the $${cloud} {{.nuon.x}}"
}
variable "token" {
  type      = string
  sensitive = true
}
variable "sizes" { type = list(string) }
variable "count_of" { type = number }
variable "any" {}
variable "kept" { default = "x" }
resource "terraform_data" "x" { input = "${var.zone}${var.any}" }
`

// TestOfAModule checks that the required variables of a module become inputs, for an
// app in any directory of the module's repository.
func TestOfAModule(t *testing.T) {
	repo := t.TempDir()
	runGit(t, repo, "init", "-q", "-b", "main")
	runGit(t, repo, "remote", "add", "origin", "git@git.example:acme/shop.git")
	for file, text := range map[string]string{"infra/My Shop/main.tf": moduleText,
		"elsewhere/README.md": "no module\n"} {
		if err := os.MkdirAll(filepath.Join(repo, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repo, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(repo)
	made, _, err := initialize(t, "--name", "shop", "--from", "infra/My Shop", "apps/shop")
	if err != nil {
		t.Fatal(err)
	}
	app := load(t, filepath.Join(repo, "apps", "shop"))
	c := app.Components[0]
	if c.Name != "my_shop" || c.Source.Directory != "infra/My Shop" ||
		app.Sandbox.Source.Directory != "apps/shop/modules/account" {
		t.Errorf("component %s of %s, sandbox of %s", c.Name, c.Source.Directory, app.Sandbox.Source.Directory)
	}
	var inputs []string
	for _, in := range app.Inputs {
		inputs = append(inputs, strings.TrimSpace(in.Name+" "+in.Type+map[bool]string{true: " sensitive"}[in.Sensitive]))
	}
	slices.Sort(inputs)
	if d := cmp.Diff([]string{"any string", "count_of number", "sizes json", "token string sensitive",
		"zone string"}, inputs); d != "" {
		t.Error(d)
	}
	if len(c.Terraform.Vars) != 4 || len(c.Terraform.VarFiles) != 1 ||
		!strings.Contains(c.Terraform.VarFiles[0], `"sizes": {{.nuon.inputs.inputs.sizes}}`) {
		t.Errorf("vars %v, files %v", c.Terraform.Vars, c.Terraform.VarFiles)
	}
	want := []string{
		"cd apps/shop", "git add -A && git commit -m 'Package shop' && git push",
		"nuon apps create shop --repo https://git.example/acme/shop.git --directory apps/shop", "nuon sync",
		"nuon installs create acme --app shop --input any=… --input count_of=… --input sizes=… --secret token=env:NAME " +
			"--input zone=…", "nuon review",
	}
	if d := cmp.Diff(want, made.Next); d != "" {
		t.Error(d)
	}
	if slices.Contains(made.Files, ".gitignore") || slices.Contains(made.Files, "modules/web/main.tf") {
		t.Errorf("wrote %v", made.Files)
	}
	for from, says := range map[string]string{"nowhere": "no such directory",
		"elsewhere":           "no Helm chart, Terraform module, kustomization or Kubernetes manifest found",
		"elsewhere/README.md": "is not a directory: name the directory that contains it",
		t.TempDir():           "is not in the repository"} {
		if _, _, err := initialize(t, "--name", "x", "--from", from, "apps/x"); exitcode.CodeOf(err) != exitcode.Usage ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("--from %s ended with %v", from, err)
		}
	}
}

// TestNames checks that a name that no control plane would accept is rejected before
// anything is written.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"Shop", "a b", "../x", strings.Repeat("a", 64), "-x", "🚀"} {
		if _, _, err := initialize(t, "--name", name, "x"); exitcode.CodeOf(err) != exitcode.Usage ||
			!strings.Contains(err.Error(), "lower-case letters") {
			t.Errorf("%q ended with %v", name, err)
		}
	}
	if _, _, err := initialize(t, "🚀"); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("a directory without letters ended with %v", err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
