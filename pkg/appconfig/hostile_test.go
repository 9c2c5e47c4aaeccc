package appconfig

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Load rejects a file that is too large without reading it, however the config refers to it.
func TestLargeFilesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, small().and(files{"metadata.toml": "version='v2'\n" +
		"readme='./large.toml'\n"}).fs()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inputs.toml", "large.toml"} {
		file, err := os.Create(filepath.Join(dir, name)) //nolint:gosec // a directory of the test
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Truncate(100 << 20); err != nil { // a sparse file: it takes no space on the disk
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	read := &counting{FS: os.DirFS(dir)}
	_, found := Load(read, Options{})
	for _, want := range []string{"inputs.toml:1:1: error: the file cannot be read: it is larger than 1048576 bytes",
		"metadata.toml:2:8: error: large.toml cannot be read: it is larger than 4194304 bytes"} {
		if !strings.Contains(found.String(), want) {
			t.Errorf("says\n%v\nwant\n%s", found, want)
		}
	}
	if read.bytes > 10_000 {
		t.Errorf("%d bytes were read", read.bytes)
	}
}

// counting counts the bytes read.
type counting struct {
	fs.FS
	bytes int
}

func (c *counting) Open(name string) (fs.File, error) {
	file, err := c.FS.Open(name)
	return &countingFile{file, c}, err
}

type countingFile struct {
	fs.File
	in *counting
}

func (f *countingFile) Read(into []byte) (int, error) {
	n, err := f.File.Read(into)
	f.in.bytes += n
	return n, err
}

// ReadDir makes countingFile an fs.ReadDirFile.
func (f *countingFile) ReadDir(n int) ([]fs.DirEntry, error) {
	dir, ok := f.File.(fs.ReadDirFile)
	if !ok {
		return nil, fs.ErrInvalid
	}
	return dir.ReadDir(n)
}

// A byte order mark and CRLF are valid; bytes that are not text are an error with a position.
func TestEncodings(t *testing.T) {
	plain := mustLoad(t, small())
	for name, change := range map[string]func(string) string{
		"byte order mark": func(text string) string { return "\ufeff" + text },
		"line ends":       func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
		"both":            func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") },
	} {
		dir := files{}
		for name, text := range small() {
			dir[name] = change(text)
		}
		app, found := Load(dir.fs(), Options{})
		if app == nil || len(found) > 0 || app.Digest() != plain.Digest() {
			t.Errorf("%s: %v", name, found)
		}
	}
	for text, want := range map[string]string{
		"version='v2'\ndescription='\xff'":      "metadata.toml:2:14: error: the file is not UTF-8 text (save it as UTF-8)",
		"# \xc3\nversion='v2'":                  "metadata.toml:1:3: error: the file is not UTF-8 text (save it as UTF-8)",
		"\xff\xfev\x00e\x00":                    "metadata.toml:1:1: error: the file is not UTF-8 text (save it as UTF-8)",
		"version='v2'\n\ufeffdescription='x'\n": "metadata.toml:2:1: error: TOML syntax: ",
	} {
		if _, found := Load(small().and(files{"metadata.toml": text}).fs(), Options{}); !strings.Contains(found.String(),
			want) {
			t.Errorf("%q: says\n%v\nwant\n%s", text, found, want)
		}
	}
}

// Load does not block on entries that are not regular files.
func TestStrangeFiles(t *testing.T) {
	dir := small().and(files{"components/a.toml": moduleFile("a", "")}).fs()
	dir["components/b.toml"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	dir["components/c.toml/d"] = &fstest.MapFile{}
	_, found := Load(dir, Options{})
	if found.String() != "components/b.toml:1:1: error: the file cannot be read: it is not a regular file" {
		t.Error(found)
	}
}
