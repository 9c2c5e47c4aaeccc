package validate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	gitconfig "github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

const terraform = "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/x\"\n"

// write writes files into a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for file, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// appIn writes a valid app with a change to it into a directory, and returns the directory.
func appIn(t *testing.T, dir string, change map[string]string) string {
	t.Helper()
	write(t, dir, map[string]string{
		"metadata.toml": "version = \"v2\"\n",
		"sandbox.toml":  terraform,
		"inputs.toml": "[[group]]\nname = \"app\"\ndisplay_name = \"App\"\ndescription = \"All\"\n[[input]]\nname " +
			"= \"greeting\"\ndisplay_name = \"Greeting\"\ndescription = \"It\"\ngroup = \"app\"\ndefault = \"hi\"\n",
		"components/web.toml": "type = \"terraform_module\"\nname = \"web\"\n" + terraform,
	})
	write(t, dir, change)
	return dir
}

func app(t *testing.T, change map[string]string) string {
	t.Helper()
	return appIn(t, t.TempDir(), change)
}

// run runs the command with its output in a pipe.
func run(t *testing.T, output string, args ...string) (string, error) {
	t.Helper()
	out, _, err := runOn(t, &console.Console{Output: output}, args...)
	return out, err
}

// runOn runs the command with this console.
func runOn(t *testing.T, on *console.Console, args ...string) (out, remarks string, err error) {
	t.Helper()
	var o, r strings.Builder
	on.Out, on.Err = &o, &r
	c := New(&cmdenv.Env{Console: on})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the test binary
	err = c.ExecuteContext(t.Context())
	return o.String(), r.String(), err
}

var (
	red    = map[string]string{"installs/acme.toml": "name = \"acme\"\ncolour = \"red\"\n"}
	warned = map[string]string{"installs/acme.toml": "name = \"acme\"\napproval_option = \"auto\"\n"}
)

// TestValidate checks that the contents of a valid config are counted, that all
// diagnostics of an invalid one are printed with their position, and that only errors
// make the exit code 2. It uses no control plane.
func TestValidate(t *testing.T) {
	t.Setenv("NUON_URL", "")
	for name, c := range map[string]struct {
		change map[string]string
		code   int
		lines  []string // prefixes of the lines
	}{
		"right": {nil, 0, []string{"valid: 1 component (1 terraform), 1 input ("}},
		"a warning": {warned, 0, []string{"installs/acme.toml:2:", "valid: 1 component (1 terraform), 1 input, 1 " +
			"install ("}},
		"two errors": {map[string]string{"components/web.toml": "type = \"teraform_module\"\nname = \"web\"\n",
			"installs/acme.toml": "name = \"acme\"\ncolour = \"red\"\n"}, exitcode.Usage,
			[]string{"components/web.toml:1:", "installs/acme.toml:2:1: error: "}},
		"no TOML": {map[string]string{"sandbox.toml": "terraform_version = 1.11.4\n"}, exitcode.Usage,
			[]string{"sandbox.toml:1:"}},
		"escapes": {map[string]string{"installs/acme.toml": "name = \"acme\"\n\"col\\u001b[2Jour\" = \"red\"\n"},
			exitcode.Usage, []string{"installs/acme.toml:2:1: error: "}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := app(t, c.change)
			out, err := run(t, "table", dir)
			if exitcode.CodeOf(err) != c.code || err != nil && err.Error() != "" {
				t.Errorf("ended with %v, want code %d", err, c.code)
			}
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if len(lines) != len(c.lines) || strings.Contains(out, "\x1b") {
				t.Fatalf("printed\n%s", out)
			}
			for i, want := range c.lines {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
				}
			}
			t.Chdir(dir)
			if here, err := run(t, "table"); here != out || exitcode.CodeOf(err) != c.code {
				t.Errorf("without an argument printed\n%s%v", here, err)
			}
		})
	}
}

// TestData checks that the data output is the list of diagnostics, empty if there are
// none, with the same exit code.
func TestData(t *testing.T) {
	if out, err := run(t, "json", app(t, nil)); err != nil || out != "[]\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	out, err := run(t, "json", app(t, red))
	var found appconfig.Diagnostics
	if exitcode.CodeOf(err) != exitcode.Usage || json.Unmarshal([]byte(out), &found) != nil {
		t.Fatalf("printed %q, %v", out, err)
	}
	if len(found) != 1 || found[0].File != "installs/acme.toml" || found[0].Line != 2 || found[0].Column != 1 ||
		found[0].Width != len("colour") ||
		found[0].Severity != diagnostic.Error || found[0].Rule != "unknown-key" {
		t.Errorf("found %+v", found)
	}
	if out, err := run(t, "yaml", app(t, red)); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(out, "file: installs/acme.toml\n") {
		t.Errorf("printed %q, %v", out, err)
	}
	if flag, err := run(t, "table", app(t, red), "-o", "json"); flag != out || exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("-o json printed %q, %v", flag, err)
	}
	for _, output := range []string{"name", "toml"} {
		if _, err := run(t, output, app(t, nil)); exitcode.CodeOf(err) != exitcode.Usage ||
			!strings.Contains(err.Error(), "sarif") {
			t.Errorf("-o %s ended with %v", output, err)
		}
	}
}

