package sourcedir

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestCheckProgram checks what a command of an action may name: an executable file of the repository, also
// through links.
func TestCheckProgram(t *testing.T) {
	tree := treeOf(map[string]string{
		"actions/check.sh": "", "actions/data.txt": "", "actions/link.sh": "-> check.sh", "actions/far.sh": "-> ../lib/x.sh",
		"lib/x.sh": "", "dir": "-> actions", "out.sh": "-> ../../etc/passwd", "absolute.sh": "-> /bin/sh",
		"gone.sh": "-> none",
		"self":    "-> self", "text.sh": "-> actions/data.txt", "actions/up.sh": "-> ../dir/check.sh",
		"h0": "-> actions/check.sh",
	})
	for i := range maxHops + 1 {
		tree[fmt.Sprintf("h%d", i+1)] = treeOf(map[string]string{"h": fmt.Sprintf("-> h%d", i)})["h"]
	}
	for _, name := range []string{"actions/check.sh", "lib/x.sh"} {
		tree[name].Mode = 0o755
	}
	for name, want := range map[string]string{
		"actions/check.sh": "", "actions/link.sh": "", "actions/far.sh": "", "dir/check.sh": "", "actions/up.sh": "",
		fmt.Sprintf("h%d", maxHops-1): "",
		fmt.Sprintf("h%d", maxHops):   fmt.Sprintf("read h%d: it leads through more than 40 links", maxHops),
		"self":                        "read self: it leads through more than 40 links",
		"actions/data.txt": "actions/data.txt is not executable; run \"git update-index --chmod=+x actions/data.txt\" and " +
			"commit it",
		"text.sh":         "text.sh is not executable; run \"git update-index --chmod=+x actions/data.txt\" and commit it",
		"actions":         "actions is not a file; name a file in the command",
		"dir":             "dir is not a file; name a file in the command",
		"actions/none.sh": "there is no file actions/none.sh in acme/app; commit it, or correct the command",
		"gone.sh":         "there is no file gone.sh in acme/app; commit it, or correct the command",
		"out.sh":          "out.sh leads out of acme/app; commit the file there",
		"absolute.sh":     "absolute.sh leads out of acme/app; commit the file there",
		"../x.sh":         "../x.sh leads out of acme/app; commit the file there",
		"actions/../../x": "actions/../../x leads out of acme/app; commit the file there",
	} {
		got := ""
		if err := CheckProgram(tree, name, "acme/app"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestScripts checks which directories belong to the scripts of an action, and that no link leads out of the
// repository.
func TestScripts(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		want    []string
		problem string
	}{
		"alone": {files: map[string]string{"a/x.sh": "", "b/y.sh": ""}, want: []string{"a"}},
		"linked": {files: map[string]string{"a/lib": "-> ../b", "b/y.sh": "-> ../c/z.sh", "c/z.sh": ""},
			want: []string{"a", "b", "c"}},
		"a link that dangles": {files: map[string]string{"a/x.sh": "-> ../b/none.sh"}, want: []string{"a"}},
		"out": {files: map[string]string{"a/x.sh": "-> ../../etc/passwd"},
			problem: "the symbolic link a/x.sh leads out of the repository; commit a copy of what it leads to"},
		"absolute": {files: map[string]string{"a/sub/x.sh": "-> /etc/passwd"},
			problem: "the symbolic link a/sub/x.sh leads out of the repository; commit a copy of what it leads to"},
		"out of a linked directory": {files: map[string]string{"a/lib": "-> ../b", "b/deep/y.sh": "-> ../../../x"},
			problem: "the symbolic link b/deep/y.sh leads out of the repository; commit a copy of what it leads to"},
		"out by a second link": {files: map[string]string{"a/x": "-> ../door/x", "door": "-> ../.."},
			problem: "the symbolic link a/x leads out of the repository; commit a copy of what it leads to"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Code{Kind: Scripts, Directory: "a"}.Find(treeOf(c.files), "acme/app")
			checkDirectories(t, found.Directories, err, c.want, c.problem)
		})
	}
}

// TestMissingDirectories checks what is said of code whose directory does not exist, by its kind.
func TestMissingDirectories(t *testing.T) {
	tree := treeOf(map[string]string{"a/x": "", "file": "", "link": "-> a"})
	for _, test := range []struct {
		kind      Kind
		directory string
		want      string
	}{
		{Module, "b", "there is no directory b in acme/app; commit the module there, or correct the directory in the " +
			"component's config"},
		{Chart, "a/b", "there is no directory a/b in acme/app; commit the chart there, or correct the directory in the " +
			"component's config"},
		{Scripts, "b", "there is no directory b in acme/app; commit the scripts there, or correct the directory in the " +
			"action's config"},
		{Context, "file", "there is no directory file in acme/app; commit the build context there, or correct the " +
			"directory in the component's config"},
		{Kustomization, "../a", "there is no directory ../a in acme/app; commit the kustomization there, or correct the " +
			"directory in the component's config"},
		{Chart, "link", "there is no directory link in acme/app; commit the chart there, or correct the directory in the " +
			"component's config"},
		{Scripts, "/a", "there is no directory /a in acme/app; commit the scripts there, or correct the directory in the " +
			"action's config"},
	} {
		_, err := Code{Kind: test.kind, Directory: test.directory}.Find(tree, "acme/app")
		var missing *MissingError
		if !errors.As(err, &missing) || err.Error() != test.want || missing.Code.Directory != test.directory {
			t.Errorf("%s %s: %v, want %s", test.kind, test.directory, err, test.want)
		}
	}
}

// TestPatches checks that the patches of a kustomization are files of the repository, whose directories belong to
// it.
func TestPatches(t *testing.T) {
	tree := treeOf(map[string]string{"k/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "",
		"p/one.yaml":      "",
		"p/deep/two.yaml": "", "k/three.yaml": "", "p/dir/x": ""})
	for _, test := range []struct {
		patches []string
		any     bool
		want    []string
		problem string
	}{
		{want: []string{"b", "k"}},
		{patches: []string{"p/one.yaml", "k/three.yaml"}, want: []string{"b", "k", "p"}},
		{patches: []string{"p/deep/two.yaml", "p/one.yaml"}, want: []string{"b", "k", "p", "p/deep"}},
		{patches: []string{"p/one.yaml"}, any: true, want: []string{"."}},
		{patches: []string{"p/none.yaml"}, problem: "there is no patch p/none.yaml in acme/app; commit it, or correct " +
			"kustomize.patches"},
		{patches: []string{"p/dir"}, problem: "the patch p/dir is no file; name a file in kustomize.patches"},
		{patches: []string{"../x.yaml"},
			problem: "the patch ../x.yaml is outside of the repository; copy it into the repository"},
		{patches: []string{"p/one.yaml", "/etc/passwd"},
			problem: "the patch /etc/passwd is outside of the repository; copy it " +
				"into the repository"},
	} {
		found, err := Code{Kind: Kustomization, Directory: "k", Patches: test.patches, AnyFile: test.any}.Find(tree,
			"acme/app")
		checkDirectories(t, found.Directories, err, test.want, test.problem)
	}
}

// TestContextLimits checks what of a build context is refused: its Dockerfile and its ignore file are files of
// bounded size, and the patterns are bounded, too.
func TestContextLimits(t *testing.T) {
	base := map[string]string{"a/Dockerfile": "FROM scratch", "a/x": ""}
	for name, c := range map[string]struct {
		more    map[string]string
		code    Code
		problem string // empty if it is taken
	}{
		"no Dockerfile": {code: Code{Dockerfile: "none"},
			problem: "there is no Dockerfile a/none in acme/app; commit it, or correct dockerfile"},
		"a Dockerfile outside": {code: Code{Dockerfile: "../../Dockerfile"},
			problem: "there is no Dockerfile ../Dockerfile in acme/app; commit it, or correct dockerfile"},
		"a directory as Dockerfile": {more: map[string]string{"a/d/x": ""}, code: Code{Dockerfile: "d"},
			problem: "a/d is no file; commit it as one"},
		"a link as Dockerfile": {more: map[string]string{"a/l": "-> Dockerfile"}, code: Code{Dockerfile: "l"},
			problem: "a/l is no file; commit it as one"},
		"the largest Dockerfile": {more: map[string]string{"a/Dockerfile": strings.Repeat("#", maxDockerfile)},
			code: Code{Dockerfile: "Dockerfile"}},
		"a larger Dockerfile": {more: map[string]string{"a/Dockerfile": strings.Repeat("#", maxDockerfile+1)},
			code: Code{Dockerfile: "Dockerfile"}, problem: "a/Dockerfile has 262145 bytes, and 262144 are the most"},
		"a Dockerfile of none":     {}, // it is written in the config
		"the most patterns":        {more: map[string]string{"a/.dockerignore": strings.Repeat("y\n", maxPatterns)}},
		"comments and empty lines": {more: map[string]string{"a/.dockerignore": strings.Repeat("# y\n\n", maxPatterns+1)}},
		"one pattern more": {more: map[string]string{"a/.dockerignore": strings.Repeat("y\n", maxPatterns+1)},
			problem: "a/.dockerignore: it has 501 patterns, and 500 are the most; correct it"},
		"a broken pattern": {more: map[string]string{"a/.dockerignore": "ok\n[\n"}, problem: "a/.dockerignore: "},
		"an ignore file that is a link": {more: map[string]string{"a/.dockerignore": "-> x"},
			problem: "a/.dockerignore is no file; commit it as one"},
		"a broken ignore file of the Dockerfile": {more: map[string]string{"a/Dockerfile.dockerignore": "[",
			"a/.dockerignore": ""},
			code: Code{Dockerfile: "Dockerfile"}, problem: "a/Dockerfile.dockerignore: "},
	} {
		files := map[string]string{}
		for _, part := range []map[string]string{base, c.more} {
			for path, text := range part {
				files[path] = text
			}
		}
		code := c.code
		code.Kind, code.Directory = Context, "a"
		found, err := code.Find(treeOf(files), "acme/app")
		checkDirectories(t, found.Directories, err, []string{"a"}, c.problem)
		if err == nil && code.Dockerfile != "" && found.Dockerfile != files["a/Dockerfile"] {
			t.Errorf("%s: the Dockerfile has %d bytes", name, len(found.Dockerfile))
		}
	}
}

// TestMatchingIsBounded checks that the patterns of a context are not matched with more than the budget allows,
// and that this is an error and no other context.
func TestMatchingIsBounded(t *testing.T) {
	tree := hashedTree{treeOf(map[string]string{"a/.dockerignore": strings.Repeat("y\n", maxPatterns), "a/x": ""})}
	for i := range 40 {
		name := "a/" + strings.Repeat(fmt.Sprintf("%04d", i)+strings.Repeat("d", 200)+"/", 5) + "f"
		tree.MapFS[name] = &fstest.MapFile{}
	}
	found, err := Code{Kind: Context, Directory: "a"}.Find(tree, "acme/app")
	if err != nil {
		t.Fatal(err)
	}
	before, err := found.Sources(tree, "acme/app")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := found.Sources(tree, "acme/app"); err != nil || cmp.Diff(before, again) != "" {
		t.Errorf("twice: %v, %v", again, err)
	}
	found.ignored.budget = 1000
	skip := found.Skip()
	skipped := 0
	err = fs.WalkDir(tree, "a", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && skip(name, entry) {
			skipped++
		}
		return err
	})
	if err != nil || skipped < 40 || found.ignored.failed == nil || !strings.Contains(found.ignored.failed.Error(),
		"a/.dockerignore has too many patterns (500) for the files of the directory; use fewer, or leave out "+
			"whole directories") {
		t.Errorf("%d files are left out, %v, %v", skipped, found.ignored.failed, err)
	}
	if _, err := found.Sources(tree, "acme/app"); err == nil || !strings.Contains(err.Error(), "too many patterns") {
		t.Errorf("a hash without the files that were not matched: %v", err)
	}
}

