package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func sample() []File {
	return []File{
		{Path: "main.tf", Content: []byte("output \"a\" { value = 1 }\n")},
		{Path: "modules/net/main.tf", Content: []byte("# net\n")},
		{Path: "modules/net/run.sh", Content: []byte("#!/bin/sh\n"), Executable: true},
		{Path: "modules/net/shared.tf", Link: "../../main.tf"},
		{Path: "zero", Content: nil},
	}
}

// writeInOrder writes the files with a given order, umask and time, none of which may affect the
// digest.
func writeInOrder(t *testing.T, dir string, files []File, umask int, when time.Time) {
	t.Helper()
	old := syscall.Umask(umask)
	defer syscall.Umask(old)
	for _, file := range files {
		name := filepath.Join(dir, file.Path)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if file.Link != "" {
			if err := os.Symlink(file.Link, name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o666)
		if file.Executable {
			mode = 0o777
		}
		if err := os.WriteFile(name, file.Content, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(name, umask, umask+1); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSameTreeSameDigest(t *testing.T) {
	forwards, backwards := sample(), sample()
	for i, j := 0, len(backwards)-1; i < j; i, j = i+1, j-1 {
		backwards[i], backwards[j] = backwards[j], backwards[i]
	}
	one, two := t.TempDir(), t.TempDir()
	writeInOrder(t, one, forwards, 0o002, time.Unix(1_000_000_000, 0))
	writeInOrder(t, two, backwards, 0o077, time.Unix(1_700_000_000, 5))
	if err := os.MkdirAll(filepath.Join(two, "empty", "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, dir := range []string{one, two} {
		files, err := ReadDir(dir, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		packed, err := Pack(MediaTerraform, files,
			map[string]string{AnnotationKind: "terraform_module", AnnotationTree: "abc"}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, packed.Digest())
	}
	inMemory, err := Pack(MediaTerraform, backwards,
		map[string]string{AnnotationTree: "abc", AnnotationKind: "terraform_module"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if digests[0] != digests[1] || digests[0] != inMemory.Digest() {
		t.Errorf("digests differ: %v and %s in memory", digests, inMemory.Digest())
	}
	other, err := Pack(MediaTerraform, backwards,
		map[string]string{AnnotationTree: "abd", AnnotationKind: "terraform_module"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if other.Digest() == inMemory.Digest() {
		t.Error("another annotation gives the same digest")
	}
}

// TestDigestIsFixed fails when a toolchain or a library changes the bytes of an artifact, which
// means that everything is rebuilt. If the change is intended, mention it in the release notes and
// pin the new digest.
func TestDigestIsFixed(t *testing.T) {
	packed, err := Pack(MediaSource, sample(), map[string]string{AnnotationTree: "abc"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "sha256:f3942bb50e37adefa70c89612803743a1728f580dad15cacc839c72b64c44732"
	if got := packed.Digest(); got != want {
		manifest, err := packed.Manifest()
		t.Errorf("digest is %s, want %s; manifest %s %v", got, want, manifest, err)
	}
}

func TestManifestNamesNothingButItsInputs(t *testing.T) {
	packed, err := Pack(MediaTerraform, sample(), nil, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := packed.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(manifest),
		`"annotations":{"org.opencontainers.image.created":"1970-01-01T00:00:00Z"}`) {
		t.Errorf("manifest is %s", manifest)
	}
	back, layer, err := ParseManifest(manifest)
	if err != nil || back.Type != MediaTerraform || back.Form != FormTree || layer.Size != int64(len(packed.Layer)) {
		t.Errorf("read back %+v, layer %v: %v", back, layer, err)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a-z]{1,3}|é|x{120}|\.hid`)
		names := rapid.SliceOfNDistinct(rapid.SliceOfN(part, 1, 4), 0, 12,
			func(parts []string) string { return strings.Join(parts, "/") })
		var files []File
		for _, parts := range names.Draw(t, "names") {
			files = append(files, File{
				Path:       strings.Join(parts, "/"),
				Executable: rapid.Bool().Draw(t, "executable"),
				Content:    rapid.SliceOf(rapid.Byte()).Draw(t, "content"),
			})
		}
		layer, err := Tarball(files, Limits{})
		if errors.Is(err, ErrUnsafe) {
			return // rapid generated a file and a directory with the same name
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := Untar(layer, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sorted(files), back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestWriteAndReadBack(t *testing.T) {
	layer, err := Tarball(sample(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	old := syscall.Umask(0o077)
	err = Extract(layer, dir, Limits{})
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadDir(dir, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), back, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(filepath.Join(dir, "modules/net/run.sh"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode is %v: %v", info.Mode(), err)
	}
	if err := Extract(layer, dir, Limits{}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("extracting over a tree gives %v", err)
	}
}

func TestSkip(t *testing.T) {
	dir := t.TempDir()
	writeInOrder(t, dir, sample(), 0o022, time.Unix(0, 0))
	files, err := ReadDir(dir, ReadOptions{Skip: func(path string, entry fs.DirEntry) bool {
		return path == "modules" || path == "zero"
	}})
	if err != nil || len(files) != 1 || files[0].Path != "main.tf" {
		t.Errorf("read %v: %v", files, err)
	}
}

func TestUnsafeTrees(t *testing.T) {
	tests := map[string][]File{
		"absolute":              {{Path: "/etc/passwd"}},
		"climbs":                {{Path: "../x"}},
		"climbs inside":         {{Path: "a/../../x"}},
		"not clean":             {{Path: "a//b"}},
		"root itself":           {{Path: "."}},
		"empty":                 {{Path: ""}},
		"backslash":             {{Path: `a\b`}},
		"zero byte":             {{Path: "a\x00b"}},
		"not text":              {{Path: "a\xff"}},
		"twice":                 {{Path: "a"}, {Path: "a"}},
		"below a file":          {{Path: "a"}, {Path: "a/b"}},
		"below a link":          {{Path: "a", Link: "b"}, {Path: "a/b/c"}},
		"link out":              {{Path: "a", Link: "../x"}},
		"link out from below":   {{Path: "a/b", Link: "../../x"}},
		"link absolute":         {{Path: "a", Link: "/etc/passwd"}},
		"link climbs in middle": {{Path: "x/y", Link: "../z"}, {Path: "a", Link: "x/y/../.."}, {Path: "z/w"}},
		"link with content":     {{Path: "a", Link: "b", Content: []byte("x")}},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			if err := CheckTree(files, Limits{}); !errors.Is(err, ErrUnsafe) {
				t.Errorf("CheckTree gives %v, want ErrUnsafe", err)
			}
			dir := filepath.Join(t.TempDir(), "out")
			if err := WriteTree(files, dir, Limits{}); !errors.Is(err, ErrUnsafe) {
				t.Errorf("WriteTree gives %v, want ErrUnsafe", err)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was left behind: %v", err)
			}
		})
	}
}

// TestLinksNeverLeave follows every link of random accepted trees on disk.
func TestLinksNeverLeave(t *testing.T) {
	base := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		var files []File
		name := rapid.SampledFrom([]string{"a", "b", "a/c", "a/d", "b/e", "b/e/f", "g"})
		target := rapid.StringMatching(`(\.\./){0,3}(a|b|c|e|f|g)(/(c|d|e|\.\.)){0,3}`)
		for range rapid.IntRange(1, 6).Draw(t, "links") {
			files = append(files, File{Path: name.Draw(t, "name"), Link: target.Draw(t, "target")})
		}
		if CheckTree(files, Limits{}) != nil {
			return
		}
		round++
		dir := filepath.Join(base, fmt.Sprint(round), "deep", "tree")
		if err := WriteTree(files, dir, Limits{}); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			reached, err := filepath.EvalSymlinks(filepath.Join(dir, file.Path))
			if err == nil && reached != dir && !strings.HasPrefix(reached, dir+"/") {
				t.Fatalf("%s -> %s reaches %s, outside of %s", file.Path, file.Link, reached, dir)
			}
		}
	})
}

func TestReadRefusesSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDir(dir, ReadOptions{}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a pipe gives %v, want ErrUnsafe", err)
	}
}

func TestReadDoesNotFollowLinksOut(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "secret.tf")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDir(dir, ReadOptions{}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a link out gives %v, want ErrUnsafe", err)
	}
}

func TestLimits(t *testing.T) {
	files := []File{{Path: "a", Content: make([]byte, 100)}, {Path: "b", Content: make([]byte, 100)}}
	layer, err := Tarball(files, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeInOrder(t, dir, files, 0o022, time.Unix(0, 0))
	tests := map[string]Limits{
		"files":      {Files: 1},
		"file bytes": {FileBytes: 99},
		"total":      {TotalBytes: 199},
		"path":       {PathBytes: -1},
	}
	for name, limits := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Untar(layer, limits); !errors.Is(err, ErrTooLarge) {
				t.Errorf("Untar gives %v", err)
			}
			if _, err := ReadDir(dir, ReadOptions{Limits: limits}); !errors.Is(err, ErrTooLarge) {
				t.Errorf("ReadDir gives %v", err)
			}
			if _, err := Tarball(files, limits); !errors.Is(err, ErrTooLarge) {
				t.Errorf("Tarball gives %v", err)
			}
		})
	}
	exact := Limits{Files: 2, FileBytes: 100, TotalBytes: 200, PathBytes: 1}
	if _, err := Untar(layer, exact); err != nil {
		t.Errorf("just within the limits: %v", err)
	}
}

// archive creates a hostile layer from tar headers.
func archive(t *testing.T, headers ...*tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	writer := tar.NewWriter(compressed)
	for _, header := range headers {
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(make([]byte, header.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(writer.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostileLayers(t *testing.T) {
	whole, err := Tarball(sample(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		layer []byte
		want  error
	}{
		"climbing": {archive(t, &tar.Header{Name: "../../evil", Typeflag: tar.TypeReg, Mode: 0o644}), ErrUnsafe},
		"absolute": {archive(t, &tar.Header{Name: "/evil", Typeflag: tar.TypeReg, Mode: 0o644}), ErrUnsafe},
		"device":   {archive(t, &tar.Header{Name: "d", Typeflag: tar.TypeBlock, Mode: 0o644}), ErrUnsafe},
		"hard link": {archive(t, &tar.Header{Name: "h", Linkname: "/etc/passwd", Typeflag: tar.TypeLink, Mode: 0o644}),
			ErrUnsafe},
		"link, then through it": {archive(t,
			&tar.Header{Name: "l", Linkname: "/tmp", Typeflag: tar.TypeSymlink, Mode: 0o777},
			&tar.Header{Name: "l/evil", Typeflag: tar.TypeReg, Mode: 0o644}), ErrUnsafe},
		"bomb": {archive(t, &tar.Header{Name: "big", Typeflag: tar.TypeReg, Size: 3 << 20, Mode: 0o644}),
			ErrTooLarge},
		"cut short": {whole[:len(whole)/2], ErrDamaged},
		"not gzip":  {[]byte("hello"), ErrDamaged},
		"empty":     {nil, ErrDamaged},
		"not a tar": {gzipped(t, bytes.Repeat([]byte("x"), 2048)), ErrDamaged},
		"many dirs": {manyDirs(t, 200), ErrTooLarge},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			err := Extract(test.layer, dir, Limits{TotalBytes: 2 << 20, Files: 100})
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Error("something was written")
			}
		})
	}
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func manyDirs(t *testing.T, count int) []byte {
	t.Helper()
	var headers []*tar.Header
	for i := range count {
		headers = append(headers, &tar.Header{Name: fmt.Sprintf("d%d/", i), Typeflag: tar.TypeDir, Mode: 0o755})
	}
	return archive(t, headers...)
}

func FuzzUntar(f *testing.F) {
	whole, err := Tarball(sample(), Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, layer []byte) {
		files, err := Untar(layer, Limits{TotalBytes: 1 << 20, Files: 100})
		if err != nil {
			return
		}
		if err := CheckTree(files, Limits{TotalBytes: 1 << 20, Files: 100}); err != nil {
			t.Fatal(err)
		}
	})
}