// TestNotADirectory checks that an argument that is no directory is a usage error.
func TestNotADirectory(t *testing.T) {
	dir := app(t, nil)
	for _, p := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "metadata.toml")} {
		if out, err := run(t, "json", p); exitcode.CodeOf(err) != exitcode.Usage ||
			!strings.Contains(err.Error(), p) || out != "" {
			t.Errorf("%s: printed %q, ended with %v", p, out, err)
		}
	}
	if _, err := run(t, "table", t.TempDir()); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("an empty directory ended with %v", err)
	}
	if _, err := run(t, "table", dir, filepath.Join(dir, "none")); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "none") {
		t.Errorf("one of two that is not there ended with %v", err)
	}
	file := filepath.Join(dir, "metadata.toml")
	if _, err := run(t, "table", file, file); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "is a directory") {
		t.Errorf("files alone ended with %v", err)
	}
}

// TestStrict checks that --strict turns all warnings into errors, also in the output.
func TestStrict(t *testing.T) {
	dir := app(t, warned)
	out, remarks, err := runOn(t, &console.Console{}, "--strict", dir)
	if exitcode.CodeOf(err) != exitcode.Usage || !strings.HasPrefix(out, "installs/acme.toml:2:19: error: ") ||
		strings.Contains(out, "valid") || remarks != "1 error in 1 file\n" {
		t.Errorf("printed %q and %q, %v", out, remarks, err)
	}
	if out, err := run(t, "table", "--strict", app(t, nil)); err != nil || !strings.HasPrefix(out, "valid: ") {
		t.Errorf("what is right: printed %q, %v", out, err)
	}
}

// TestSeveral checks that the configs of all directories are validated even if one has
// errors, that files among the arguments are skipped, and that file names include the
// directory, in lines and in data.
func TestSeveral(t *testing.T) {
	root := t.TempDir()
	appIn(t, filepath.Join(root, "apps/one"), red)
	appIn(t, filepath.Join(root, "apps/two"), nil)
	appIn(t, filepath.Join(root, "apps/three"), warned)
	write(t, root, map[string]string{"apps/README.md": "# Apps\n"})
	t.Chdir(root)
	args := []string{"apps/README.md", "apps/one", "./apps/three", "apps/two/"}
	out, remarks, err := runOn(t, &console.Console{}, args...)
	want := `^apps/one/installs/acme.toml:2:1: error: .*
apps/three/installs/acme.toml:2:19: warning: .*
apps/three is valid: 1 component .*
apps/two is valid: 1 component .*
$`
	if exitcode.CodeOf(err) != exitcode.Usage || !regexp.MustCompile(want).MatchString(out) ||
		remarks != "1 error, 1 warning in 2 files\n" {
		t.Errorf("printed\n%s%s%v", out, remarks, err)
	}
	out, err = run(t, "json", args...)
	var found appconfig.Diagnostics
	if exitcode.CodeOf(err) != exitcode.Usage || json.Unmarshal([]byte(out), &found) != nil || len(found) != 2 ||
		found[1].File != "apps/three/installs/acme.toml" {
		t.Errorf("printed %s, %v", out, err)
	}
}

// TestElsewhere checks that remote files that the config refers to are read only with
// --fetch, and counted otherwise.
func TestElsewhere(t *testing.T) {
	dir := app(t, nil)
	write(t, dir, map[string]string{"notes.md": "# Notes {{.nuon.inputs.inputs.greting}}\n"})
	write(t, dir, map[string]string{"metadata.toml": "version = \"v2\"\nreadme = \"https://example.invalid/README.md\"\n"})
	out, remarks, err := runOn(t, &console.Console{}, dir)
	if err != nil || !strings.Contains(out, "valid") ||
		!strings.Contains(remarks, "1 remote file that the config refers to was not read; read it with --fetch") {
		t.Errorf("printed %q and %q, %v", out, remarks, err)
	}
	write(t, dir, map[string]string{"metadata.toml": "version = \"v2\"\nreadme = \"file://" +
		filepath.ToSlash(dir) + "/notes.md\"\n"})
	out, remarks, err = runOn(t, &console.Console{}, dir) // needs no network
	if err != nil || !strings.Contains(out, "notes.md:1:") || !strings.Contains(out, `did you mean "greeting"?`) ||
		strings.Contains(remarks, "--fetch") {
		t.Errorf("printed %q and %q, %v", out, remarks, err)
	}
}

