package artifact

import (
	"archive/tar"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestTreeErrors checks what is said of a tree that cannot be packed: which entry, and why.
func TestTreeErrors(t *testing.T) {
	content := func(n int) []byte { return make([]byte, n) }
	long := strings.Repeat("a", 1025)
	for _, test := range []struct {
		files  []File
		limits Limits
		want   string
	}{
		{[]File{{Path: "a"}, {Path: "b"}, {Path: "a"}}, Limits{}, "unsafe tree: a is there twice"},
		{[]File{{Path: "a/b/c"}, {Path: "a", Executable: true}}, Limits{},
			"unsafe tree: a/b/c lies below a, which is not a directory"},
		{[]File{{Path: "a/b/c"}, {Path: "a/b", Link: "c"}}, Limits{},
			"unsafe tree: a/b/c lies below a/b, which is not a directory"},
		{[]File{{Path: "./a"}}, Limits{}, `unsafe tree: path "./a" must be relative, clean and inside the tree`},
		{[]File{{Path: "a/"}}, Limits{}, `unsafe tree: path "a/" must be relative, clean and inside the tree`},
		{[]File{{Path: "a", Link: "b", Executable: true}}, Limits{},
			"unsafe tree: a is a link and cannot have content or a mode"},
		{[]File{{Path: "a", Link: "b/../c"}}, Limits{}, `unsafe tree: link a to "b/../c" must have a relative, clean target`},
		{[]File{{Path: "a", Link: "./b"}}, Limits{}, `unsafe tree: link a to "./b" must have a relative, clean target`},
		{[]File{{Path: "a", Link: `b\c`}}, Limits{}, `unsafe tree: link a to "b\\c" must have a relative, clean target`},
		{[]File{{Path: "a", Link: "b\x00"}}, Limits{}, `unsafe tree: link a to "b\x00" must have a relative, clean target`},
		{[]File{{Path: "d/a", Link: "../../b"}}, Limits{}, `unsafe tree: link d/a to "../../b" leads out of the tree`},
		{[]File{{Path: "d/a", Link: "../.."}}, Limits{}, `unsafe tree: link d/a to "../.." leads out of the tree`},
		{[]File{{Path: "d/a", Link: ".."}, {Path: "e", Link: "..x"}, {Path: "f", Link: "."}}, Limits{}, ""},
		{[]File{{Path: long[:1024]}}, Limits{}, ""},
		{[]File{{Path: long}}, Limits{}, "too large: path \"" + long[:60] + "\"… has 1025 bytes, at most 1024 are allowed"},
		{[]File{{Path: "a", Link: long[:1024]}}, Limits{}, ""},
		{[]File{{Path: "a", Link: long}}, Limits{}, "too large: the target of link a has 1025 bytes"},
		{[]File{{Path: "a", Content: content(10)}}, Limits{FileBytes: 10}, ""},
		{[]File{{Path: "a", Content: content(11)}}, Limits{FileBytes: 10}, "too large: a has more than 10 bytes"},
		{[]File{{Path: "a", Content: content(6)}, {Path: "b", Content: content(4)}}, Limits{TotalBytes: 10}, ""},
		{[]File{{Path: "a", Content: content(6)}, {Path: "b", Content: content(5)}}, Limits{TotalBytes: 10},
			"too large: the files have more than 10 bytes together"},
		{[]File{{Path: "a"}, {Path: "b", Link: "a"}}, Limits{Files: 2}, ""},
		{[]File{{Path: "a"}, {Path: "b", Link: "a"}, {Path: "c"}}, Limits{Files: 2}, "too large: more than 2 files"},
	} {
		got := ""
		if err := CheckTree(test.files, test.limits); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%.100v:\n%s, want\n%s", test.files, got, test.want)
		}
	}
}

// TestForeignArchives checks what is taken of the archives of other programs: the owner's bit of a mode, links,
// and names of directories, which mean nothing.
func TestForeignArchives(t *testing.T) {
	file := func(name string, mode int64) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Uname: "root", Uid: 7, Size: 1}
	}
	layer := archive(t, &tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o700},
		&tar.Header{Name: "../out/", Typeflag: tar.TypeDir, Mode: 0o700}, file("z", 0o6755), file("a", 0o077), file("b",
			0o100),
		&tar.Header{Name: "l", Linkname: "z", Typeflag: tar.TypeSymlink, Mode: 0o644})
	got, err := Untar(layer, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	zero := []byte{0}
	want := []File{{Path: "a", Content: zero}, {Path: "b", Content: zero, Executable: true}, {Path: "l", Link: "z"},
		{Path: "z", Content: zero, Executable: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for want, header := range map[string]*tar.Header{
		"unpack: unsafe tree: link l has no target": {Name: "l", Typeflag: tar.TypeSymlink},
		"unpack: unsafe tree: p is of tar type '6'; only files, directories and symbolic links are taken": {Name: "p",
			Typeflag: tar.TypeFifo},
		"unpack: unsafe tree: h is of tar type '1'; only files, directories and symbolic links are taken": {Name: "h",
			Typeflag: tar.TypeLink, Linkname: "a"},
		`unpack: unsafe tree: path "./a" must be relative, clean and inside the tree`: {Name: "./a", Typeflag: tar.TypeReg},
	} {
		if _, err := Untar(archive(t, header), Limits{}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	// What follows the end of the compressed archive is not read.
	if again, err := Untar(append(layer, "anything"...), Limits{}); err != nil || cmp.Diff(got, again) != "" {
		t.Errorf("with more behind it: %v, %v", again, err)
	}
}

// TestReadOptions checks that a skipped directory is not entered, that every file is shown to Accept before it is
// read, and that an error of either ends the read.
func TestReadOptions(t *testing.T) {
	tree := fstest.MapFS{
		"keep/a": {Data: []byte("1"), Mode: 0o755}, "keep/b": {Data: []byte("2"), Mode: 0o677},
		"skip/below/c": {Data: []byte("3")},
		"skip.txt":     {Data: []byte("4")},
	}
	var shown, accepted []string
	files, err := ReadFS(tree, ReadOptions{
		Skip: func(path string, _ fs.DirEntry) bool {
			shown = append(shown, path)
			return strings.HasPrefix(path, "skip")
		},
		Accept: func(info fs.FileInfo) error {
			accepted = append(accepted, info.Name())
			return nil
		},
	})
	want := []File{{Path: "keep/a", Executable: true, Content: []byte("1")}, {Path: "keep/b", Content: []byte("2")}}
	if diff := cmp.Diff(want, files) + cmp.Diff([]string{"keep", "keep/a", "keep/b", "skip", "skip.txt"}, shown) +
		cmp.Diff([]string{"a", "b"}, accepted); diff != "" || err != nil {
		t.Error(err, diff)
	}
	refused := errors.New("changed since")
	if _, err := ReadFS(tree, ReadOptions{Accept: func(fs.FileInfo) error { return refused }}); !errors.Is(err, refused) {
		t.Errorf("a file that is not accepted: %v", err)
	}
	if _, err := ReadDir(t.TempDir()+"/none", ReadOptions{}); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "read tree: ") {
		t.Errorf("no directory: %v", err)
	}
	if _, err := ReadFS(fstest.MapFS{"d": {Mode: fs.ModeDevice}}, ReadOptions{}); !errors.Is(err, ErrUnsafe) ||
		!strings.Contains(err.Error(), "d is neither a file, a directory nor a symbolic link; remove it from the tree") {
		t.Errorf("a device: %v", err)
	}
}
