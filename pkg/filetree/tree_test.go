package filetree_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

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
