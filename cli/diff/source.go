package diff

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// stdin is the argument that stands for standard input.
const stdin = "-"

// Limits on input: the bytes and files of one side, and the bytes of a file that a flag names.
const (
	maxBytes = 256 << 20
	maxFiles = 50_000
	maxSmall = 1 << 20
)

// reader reads the inputs that the arguments name.
type reader struct {
	in     io.Reader
	max    int64             // limit for one side, in bytes
	files  int               // limit for one directory
	remark func(text string) // prints a message for the user
	taken  bool              // stdin was read
}

func newReader(c *console.Console) *reader {
	return &reader{
		in: c.In, max: maxBytes, files: maxFiles, remark: func(text string) { c.Messagef("%s", console.Line(text)) }}
}

// manifests reads a side: a file, a pipe, everything below a directory, or stdin.
func (r *reader) manifests(name string) ([]manifest.Source, error) {
	if name == stdin {
		content, err := r.standard()
		return []manifest.Source{{Name: name, Data: content}}, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, readError(name, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, readError(name, err)
	}
	if info.IsDir() {
		return r.directory(name)
	}
	content, err := readBounded(name, file, info, r.max)
	return []manifest.Source{{Name: name, Data: content}}, err
}

// standard reads stdin, which is possible only once.
func (r *reader) standard() ([]byte, error) {
	if r.taken {
		return nil, exitcode.Usagef("only one side can be - (stdin); pass the others as files, or as <(command)")
	}
	r.taken = true
	return readBounded(stdin, r.in, nil, r.max)
}

// readError wraps the error of reading a file. The message has the file's name only once.
func readError(name string, err error) error { return fmt.Errorf("read %s: %w", name, cause(err)) }

// cause returns the error without the path that it starts with.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// readBounded reads a file to its end. info is nil, or gives the size of a regular file.
func readBounded(name string, from io.Reader, info fs.FileInfo, most int64) ([]byte, error) {
	var content bytes.Buffer
	if info != nil && info.Mode().IsRegular() {
		if info.Size() > most {
			return nil, tooLarge(name, most)
		}
		content.Grow(int(info.Size()) + bytes.MinRead)
	}
	if n, err := content.ReadFrom(io.LimitReader(from, most+1)); err != nil {
		return nil, readError(name, err)
	} else if n > most {
		return nil, tooLarge(name, most)
	}
	return content.Bytes(), nil
}

func tooLarge(name string, most int64) error {
	return fmt.Errorf("%s is larger than %s, the maximum for one side; compare it in parts", name, size(most))
}

// size formats a number of bytes.
func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// readSmall reads a file that a flag names.
func readSmall(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, readError(name, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxSmall+1))
	if err != nil {
		return nil, readError(name, err)
	}
	if len(content) > maxSmall {
		return nil, fmt.Errorf("%s is larger than %s", name, size(maxSmall))
	}
	return content, nil
}

// renderedBy lists files that mark a directory as the source of manifests, with the
// command that renders it.
var renderedBy = []struct{ file, by string }{
	{"Chart.yaml", "a Helm chart; render it first: <(helm template %s), or compare charts with nuon diff helm"},
	{"kustomization.yaml", "a kustomization; build it first: <(kubectl kustomize %s)"},
	{"kustomization.yml", "a kustomization; build it first: <(kubectl kustomize %s)"},
}

// directory reads the manifests below a directory, ordered by path.
func (r *reader) directory(name string) ([]manifest.Source, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, readError(name, err)
	}
	defer root.Close() //nolint:errcheck // it was only read
	for _, m := range renderedBy {
		if _, err := root.Stat(m.file); err == nil {
			return nil, exitcode.Usagef("%s is "+m.by, name, name)
		}
	}
	walk := &walk{root: root, name: name, left: r.max, max: r.max, files: r.files}
	if err := fs.WalkDir(root.FS(), ".", walk.visit); err != nil {
		return nil, err
	}
	if len(walk.found) == 0 {
		r.remark(name + " has no manifests: no file in it ends in .yaml, .yml or .json")
	}
	return walk.found, nil
}

// walk is the state of a walk through a directory. os.Root confines it to the
// directory, wherever links lead.
type walk struct {
	root      *os.Root
	name      string
	left, max int64
	files     int
	found     []manifest.Source
}

func (w *walk) visit(at string, entry fs.DirEntry, err error) error {
	name := filepath.Join(w.name, filepath.FromSlash(at))
	switch {
	case err != nil:
		return readError(name, err)
	case at != "." && strings.HasPrefix(entry.Name(), "."):
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	case entry.IsDir() || !isManifest(entry.Name()):
		return nil
	}
	return w.take(name, filepath.FromSlash(at))
}

// isManifest reports whether a file name has an extension of manifests.
func isManifest(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// take reads one file.
func (w *walk) take(name, at string) error {
	// Every failure is an error: if a file were skipped, its objects would appear as deleted.
	info, err := w.root.Stat(at)
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w; a link must point to a file in %s", name, cause(err), w.name)
	case info.IsDir():
		return nil // a link to a directory, whose files are found at their own path
	case !info.Mode().IsRegular():
		return fmt.Errorf("read %s: not a regular file; remove it from %s", name, w.name)
	case len(w.found) == w.files:
		return fmt.Errorf("%s has more than %d files with manifests; compare it in parts", w.name, w.files)
	case info.Size() > w.left:
		return tooLarge(w.name, w.max)
	}
	file, err := w.root.Open(at)
	if err != nil {
		return readError(name, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := readBounded(name, file, info, w.left)
	if err != nil {
		return err
	}
	w.left -= int64(len(content))
	w.found = append(w.found, manifest.Source{Name: name, Data: content})
	return nil
}
