package diff

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	model "github.com/nuon-toolkit/nuon/diff"
)

const (
	metadata = "version = \"v2\"\n"
	sandbox  = "terraform_version = \"1.11.4\"\npublic_repo = { repo = \"acme/base\", directory = \".\", branch = " +
		"\"main\" }\n"
	network = `type = "terraform_module"
name = "network"
terraform_version = "1.11.4"
public_repo = { repo = "acme/infra", directory = "network", branch = "main" }
vars = { cidr = "10.0.0.0/16" }
`
)

// apps creates configs below apps/ in a git repository with two commits, tagged v1 and v2,
// and uncommitted changes.
func apps(t *testing.T) {
	t.Helper()
	write(t, map[string]string{
		"apps/ledger/metadata.toml": metadata, "apps/ledger/sandbox.toml": sandbox,
		"apps/ledger/components/network.toml": network,
		"apps/broken/metadata.toml":           metadata, "apps/broken/sandbox.toml": sandbox + "nonsense = 1\n",
		"apps/other/metadata.toml": metadata, "apps/other/sandbox.toml": sandbox, "none/x": "",
	})
	repo, err := git.PlainInit(".", false)
	if err == nil {
		err = os.Symlink("../../none", "apps/ledger/link")
	}
	if err != nil {
		t.Fatal(err)
	}
	commit(t, repo, "v1")
	if err := os.Remove("apps/ledger/link"); err != nil {
		t.Fatal(err)
	}
	set(t, strings.Replace(network, "10.0.0.0", "10.1.0.0", 1))
	commit(t, repo, "v2")
	set(t, strings.Replace(network, "10.0.0.0", "10.2.0.0", 1))
}

