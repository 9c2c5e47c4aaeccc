package filetree_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/filetree"
)

func tree() *filetree.Tree {
	return filetree.New([]artifact.File{
		{Path: "a/b/main.tf", Content: []byte("1")}, {Path: "a/run.sh", Executable: true, Content: []byte("22")},
		{Path: "to-b", Link: "a/b"}, {Path: "a/up", Link: "../to-b/main.tf"}, {Path: "out", Link: "../x"},
		{Path: "root", Link: "/etc"}, {Path: "circle", Link: "circle2"}, {Path: "circle2", Link: "circle"},
		{Path: "dangling", Link: "none"},
	})
}

// TestFileSystem checks the file system by the rules of package fs.
func TestFileSystem(t *testing.T) {
	t.Parallel()
	if err := fstest.TestFS(tree(), "a/b/main.tf", "a/run.sh", "a/up", "to-b/main.tf"); err != nil {
		t.Fatal(err)
	}
	if got, err := fs.ReadFile(tree(), "to-b/../a/up"); err == nil {
		t.Errorf("a path that is not clean was opened: %q", got)
	}
}

func TestReal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		want string
		err  error
	}{
		".": {".", nil}, "a": {"a", nil}, "to-b": {"a/b", nil}, "to-b/main.tf": {"a/b/main.tf", nil},
		"a/up": {"a/b/main.tf", nil}, "a/../to-b/.": {"a/b", nil},
		"..": {"", filetree.ErrOutside}, "a/../../x": {"", filetree.ErrOutside}, "out": {"", filetree.ErrOutside},
		"root/passwd": {"", filetree.ErrOutside}, "circle": {"", filetree.ErrCircle},
		"dangling": {"", fs.ErrNotExist}, "none": {"", fs.ErrNotExist}, "a/run.sh/x": {"", fs.ErrNotExist},
	} {
		got, err := tree().Real(name)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, test.want, test.err)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	if file, is := tree().File("a/run.sh"); !is || !file.Executable {
		t.Errorf("%v %t", file, is)
	}
	if info, err := fs.Stat(tree(), "a/run.sh"); err != nil || info.Mode() != 0o755 || info.Size() != 2 {
		t.Errorf("%v %v", info, err)
	}
	if got := tree().Names("a"); len(got) != 3 || !tree().IsDir("a/b") || tree().IsDir("a/up") {
		t.Errorf("%v", got)
	}
}

// TestLinksAreFollowedAsOnDisk draws trees with links, and checks that a path leads to the same file as in a real
// directory, or is an error where the real one leaves the directory or has none.
func TestLinksAreFollowedAsOnDisk(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	trees := 0
	rapid.Check(t, func(rt *rapid.T) {
		trees++
		root := filepath.Join(base, strconv.Itoa(trees))
		names := rapid.SampledFrom([]string{"a", "b", "a/c", "a/d", "a/d/e", "a/d/f", "g/h"})
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "g", "h", "..", "."}), 1, 4)
		var files []artifact.File
		for _, name := range rapid.SliceOfNDistinct(names, 1, 5, rapid.ID).Draw(rt, "names") {
			if slices.ContainsFunc(files, func(f artifact.File) bool {
				return strings.HasPrefix(name, f.Path+"/") || strings.HasPrefix(f.Path, name+"/")
			}) {
				continue // a file is no directory
			}
			file := artifact.File{Path: name, Content: []byte(name)}
			if rapid.Bool().Draw(rt, name+" is a link") {
				file = artifact.File{Path: name, Link: strings.Join(steps.Draw(rt, "link"), "/")}
			}
			files = append(files, file)
			onDisk := filepath.Join(root, name)
			err := os.MkdirAll(filepath.Dir(onDisk), 0o700)
			if err == nil && file.Link == "" {
				err = os.WriteFile(onDisk, file.Content, 0o600)
			} else if err == nil {
				err = os.Symlink(file.Link, onDisk)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		tree := filetree.New(files)
		for range 10 {
			name := path.Clean(strings.Join(steps.Draw(rt, "path"), "/"))
			got, err := tree.Real(name)
			real, diskErr := filepath.EvalSymlinks(filepath.Join(root, name))
			want, inside := strings.CutPrefix(real+"/", root+"/")
			inside = inside && diskErr == nil && !leaves(name)
			switch want = path.Clean("./" + want); {
			case err != nil && inside && !errors.Is(err, filetree.ErrOutside), err == nil && (!inside || got != want):
				rt.Fatalf("%q of %+v leads to %q, %v; on disk to %q, %v", name, files, got, err, real, diskErr)
			case errors.Is(err, filetree.ErrOutside) && inside && !outOfRoot(files):
				rt.Fatalf("%q of %+v is outside, and on disk %q", name, files, real)
			}
		}
	})
}

// leaves reports whether a clean path starts above the tree.
func leaves(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

// outOfRoot reports whether a link has steps up, which may lead out of the tree and into it again.
func outOfRoot(files []artifact.File) bool {
	return slices.ContainsFunc(files, func(f artifact.File) bool { return strings.Contains(f.Link, "..") })
}

// TestLongChainsOfLinks checks that as many links are followed as Linux follows, and that a link that doubles itself
// takes no time.
func TestLongChainsOfLinks(t *testing.T) {
	t.Parallel()
	files := []artifact.File{{Path: "l0", Content: []byte("end")}}
	for i := 1; i <= 41; i++ {
		files = append(files, artifact.File{Path: fmt.Sprintf("l%d", i), Link: fmt.Sprintf("l%d", i-1)})
	}
	files = append(files, artifact.File{Path: "twice", Link: "twice/twice"})
	chain := filetree.New(files)
	if got, err := chain.Real("l40"); got != "l0" || err != nil {
		t.Errorf("40 links: %q, %v", got, err)
	}
	for _, name := range []string{"l41", "twice", "twice/x"} {
		if got, err := chain.Real(name); !errors.Is(err, filetree.ErrCircle) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err := fs.Stat(chain, name); !errors.Is(err, filetree.ErrCircle) {
			t.Errorf("stat %s: %v", name, err)
		}
	}
}

// TestListsInParts checks that a directory is listed completely in parts of any size.
func TestListsInParts(t *testing.T) {
	t.Parallel()
	for n := 1; n < 5; n++ {
		dir, err := tree().Open("a")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for {
			entries, err := dir.(fs.ReadDirFile).ReadDir(n)
			for _, e := range entries {
				names = append(names, e.Name())
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || len(entries) == 0 || len(entries) > n {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
		}
		if !slices.Equal(names, []string{"b", "run.sh", "up"}) {
			t.Errorf("in parts of %d: %v", n, names)
		}
		if _, err := dir.Read(nil); err == nil {
			t.Error("a directory was read as a file")
		}
	}
}
