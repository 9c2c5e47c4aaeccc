package appconfig

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// scriptTree returns codeRepository with an action that runs a command from the directory scripts.
func scriptTree(command, repo string, other map[string]*fstest.MapFile) fstest.MapFS {
	tree := codeTree(map[string]string{"app/actions/check.toml": "name = \"check\"\n[[triggers]]\ntype = \"manual\"\n" +
		"[[steps]]\nname = \"sign in/out\"\ncommand = '" + command + "'\n[steps.public_repo]\n" + repo + "\n"})
	tree["scripts/run.sh"] = &fstest.MapFile{Data: []byte("#!/bin/sh\n"), Mode: 0o755}
	tree["scripts/notes.txt"] = &fstest.MapFile{Data: []byte("notes\n"), Mode: 0o644}
	tree["shared/lib.sh"] = &fstest.MapFile{Data: []byte("#!/bin/sh\n"), Mode: 0o755}
	maps.Copy(tree, other)
	return tree
}

// hashedTree is a tree in which every directory has the same hash.
type hashedTree struct{ fstest.MapFS }

func (hashedTree) Hash(string) (string, bool) { return "hash", true }

func (hashedTree) FileHash(string) (string, bool) { return "hash", true }

func link(target string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
}

// TestCommandsOfRepositories: Load finds the program of a command in the config's own repository, and
// reports one that cannot run at its position in the config.
func TestCommandsOfRepositories(t *testing.T) {
	const own = "repo = \".\"\ndirectory = \"scripts\""
	const other = "repo = \"acme/tools\"\nbranch = \"main\"\ndirectory = \"scripts\""
	for name, c := range map[string]struct {
		command, repo string
		files         map[string]*fstest.MapFile
		want          string
	}{
		"a file":        {command: "./run.sh --all", repo: own},
		"on the PATH":   {command: "kubectl get pods", repo: own},
		"of a template": {command: "./{{.nuon.install.id}}", repo: own},
		"a link": {command: "./l.sh", repo: own,
			files: map[string]*fstest.MapFile{"scripts/l.sh": link("../shared/lib.sh")}},
		"in a linked directory": {command: "lib/lib.sh", repo: own,
			files: map[string]*fstest.MapFile{"scripts/lib": link("../shared")}},
		"of another repository": {command: "./gone.sh", repo: other},
		"missing": {command: "./gone.sh", repo: own, want: "actions/check.toml:6:11: error: there is no file " +
			"scripts/gone.sh in the repository; commit it, or correct the command"},
		"not executable": {command: "./notes.txt", repo: own, want: "actions/check.toml:6:11: error: scripts/notes.txt is " +
			"not executable; run \"git update-index --chmod=+x scripts/notes.txt\" and commit it"},
		"a directory": {command: "./d", repo: own, files: map[string]*fstest.MapFile{"scripts/d/x": {}},
			want: "actions/check.toml:6:11: error: scripts/d is not a file; name a file in the command"},
		"outside": {command: "../shared/lib.sh", repo: own, want: "actions/check.toml:6:11: error: the program " +
			"\"../shared/lib.sh\" is outside of the directory; name a file in it, such as ./run.sh, or a program on the " +
			"runner's PATH"},
		"outside of another repository": {command: "/bin/sh", repo: other, want: "actions/check.toml:6:11: error: the " +
			"program \"/bin/sh\" is outside of the directory; name a file in it, such as ./run.sh, or a program on the " +
			"runner's PATH"},
		"no directory": {command: "./run.sh", repo: "repo = \".\"\ndirectory = \"script\"",
			want: "actions/check.toml:9:13: error: there is no directory script in the repository (did you mean \"scripts\"?)"},
		"a link out of the repository": {command: "./run.sh", repo: own,
			files: map[string]*fstest.MapFile{"scripts/secret": link("../../etc/passwd")},
			want: "actions/check.toml:9:13: error: the symbolic link scripts/secret leads out of the repository; commit a " +
				"copy of what it leads to"},
		"an absolute link": {command: "./run.sh", repo: own,
			files: map[string]*fstest.MapFile{"scripts/a/secret": link("/etc/passwd")},
			want: "actions/check.toml:9:13: error: the symbolic link scripts/a/secret leads out of the repository; commit a " +
				"copy of what it leads to"},
		"a circle of links": {command: "./a", repo: own,
			files: map[string]*fstest.MapFile{"scripts/a": link("b"), "scripts/b": link("a")},
			want:  "actions/check.toml:6:11: error: read scripts/a: it leads through more than 40 links"},
	} {
		t.Run(name, func(t *testing.T) {
			var about []string
			for line := range strings.SplitSeq(loadCode(t, scriptTree(c.command, c.repo, c.files), Options{}).String(), "\n") {
				if strings.HasPrefix(line, "actions/check.toml") {
					about = append(about, line)
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(about, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNamesOfActionSources checks that no two sources share a name: git allows @ in branches and directories.
func TestNamesOfActionSources(t *testing.T) {
	names := map[string]Source{}
	for _, s := range []Source{{Directory: "a", Branch: "b@c"}, {Directory: "a@b", Branch: "c"},
		{Directory: "a@@b", Branch: "c"}, {Directory: "a@", Branch: "b@c"}, {Directory: "a", Branch: "b@@c"}} {
		s.Repo = "acme/tools"
		name := s.ActionSourceName()
		if other, taken := names[name]; taken {
			t.Errorf("%+v and %+v are called %s", s, other, name)
		}
		names[name] = s
	}
}

// TestActionSources: steps with the same source share one, and what a build cannot find is an error that
// names the step.
func TestActionSources(t *testing.T) {
	own := &Source{Repo: ".", Directory: "scripts"}
	tools := Source{Repo: "acme/tools", Directory: "deploy", Branch: "main"}
	connected := tools
	connected.Connected = true
	app := &App{Actions: []Action{
		{Name: "check", Steps: []ActionStep{
			{Name: "one", Command: "./run.sh", Source: own}, {Name: "two", Command: "./tool", Source: &tools},
			{Name: "three", InlineContents: "#!/bin/sh\n"},
		}},
		{Name: "clean", Steps: []ActionStep{
			{Name: "four", Command: "./l.sh", Source: own}, {Name: "five", Command: "./tool", Source: &connected},
		}},
	}}
	want := []Component{
		{Name: "actions:acme/tools//deploy@main", Kind: KindActionSource, Source: &connected},
		{Name: "actions:scripts", Kind: KindActionSource, Source: own},
	}
	if diff := cmp.Diff(want, app.ActionSources()); diff != "" {
		t.Error(diff)
	}
	if tools.Connected {
		t.Error("the config was changed")
	}
	if diff := cmp.Diff(want, app.Built()); diff != "" {
		t.Error(diff)
	}
	files := map[string]*fstest.MapFile{"scripts/l.sh": link("../shared/lib.sh")}
	found, err := app.FindCode(&want[1], hashedTree{scriptTree("./run.sh", "", files)}, "the repository")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"scripts", "shared"}, found.Directories); diff != "" {
		t.Error(diff)
	}
	_, err = app.FindCode(&want[1], hashedTree{scriptTree("./run.sh", "", nil)}, "the repository")
	if err == nil || err.Error() != `step "four" of action clean: there is no file scripts/l.sh in the repository; `+
		"commit it, or correct the command" {
		t.Errorf("got %v", err)
	}
	_, err = app.FindCode(&want[0], hashedTree{scriptTree("./run.sh", "", nil)},
		"acme/tools")
	if err == nil || err.Error() != "there is no directory deploy in acme/tools; commit the scripts there, or correct "+
		"the directory in the action's config" {
		t.Errorf("got %v", err)
	}
}