// TestSources checks that each directory of the code gets its hash, and what is said of one that the tree has not.
func TestSources(t *testing.T) {
	tree := hashes{MapFS: treeOf(map[string]string{"a/Chart.yaml": needing("file://../b"), "b/Chart.yaml": ""}),
		known: map[string]string{"a": "1", "b": "2"}}
	found, err := Code{Kind: Chart, Directory: "a"}.Find(tree, "acme/app")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := found.Sources(tree, "acme/app")
	if diff := cmp.Diff([]Source{{"a", "1"}, {"b", "2"}}, sources); diff != "" || err != nil {
		t.Error(err, diff)
	}
	delete(tree.known, "b")
	if sources, err := found.Sources(tree, "acme/app"); sources != nil || err == nil ||
		err.Error() != "there is no directory b in acme/app; commit it" {
		t.Errorf("without b: %v, %v", sources, err)
	}
}

// hashes is a tree with these hashes of directories.
type hashes struct {
	fstest.MapFS
	known map[string]string
}

func (h hashes) Hash(dir string) (string, bool) { hash, ok := h.known[dir]; return hash, ok }

func (h hashes) FileHash(string) (string, bool) { return "", false }

// TestSkippedOfModules checks that the files of a local Terraform run are left out of modules, and of no other
// code.
func TestSkippedOfModules(t *testing.T) {
	tree := treeOf(map[string]string{"a/main.tf": "", "a/.terraform/x": "", "a/terraform.tfstate": "", "a/Chart.yaml": "",
		"b/main.tf": ""})
	for kind, want := range map[Kind]string{Module: "a/Chart.yaml a/main.tf",
		Chart: "a/.terraform/x a/Chart.yaml a/main.tf a/terraform.tfstate"} {
		found, err := Code{Kind: kind, Directory: "a"}.Find(tree, "acme/app")
		if err != nil {
			t.Fatal(err)
		}
		if got := packed(t, tree, found.Skip()); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