func set(t *testing.T, component string) {
	t.Helper()
	if err := os.WriteFile("apps/ledger/components/network.toml", []byte(component), 0o600); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, repo *git.Repository, tag string) {
	t.Helper()
	tree, err := repo.Worktree()
	if err == nil {
		err = tree.AddGlob(".")
	}
	if err != nil {
		t.Fatal(err)
	}
	by := &object.Signature{Name: "a", Email: "a@example.com", When: time.Unix(1, 0)}
	hash, err := tree.Commit(tag, &git.CommitOptions{Author: by, Committer: by})
	if err == nil {
		_, err = repo.CreateTag(tag, hash, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSidesOfApp covers directories and revisions in every order, and their errors.
func TestSidesOfApp(t *testing.T) {
	apps(t)
	for line, want := range map[string]struct {
		code int
		says string // in stdout, stderr or the error
	}{
		"app apps/ledger": {1,
			`"10.1.0.0/16" → "10.2.0.0/16"`}, // HEAD and the directory
		"app HEAD apps/ledger":                   {1, `"10.1.0.0/16" → "10.2.0.0/16"`},
		"app v1 apps/ledger":                     {1, `"10.0.0.0/16" → "10.2.0.0/16"`},
		"app HEAD~1 apps/ledger":                 {1, `"10.0.0.0/16" → "10.2.0.0/16"`},
		"app v1:apps/ledger v2:apps/ledger":      {1, `"10.0.0.0/16" → "10.1.0.0/16"`},
		"app apps/ledger v1":                     {1, `"10.2.0.0/16" → "10.0.0.0/16"`},
		"app v2:apps/ledger/ HEAD:./apps/ledger": {0, "No changes"},
		"app apps/ledger apps/ledger":            {0, "No changes"},
		"app apps/other apps/ledger":             {1, "A sync adds 1 component."},
		"app apps/ledger apps/other":             {1, "A sync destroys the resources of 1 component."},
		"app apps/ledger/../ledger -o json":      {1, `"kind": "app"`},
		"app v1 apps/ledger -o markdown":         {1, "component/network"},
		"app v1 apps/ledger -o side":             {1, "component/network"},
		"app v1 apps/ledger --ignore none.toml":  {2, "none.toml"},
		"app v1 apps/broken": {2,
			`v1:apps/broken/sandbox.toml:3:1: error: unknown key "nonsense"`},
		"app apps/ledger apps/broken": {2,
			`apps/broken/sandbox.toml:3:1: error: unknown key "nonsense"`},
		"app v3 apps/ledger": {2,
			"v3 is neither a directory nor a revision of the current git repository"},
		"app v1:apps/nowhere apps/ledger": {2,
			"no directory apps/nowhere in v1; name the directory of the config as v1:DIRECTORY"},
		"app v1:../x apps/ledger": {2, "use a directory in the repository"},
		"app v1:apps/ledger/metadata.toml apps/ledger": {2,
			"no directory apps/ledger/metadata.toml in v1"},
		"app none apps/ledger": {2, "error: "},
		"app apps/ledger/metadata.toml apps/ledger": {2,
			"is not a directory; name the directory of the app's metadata.toml"},
		"app - apps/ledger":                                {2, "a config cannot be read from stdin"},
		"app a b c":                                        {1, "accepts at most 2 arg"},
		"app ^{/( apps/ledger":                             {2, "neither a directory nor a revision"},
		"app @{-1}:x..y...z apps/ledger":                   {2, "neither a directory nor a revision"},
		"app v1 apps/ledger --secret-file apps/none":       {2, "--secret-file: read apps/none"},
		"app v1 apps/ledger --pager never -U 0 --show-all": {1, "component/network"},
	} {
		out, remarks, err := nuon(t.Context(), nil, "table", line+" --exit-code")
		text := out + remarks
		if err != nil {
			text += err.Error()
		}
		if exitcode.CodeOf(err) != want.code || !strings.Contains(text, want.says) {
			t.Errorf("nuon diff %s: ended with %d, want %d; said %q, want %q", line, exitcode.CodeOf(err),
				want.code, text, want.says)
		}
	}
}

// TestAppHere checks that without a directory argument the command uses the current directory.
func TestAppHere(t *testing.T) {
	apps(t)
	t.Chdir("apps/ledger")
	for line, want := range map[string]string{
		"app": `"10.1.0.0/16" → "10.2.0.0/16"`, "app v1": `"10.0.0.0/16" → "10.2.0.0/16"`,
		"app v1 v2": `"10.0.0.0/16" → "10.1.0.0/16"`, "app v1:apps/other": "adds 1 component",
	} {
		out, remarks, err := nuon(t.Context(), nil, "table", line)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("nuon diff %s: %v, %s%s", line, err, out, remarks)
		}
	}
}

// TestAppWithoutGit checks that directories need no repository, and that an
// error names the missing repository where one is needed.
func TestAppWithoutGit(t *testing.T) {
	write(t, map[string]string{"a/metadata.toml": metadata, "a/sandbox.toml": sandbox, "b/metadata.toml": metadata,
		"b/sandbox.toml": strings.Replace(sandbox, "4", "5", 1)})
	if out, _, err := nuon(t.Context(), nil, "table", "app a b"); err != nil ||
		!strings.Contains(out, "rebuilds 1 component, redeploys 1 component") {
		t.Errorf("%v, %s", err, out)
	}
	for line, want := range map[string]string{"app a": "HEAD is not a directory",
		"app v1 a": "the current directory is not in a git repository that could have such a revision"} {
		if _, _, err := nuon(t.Context(), nil, "table", line); exitcode.CodeOf(err) != exitcode.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("nuon diff %s: %v", line, err)
		}
	}
	if _, err := git.PlainInit(".", false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := nuon(t.Context(), nil, "table", "app a"); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "the current git repository has no commit") {
		t.Errorf("without a commit: %v", err)
	}
}

// TestAppOfABareRepository compares two revisions of a bare repository.
func TestAppOfABareRepository(t *testing.T) {
	apps(t)
	if _, err := git.PlainClone("bare", true, &git.CloneOptions{URL: ".", Tags: git.AllTags}); err != nil {
		t.Fatal(err)
	}
	t.Chdir("bare")
	out, _, err := nuon(t.Context(), nil, "table", "app v1:apps/ledger v2:apps/ledger")
	if err != nil || !strings.Contains(out, "10.1.0.0/16") {
		t.Errorf("%v, %s", err, out)
	}
}

// TestAppReport checks that JSON output is a valid report, and that the rules
// of --ignore apply to it.
func TestAppReport(t *testing.T) {
	apps(t)
	if err := os.WriteFile("ignore.toml",
		[]byte("[[ignore]]\nname = \"network\"\nkind = \"component\"\npointers = [\"/vars/cidr\"]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := nuon(t.Context(), nil, "json", "app v1 apps/ledger --exit-code --ignore ignore.toml")
	var r model.Report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.Validate() != nil ||
		r.Kind != model.KindApp || r.Totals.Noise != 1 {
		t.Fatalf("%v: %s", err, out)
	}
}

const (
	ownSandbox = "terraform_version = \"1.11.4\"\npublic_repo = { repo = \".\", directory = \"base\" }\n"
	ownModule  = "type = \"terraform_module\"\nname = \"%s\"\nterraform_version = \"1.11.4\"\npublic_repo = { repo = " +
		"\"%s\", directory = \"modules/%s\"%s }\n"
)

// codeFiles returns an app with its code in the same repository, which some
// components reference by URL.
func codeFiles() map[string]string {
	return map[string]string{
		"app/metadata.toml": metadata, "app/sandbox.toml": ownSandbox, "base/main.tf": "",
		"app/components/net.toml":   fmt.Sprintf(ownModule, "net", ".", "net", ""),
		"app/components/dns.toml":   fmt.Sprintf(ownModule, "dns", ".", "dns", ""),
		"app/components/far.toml":   fmt.Sprintf(ownModule, "far", "acme/shop", "far", `, branch = "main"`),
		"app/components/other.toml": fmt.Sprintf(ownModule, "other", "acme/shop", "far", `, branch = "stable"`),
		"modules/net/main.tf":       "module \"names\" {\n  source = \"../names\"\n}\n", "modules/net/old.tf": "",
		"modules/dns/main.tf": "", "modules/far/main.tf": "",
		"modules/names/main.tf": "", "README.md": "1", ".gitignore": "*.log\n",
	}
}

// TestCodeOfApp checks that a change of code is shown with its files, on either side, and
// that files that are not part of a build are not shown.
func TestCodeOfApp(t *testing.T) {
	write(t, codeFiles())
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	repo, err := git.PlainInitWithOptions(root,
		&git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: "refs/heads/main"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.CreateRemote(
		&config.RemoteConfig{Name: "origin", URLs: []string{"git@github.com:acme/shop.git"}}); err != nil {
		t.Fatal(err)
	}
	commit(t, repo, "v1")
	t.Chdir("app")
	for _, step := range []struct {
		name string
		set  map[string]string // an empty text removes the file
		want []string          // the changes of each component
		note string
	}{
		{"nothing that is built from", map[string]string{"../README.md": "2", "../modules/net/debug.log": "x"}, nil,
			""},
		{"a module", map[string]string{"../modules/dns/main.tf": "# 2", "../modules/dns/new.tf": "# new"}, []string{
			"component/dns component-code code.\"modules/dns/main.tf\" code.\"modules/dns/new.tf\"",
		}, "A sync rebuilds 1 component."},
		{"a module that another calls, and a file that goes",
			map[string]string{"../modules/names/main.tf": "# 2", "../modules/net/old.tf": ""}, []string{
				"component/net component-code code.\"modules/names/main.tf\" code.\"modules/net/old.tf\"",
			}, "A sync rebuilds 1 component."},
		{"by its URL, and the sandbox", map[string]string{"../modules/far/main.tf": "# 2", "../base/main.tf": "# 2"},
			[]string{
				"component/far component-code code.\"modules/far/main.tf\"", "sandbox component-code code.\"base/main.tf\"",
			}, "A sync rebuilds 2 components."},
		{"config and code", map[string]string{
			"../modules/net/main.tf": "# 2",
			"components/net.toml": strings.Replace(fmt.Sprintf(ownModule, "net", ".", "net", ""),
				"1.11.4", "1.11.5", 1),
		}, []string{
			"component/net component-code component-rebuilt component-redeployed terraform_version " +
				"code.\"modules/net/main.tf\""}, "A sync rebuilds 1 component, redeploys 1 component."},
		{"what cannot be built",
			map[string]string{"../modules/dns/main.tf": "module \"x\" {\n  source = \"../../../x\"\n}\n"}, []string{
				"component/dns component-code-broken code.\"modules/dns/main.tf\" code",
			}, "A sync cannot build 1 component."},
	} {
		for name, text := range step.set {
			if text == "" {
				err = os.Remove(name)
			} else {
				err = os.WriteFile(name, []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		uncommitted := codeReport(t, "app")
		commit(t, repo, strings.ReplaceAll(step.name, " ", "-"))
		for how, r := range map[string]model.Report{"uncommitted": uncommitted,
			"committed": codeReport(t, "app HEAD~1"), "two commits": codeReport(t, "app HEAD~1 HEAD")} {
			var got []string
			for _, c := range r.Changes {
				words := []string{c.Address}
				for _, f := range c.Findings {
					words = append(words, f.Rule)
				}
				for _, f := range c.Fields {
					words = append(words, f.Path)
				}
				got = append(got, strings.Join(words, " "))
			}
			if d := cmp.Diff(step.want, got); d != "" {
				t.Errorf("%s, %s: (-want +got)\n%s", step.name, how, d)
			}
			if step.note != "" && (len(r.Notes) == 0 || !strings.HasPrefix(r.Notes[0], step.note)) {
				t.Errorf("%s, %s: %q", step.name, how, r.Notes)
			}
		}
	}
	out, _, err := nuon(t.Context(), nil, "table", "app HEAD~1 --exit-code")
	if exitcode.CodeOf(err) != exitcode.Failed ||
		!strings.Contains(out, `modules/dns/main.tf:1: module "x" calls "../../../x", which leads out`) {
		t.Errorf("%v, %s", err, out)
	}
}

// codeReport returns the decoded JSON output.
func codeReport(t *testing.T, line string) (r model.Report) {
	t.Helper()
	out, remarks, err := nuon(t.Context(), nil, "json", line)
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.Validate() != nil {
		t.Fatalf("nuon diff %s: %v: %s%s", line, err, out, remarks)
	}
	return r
}

// TestCommitFiles checks that the tree of a commit is a valid fs.FS.
func TestCommitFiles(t *testing.T) {
	apps(t)
	repo, err := repositoryOf("apps/ledger")
	if err != nil || repo.Dir != "apps/ledger" {
		t.Fatal(repo, err)
	}
	tree, err := treeOf(repo, "v1")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	err = fs.WalkDir(tree, "apps", func(name string, entry fs.DirEntry, err error) error {
		if !entry.IsDir() {
			names = append(names, name+" "+entry.Type().String())
		}
		return err
	})
	want := []string{
		"apps/broken/metadata.toml ----------", "apps/broken/sandbox.toml ----------",
		"apps/ledger/components/network.toml ----------",
		"apps/ledger/link L---------", "apps/ledger/metadata.toml ----------", "apps/ledger/sandbox.toml ----------",
		"apps/other/metadata.toml ----------", "apps/other/sandbox.toml ----------",
	}
	if d := cmp.Diff(want, names); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for _, name := range []string{"apps", "apps/ledger/link", "apps/ledger/link/x", "apps/none", "../x",
		"apps/ledger/metadata.toml/x"} {
		if text, err := fs.ReadFile(tree, name); err == nil {
			t.Errorf("%s was read: %s", name, text)
		}
	}
	text, err := fs.ReadFile(tree, "apps/ledger/components/network.toml")
	if err != nil || string(text) != network {
		t.Error(err, string(text))
	}
}
