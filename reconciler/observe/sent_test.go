package observe_test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/observe/gittest"
)

// TestSentFilesAreNamedAsGitNamesThem: files, executables, links, and directories that sort otherwise than their names.
func TestSentFilesAreNamedAsGitNamesThem(t *testing.T) {
	repo := gittest.New(t)
	repo.Write("a.txt", "2", "a/b", "", "a.b", "6", "z/y/x", "3", "a-b", "4", "run.sh", "#!/bin/sh\n", "ä/ö", "5")
	repo.Symlink("../a.txt", "z/link")
	repo.Git("add", "--all")
	repo.Git("update-index", "--chmod=+x", "run.sh")
	repo.Git("commit", "--quiet", "--message", "start")
	files := []artifact.File{
		{Path: "z/y/x", Content: []byte("3")}, {Path: "a/b"}, {Path: "a.txt", Content: []byte("2")}, {Path: "a.b", Content: []byte("6")}, {Path: "a-b", Content: []byte("4")},
		{Path: "run.sh", Executable: true, Content: []byte("#!/bin/sh\n")}, {Path: "z/link", Link: "../a.txt"}, {Path: "ä/ö", Content: []byte("5")},
	}
	tree, err := observe.Sent(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", "a", "z", "z/y", "ä"} {
		want := repo.Git("rev-parse", "HEAD:"+map[bool]string{true: "", false: dir}[dir == "."])
		if got, _ := tree.Hash(dir); got != want {
			t.Errorf("%s has the hash %s, git says %s", dir, got, want)
		}
	}
	content, err := fs.ReadFile(tree, "a.txt")
	if err != nil || string(content) != "2" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := fs.ReadFile(tree, "z/link"); err == nil {
		t.Error("a link is followed")
	}
	var names []string
	err = fs.WalkDir(tree, ".", func(name string, _ fs.DirEntry, err error) error { names = append(names, name); return err })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".", "a", "a/b", "a-b", "a.b", "a.txt", "run.sh", "z", "z/link", "z/y", "z/y/x", "ä", "ä/ö"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestSentNothing is an empty tree, and a name that git keeps for itself is refused when it is read.
func TestSentNothing(t *testing.T) {
	empty, err := observe.Sent(nil)
	if err != nil {
		t.Fatal(err)
	}
	if hash, _ := empty.Hash("."); hash != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("the empty tree is %s", hash)
	}
	odd, err := observe.Sent([]artifact.File{{Path: ".git/config", Content: []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(odd, ".git/config"); err == nil || odd.Err() == nil {
		t.Error("a directory .git is read")
	}
}