// TestRemoteModules counts the components whose modules only a build can check.
func TestRemoteModules(t *testing.T) {
	own := strings.Replace(strings.Replace(elsewhereModule, "acme/infra", ".", 1), "branch = \"main\"\n", "", 1)
	web := "type = \"terraform_module\"\nname = \"web\"\n" + elsewhereModule
	for want, dir := range map[string]string{
		"2 components have their Terraform modules in other repositories": app(t, map[string]string{
			"sandbox.toml":        elsewhereModule,
			"components/web.toml": web}),
		"1 component has its Terraform module in another repository": appIn(t, t.TempDir(), map[string]string{
			"sandbox.toml": own, "components/web.toml": web}),
	} {
		_, remarks, err := runOn(t, &console.Console{}, dir)
		if err != nil || !strings.Contains(remarks, want+"; a build checks") {
			t.Errorf("printed %q, %v; want %q", remarks, err, want)
		}
	}
}

const elsewhereModule = "terraform_version = \"1.11.4\"\n[public_repo]\n" +
	"repo = \"acme/infra\"\ndirectory = \".\"\n" +
	"branch = \"main\"\n"

// repository creates a git repository with one branch, which is checked out and has a
// remote with this address.
func repository(t *testing.T, branch, address string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, map[string]string{"modules/x/main.tf": ""})
	repo, err := git.PlainInitWithOptions(root,
		&git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName(branch)}})
	if err != nil {
		t.Fatal(err)
	}
	if address != "" {
		if _, err := repo.CreateRemote(&gitconfig.RemoteConfig{Name: "origin", URLs: []string{address}}); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestBranchTip checks that the repository and branch of the config are read from git,
// so that a component that follows another branch of the same repository gets a warning.
func TestBranchTip(t *testing.T) {
	follows := strings.Replace(terraform, `repo = "."`, "repo = \"acme/hello\"\nbranch = \"main\"", 1)
	for name, c := range map[string]struct {
		branch, address string
		warns           bool
	}{
		"the same branch":    {"main", "git@github.com:acme/hello.git", false},
		"another branch":     {"release", "git@github.com:acme/hello.git", true},
		"another repository": {"release", "https://github.com/acme/other", false},
		"no remote":          {"release", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := appIn(t, filepath.Join(repository(t, c.branch, c.address), "apps/hello"),
				map[string]string{"components/web.toml": "type = \"terraform_module\"\nname = \"web\"\n" + follows})
			out, err := run(t, "table", dir)
			if err != nil || strings.Contains(out, `the app itself is on "release"`) != c.warns {
				t.Errorf("printed %s, %v", out, err)
			}
		})
	}
}

// TestSARIF checks that file names are relative to the root of the repository, and
// that columns count characters.
func TestSARIF(t *testing.T) {
	dir := appIn(t, filepath.Join(repository(t, "main", ""), "apps/hello"),
		map[string]string{"metadata.toml": "version = \"v2\"\nlabel_colors = {\"größe\" = \"#2e7d32\", ring = 1, " +
			"ring2 = []}\n"})
	out, err := run(t, "table", dir, "-o", "sarif")
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	if exitcode.CodeOf(err) != exitcode.Usage || json.Unmarshal([]byte(out), &log) != nil || len(log.Runs) != 1 ||
		log.Version != "2.1.0" {
		t.Fatalf("printed %s, %v", out, err)
	}
	if rules := log.Runs[0].Tool.Driver.Rules; len(rules) < 40 {
		t.Errorf("there are %d rules", len(rules))
	}
	for _, r := range log.Runs[0].Results {
		at := r.Locations[0].PhysicalLocation
		if r.RuleID == "wrong-type" && at.ArtifactLocation.URI == "apps/hello/metadata.toml" &&
			at.Region.StartLine == 2 && at.Region.StartColumn == 56 {
			return
		}
	}
	t.Errorf("the list is not where it is: %s", out)
}

// TestModules checks that in a git work tree, modules of the same repository are read
// from the work tree, from any current directory.
func TestModules(t *testing.T) {
	root := t.TempDir()
	if _, err := git.PlainInit(root, false); err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"modules/x/main.tf": "variable \"size\" { default = 1 }\n"})
	dir := appIn(t, filepath.Join(root, "apps", "shop"), nil)
	if out, err := run(t, "table", dir); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	write(t, dir, map[string]string{"components/web.toml": "type = \"terraform_module\"\nname = \"web\"\n" + terraform +
		"[vars]\nsise = 1\n"})
	t.Chdir(dir)
	out, err := run(t, "table")
	want := "components/web.toml:8:1: error: vars.sise: the module in modules/x has no variable \"sise\" (did you mean " +
		"\"size\"?)\n"
	if exitcode.CodeOf(err) != exitcode.Usage || out != want {
		t.Errorf("ended with %v, printed %s, want %s", err, out, want)
	}
}
