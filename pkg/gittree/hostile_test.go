package gittree_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/gittree"
)

// objects stores trees that git would not write.
type objects struct {
	testing.TB
	*memory.Storage
}

// tree stores a tree with these entries, in this order.
func (o objects) tree(entries ...object.TreeEntry) plumbing.Hash {
	o.Helper()
	stored := o.NewEncodedObject()
	stored.SetType(plumbing.TreeObject)
	writer, err := stored.Writer()
	if err != nil {
		o.Fatal(err)
	}
	for _, e := range entries {
		if _, err := fmt.Fprintf(writer, "%o %s\x00%s", uint32(e.Mode), e.Name, e.Hash[:]); err != nil {
			o.Fatal(err)
		}
	}
	hash, err := o.SetEncodedObject(stored)
	if err != nil {
		o.Fatal(err)
	}
	return hash
}

// blob stores a file.
func (o objects) blob(content string) plumbing.Hash {
	o.Helper()
	stored := o.NewEncodedObject()
	stored.SetType(plumbing.BlobObject)
	writer, err := stored.Writer()
	if err != nil {
		o.Fatal(err)
	}
	if _, err := writer.Write([]byte(content)); err != nil {
		o.Fatal(err)
	}
	hash, err := o.SetEncodedObject(stored)
	if err != nil {
		o.Fatal(err)
	}
	return hash
}

// TestDirectoriesWithoutEndAreNotCompared compares trees of a few objects that contain each other ten times,
// and have no files. git itself takes such a tree for one of ten million directories.
func TestDirectoriesWithoutEndAreNotCompared(t *testing.T) {
	o := objects{t, memory.NewStorage()}
	bomb := o.tree()
	for range 7 {
		var entries []object.TreeEntry
		for i := range 10 {
			entries = append(entries, object.TreeEntry{Name: fmt.Sprint(i), Mode: filemode.Dir, Hash: bomb})
		}
		bomb = o.tree(entries...)
	}
	full, empty := gittree.New(o.Storage, bomb, nil), gittree.New(o.Storage, plumbing.ZeroHash, nil)
	if _, err := gittree.Changes(empty, full, 10); !errors.Is(err, gittree.ErrTooManyEntries) {
		t.Errorf("not limited: %v", err)
	}
	if changes, err := gittree.Changes(full, gittree.New(o.Storage, bomb, nil), 10); err != nil || len(changes) > 0 {
		t.Errorf("the same: %v, %v", changes, err)
	}
}

// TestDeepDirectories reads and compares directories in each other, of which a pack has a million. Their
// paths together grow with the square of their number.
func TestDeepDirectories(t *testing.T) {
	o := objects{t, memory.NewStorage()}
	nested := func(depth int, name string) *gittree.Tree {
		hash := o.tree(object.TreeEntry{Name: "file", Mode: filemode.Regular, Hash: o.blob("1")})
		for range depth {
			hash = o.tree(object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
		}
		return gittree.New(o.Storage, hash, nil)
	}
	empty := gittree.New(o.Storage, plumbing.ZeroHash, nil)
	for name, test := range map[string]struct {
		tree *gittree.Tree
		deep bool
	}{
		"as deep as git allows": {nested(16, strings.Repeat("d", 254)), false},
		"a little deeper":       {nested(16, strings.Repeat("d", 255)), true},
		"many directories":      {nested(5000, strings.Repeat("d", 100)), true},
		"one of a long name":    {nested(1, strings.Repeat("d", 1<<20)), true},
	} {
		files := 0
		err := fs.WalkDir(test.tree, ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files++
				_, err = test.tree.ReadFile(name)
			}
			return err
		})
		if errors.Is(err, gittree.ErrLongPath) != test.deep || !test.deep && (err != nil || files != 1) {
			t.Errorf("%s: %d files are found, %.300v", name, files, err)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
		changes, err := gittree.Changes(empty, test.tree, 10)
		if errors.Is(err, gittree.ErrLongPath) != test.deep || !test.deep && (err != nil || len(changes) != 1) {
			t.Errorf("%s: %d changes, %.300v", name, len(changes), err)
		}
	}
}

// TestUnsafeNamesAreRejected checks names of entries that mean something in a path, or that two entries have: a
// reader of the first and one of the last would see different files under one hash.
func TestUnsafeNamesAreRejected(t *testing.T) {
	o := objects{t, memory.NewStorage()}
	file := func(name, content string) object.TreeEntry {
		return object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: o.blob(content)}
	}
	dir := func(name string) object.TreeEntry {
		return object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: o.tree(file("x", "1"))}
	}
	for name, entries := range map[string][]object.TreeEntry{
		"..": {dir("..")}, ".": {dir(".")}, "a/b": {file("a/b", "1")}, `a\b`: {file(`a\b`, "1")},
		".git": {dir(".git")}, ".GiT": {file(".GiT", "1")}, "\xff": {file("\xff", "1")},
		"a": {file("a", "1"), file("a", "2")}, "d": {file("d", "1"), file("d.x", "1"), dir("d")},
	} {
		tree := gittree.New(o.Storage, o.tree(entries...), nil)
		var unsafe *gittree.NameError
		if _, err := fs.ReadDir(tree, "."); !errors.As(err, &unsafe) || unsafe.Name != name {
			t.Errorf("%q is listed: %v", name, err)
		}
		if _, err := gittree.Changes(gittree.New(o.Storage, plumbing.ZeroHash, nil), tree, 10); !errors.As(err, &unsafe) {
			t.Errorf("%q is compared: %v", name, err)
		}
		if _, err := tree.Open("d/x"); err == nil || tree.Err() == nil {
			t.Errorf("%q: a file is opened: %v, %v", name, err, tree.Err())
		}
	}
}

