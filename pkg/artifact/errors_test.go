package artifact

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// TestReasons checks how the errors of the registry client are classified, and what each suggests to do. A response
// counts more than what it is wrapped in.
func TestReasons(t *testing.T) {
	repository := open(t, Reference{Host: "registry.example.com", Repository: "apps/web"}, Credential{})
	status := func(code int) error {
		address := &url.URL{Scheme: "https", Host: "registry.example.com", Path: "/v2/"}
		return &errcode.ErrorResponse{Method: http.MethodGet, URL: address, StatusCode: code}
	}
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for _, test := range []struct {
		err    error
		reason Reason
		status int
		hint   string
	}{
		{status(401), Unauthorized, 401, "give a user name and password or token that this registry knows"},
		{auth.ErrBasicCredentialNotFound, Unauthorized, 0, "give a user name and password or token that this registry knows"},
		{status(403), Forbidden, 403, "let the credential pull in this repository, or use another credential"},
		{status(404), NotFound, 404, "check that it was pushed to this registry and not removed since"},
		{errdef.ErrNotFound, NotFound, 0, "check that it was pushed to this registry and not removed since"},
		{ErrDamaged, Damaged, 0, "nothing of it was used; remove it from the registry and build it again"},
		{errors.New("digest mismatch: a and b"), Damaged, 0,
			"nothing of it was used; remove it from the registry and build it again"},
		{ErrTooLarge, Oversized, 0, "make it smaller: leave out what a deploy does not need"},
		{errNoDeletion, NoDeletion, 0, "use the registry's own rules for retention"},
		{ErrUnsupported, Unsupported, 0, "push it in a newer format"},
		{ErrNotRegistry, NotRegistry, 0, "check the address"},
		{context.Canceled, Cancelled, 0, "run it again"}, {context.DeadlineExceeded, Cancelled, 0, "run it again"},
		{dial, Unreachable, 0, "check that the registry runs and can be reached from this machine"},
		{&url.Error{Op: "Get", URL: "https://x", Err: io.EOF}, Unreachable, 0,
			"check that the registry runs and can be reached from this machine"},
		{io.ErrUnexpectedEOF, Unreachable, 0, "check that the registry runs and can be reached from this machine"},
		{&url.Error{Op: "Get", URL: "https://x", Err: context.Canceled}, Cancelled, 0, "run it again"},
		{status(500), Rejected, 500, "look at the registry's own log"},
		{status(429), Rejected, 429, "look at the registry's own log"},
		{errors.Join(status(503), dial), Rejected, 503, "look at the registry's own log"},
		{errors.New("anything else"), Rejected, 0, "look at the registry's own log"},
	} {
		err := repository.explain("pull", "sha256:abc", fmt.Errorf("wrapped: %w", test.err))
		var explained *Error
		if !errors.As(err, &explained) || explained.Reason != test.reason || explained.Status != test.status ||
			!errors.Is(err, test.err) {
			t.Errorf("%v: %+v, want %s with the status %d", test.err, explained, test.reason, test.status)
			continue
		}
		begin := "pull sha256:abc at registry registry.example.com/apps/web: " + string(test.reason) + ": "
		if text := err.Error(); !strings.HasPrefix(text, begin) || !strings.HasSuffix(text, "; "+test.hint) ||
			!strings.Contains(text, test.err.Error()) {
			t.Errorf("%v is told as\n%s", test.err, text)
		}
	}
}

// TestErrorsHaveNoQuery: the address of a store of blobs, to which a registry redirects, has a signature in its query.
func TestErrorsHaveNoQuery(t *testing.T) {
	repository := open(t, Reference{Host: "registry.example.com", Repository: "apps/web"}, Credential{})
	address := &url.URL{Scheme: "https", Host: "store.example.com", Path: "/b", RawQuery: "signature=hidden"}
	for _, err := range []error{
		&errcode.ErrorResponse{Method: http.MethodGet, URL: address, StatusCode: 500},
		fmt.Errorf("manifest: %w", &url.Error{Op: "Get", URL: address.String(), Err: io.EOF}),
	} {
		text := repository.explain("pull", "sha256:1", err).Error()
		if strings.Contains(text, "hidden") || !strings.Contains(text, "https://store.example.com/b") {
			t.Error(text)
		}
	}
}

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
