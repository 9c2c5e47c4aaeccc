package gittree_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/gittree"
)

// repository is a git repository with a work tree, created with the git program.
type repository struct {
	*testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{T: t, dir: t.TempDir()}
	r.git("init", "--quiet")
	return r
}

func (r *repository) git(args ...string) string {
	r.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c",
		"commit.gpgsign=false"}, args...)...)
	command.Dir = r.dir
	printed, err := command.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v\n%s", args, err, printed)
	}
	return strings.TrimSpace(string(printed))
}

// commit commits all files in the directory, and returns the tree.
func (r *repository) commit() *gittree.Tree {
	r.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", "next")
	opened, err := git.PlainOpen(r.dir)
	if err != nil {
		r.Fatal(err)
	}
	return gittree.New(opened.Storer, plumbing.NewHash(r.git("rev-parse", "HEAD^{tree}")), nil)
}

func (r *repository) write(files ...string) {
	r.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(r.dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o600); err != nil {
			r.Fatal(err)
		}
	}
}

func build(t *testing.T, add func(b *gittree.Builder) error) *gittree.Tree {
	t.Helper()
	b := gittree.NewBuilder(nil)
	if err := add(b); err != nil {
		t.Fatal(err)
	}
	tree, err := b.Tree()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestFilesAreNamedAsGitNamesThem covers files, executables, links, and directories whose sort
// order differs from that of their names.
func TestFilesAreNamedAsGitNamesThem(t *testing.T) {
	repo := newRepository(t)
	repo.write("a.txt", "2", "a/b", "", "a.b", "6", "z/y/x", "3", "a-b", "4", "run.sh", "#!/bin/sh\n", "ä/ö", "5")
	if err := os.Symlink("../a.txt", filepath.Join(repo.dir, "z/link")); err != nil {
		t.Fatal(err)
	}
	repo.git("add", "--all")
	repo.git("update-index", "--chmod=+x", "run.sh")
	repo.git("commit", "--quiet", "--message", "start")
	tree := build(t, func(b *gittree.Builder) error {
		for _, file := range []struct {
			name    string
			mode    fs.FileMode
			content string
		}{
			{"z/y/x", 0o600, "3"}, {"a/b", 0o600, ""}, {"a.txt", 0o600, "2"}, {"a.b", 0o600, "6"}, {"a-b", 0o600, "4"},
			{"run.sh", 0o700, "#!/bin/sh\n"}, {"z/link", fs.ModeSymlink, "../a.txt"}, {"ä/ö", 0o600, "5"},
		} {
			if err := b.Add(file.name, file.mode, []byte(file.content)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, dir := range []string{".", "a", "z", "z/y", "ä"} {
		want := repo.git("rev-parse", "HEAD:"+map[bool]string{true: "", false: dir}[dir == "."])
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
	err = fs.WalkDir(tree, ".",
		func(name string, _ fs.DirEntry, err error) error { names = append(names, name); return err })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".", "a", "a/b", "a-b", "a.b", "a.txt", "run.sh", "z", "z/link", "z/y", "z/y/x", "ä",
		"ä/ö"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestNothing checks the hash of an empty tree, and that a name that git reserves is rejected when
// it is read.
func TestNothing(t *testing.T) {
	empty := build(t, func(*gittree.Builder) error { return nil })
	if hash, _ := empty.Hash("."); hash != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("the empty tree is %s", hash)
	}
	odd := build(t, func(b *gittree.Builder) error { return b.Add(".git/config", 0o600, []byte("x")) })
	if _, err := fs.ReadFile(odd, ".git/config"); err == nil || odd.Err() == nil {
		t.Error("a directory .git is read")
	}
}

// TestChanges compares two commits as git does: files, links, modes, directories that become files,
// and renamed files.
func TestChanges(t *testing.T) {
	repo := newRepository(t)
	repo.write("same/x", "1", "dir/changed", "1", "dir/removed", "1", "run.sh", "1", "was-dir/a", "1", "was-file", "1",
		"old/name", "long enough")
	before := repo.commit()
	repo.write("dir/changed", "2", "dir/below/added", "1")
	for _, gone := range []string{"dir/removed", "was-dir", "was-file", "old"} {
		if err := os.RemoveAll(filepath.Join(repo.dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	repo.write("was-dir", "1", "was-file/a", "1", "new/name", "long enough")
	if err := os.Chmod(filepath.Join(repo.dir, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	after := repo.commit()
	changes, err := gittree.Changes(before, after, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		word := "M"
		switch {
		case c.Before == gittree.File{}:
			word = "A"
		case c.After == gittree.File{}:
			word = "D"
		}
		got = append(got, word+"\t"+c.Path)
	}
	want := strings.Split(repo.git("diff", "--no-renames", "--name-status", "HEAD~1", "HEAD"), "\n")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := gittree.Changes(before, after, 3); !errors.Is(err, gittree.ErrTooManyChanges) {
		t.Errorf("more than may be listed: %v", err)
	}
	if changes, err := gittree.Changes(after, after, 0); len(changes) > 0 || err != nil {
		t.Errorf("the same tree: %v, %v", changes, err)
	}
}