// TestObjectsOfAnotherKind checks trees whose entries lead to objects of another kind than they state, or to
// none: reading fails, and Err reports why.
func TestObjectsOfAnotherKind(t *testing.T) {
	o := objects{t, memory.NewStorage()}
	below := o.tree(object.TreeEntry{Name: "x", Mode: filemode.Regular, Hash: o.blob("1")})
	for name, entry := range map[string]object.TreeEntry{
		"a file that is a tree": {Mode: filemode.Regular, Hash: below},
		"a tree that is a file": {Mode: filemode.Dir, Hash: o.blob("no tree")},
		"a link that is a tree": {Mode: filemode.Symlink, Hash: below},
		"a file that is absent": {Mode: filemode.Executable, Hash: hashOfBlob("absent")},
		"a tree that is absent": {Mode: filemode.Dir, Hash: hashOfBlob("absent")},
	} {
		entry.Name = "a"
		reason := errors.New("the repository is damaged")
		tree := gittree.New(o.Storage, o.tree(entry), func(err error) error { return errors.Join(reason, err) })
		var err error
		switch entry.Mode {
		case filemode.Dir:
			_, err = tree.ReadDir("a")
		case filemode.Symlink:
			_, err = tree.ReadLink("a")
		default:
			_, err = tree.ReadFile("a")
		}
		if !errors.Is(err, reason) || !errors.Is(tree.Err(), reason) {
			t.Errorf("%s: %v, and Err is %v", name, err, tree.Err())
		}
	}
}

func hashOfBlob(content string) plumbing.Hash {
	return plumbing.ComputeHash(plumbing.BlobObject, []byte(content))
}

// TestLinksAndSubmodules checks that no path leads through a link, and that a submodule is no file but a change.
func TestLinksAndSubmodules(t *testing.T) {
	o := objects{t, memory.NewStorage()}
	dir := o.tree(object.TreeEntry{Name: "x", Mode: filemode.Regular, Hash: o.blob("1")})
	link := object.TreeEntry{Name: "link", Mode: filemode.Symlink, Hash: o.blob("dir")}
	module := object.TreeEntry{Name: "module", Mode: filemode.Submodule, Hash: hashOfBlob("commit")}
	whole := object.TreeEntry{Name: "dir", Mode: filemode.Dir, Hash: dir}
	tree := gittree.New(o.Storage, o.tree(whole, link, module), nil)
	for _, name := range []string{"link", "link/x", "link/x/y"} {
		if _, err := fs.ReadFile(tree, name); !errors.Is(err, gittree.ErrLink) {
			t.Errorf("%s is read: %v", name, err)
		}
		if _, err := tree.Open(name); !errors.Is(err, gittree.ErrLink) {
			t.Errorf("%s is opened: %v", name, err)
		}
	}
	if target, err := tree.ReadLink("link"); err != nil || target != "dir" {
		t.Errorf("the link: %q, %v", target, err)
	}
	if _, err := tree.ReadLink("dir/x"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a file is read as a link: %v", err)
	}
	for _, name := range []string{"module", "module/x", "dir/x/y", "none"} {
		if _, err := tree.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "/dir", "dir/", "./dir", "dir/../dir", "dir//x"} {
		if _, err := tree.Stat(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	changes, err := gittree.Changes(gittree.New(o.Storage, o.tree(whole, link), nil), tree, 10)
	if err != nil {
		t.Fatal(err)
	}
	added := gittree.File{Hash: module.Hash.String(), Mode: fs.ModeIrregular}
	if d := cmp.Diff([]gittree.Change{{Path: "module", After: added}}, changes); d != "" {
		t.Error(d)
	}
}

// TestChangesOfAnyTrees compares the changes of two drawn trees with a comparison of all their files, and checks
// that the other direction has the same changes.
func TestChangesOfAnyTrees(t *testing.T) {
	names := []string{"a", "a/b", "a/b/c", "a.b", "d/e", "d", "f"}
	draw := func(t *rapid.T, label string) map[string]string {
		files := map[string]string{}
		for _, name := range names {
			if content := rapid.SampledFrom([]string{"", "1", "2", "+1"}).Draw(t, label+name); content != "" {
				files[name] = content
			}
		}
		for name := range files { // a name is that of a file or of a directory
			for other := range files {
				if len(other) > len(name) && other[:len(name)+1] == name+"/" {
					delete(files, name)
				}
			}
		}
		return files
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := draw(t, "before "), draw(t, "after ")
		trees := make([]*gittree.Tree, 2)
		for i, files := range []map[string]string{before, after} {
			b := gittree.NewBuilder(nil)
			for name, content := range files {
				mode := fs.FileMode(0o600)
				if content[0] == '+' {
					mode = 0o700
				}
				if err := b.Add(name, mode, []byte(content[len(content)-1:])); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := b.Tree()
			if err != nil {
				t.Fatal(err)
			}
			trees[i] = tree
		}
		var want []string
		for _, name := range names {
			if before[name] != after[name] {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		changes, err := gittree.Changes(trees[0], trees[1], len(want))
		if err != nil {
			t.Fatal(err)
		}
		back, err := gittree.Changes(trees[1], trees[0], len(want))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, c := range changes {
			got = append(got, c.Path)
			if i >= len(back) || back[i] != (gittree.Change{Path: c.Path, Before: c.After, After: c.Before}) {
				t.Fatalf("%+v, and in the other direction %+v", changes, back)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		if len(want) > 0 {
			if _, err := gittree.Changes(trees[0], trees[1], len(want)-1); !errors.Is(err, gittree.ErrTooManyChanges) {
				t.Fatalf("%d changes are listed where %d may be: %v", len(want), len(want)-1, err)
			}
		}
	})
}
