package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/ignore"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/filetree"
)

// tree is a packed source tree in memory. Links are followed within it.
type tree struct{ *filetree.Tree }

// newTree returns the tree of files, which must pass artifact.CheckTree.
func newTree(files []artifact.File) (*tree, error) {
	if err := artifact.CheckTree(files, artifact.Limits{}); err != nil {
		return nil, fmt.Errorf("the source: %w", err)
	}
	return &tree{filetree.New(files)}, nil
}

// resolve follows the links in a path, and returns the file or directory of the tree that it leads to.
func (t *tree) resolve(name string) (string, error) {
	found, err := t.Real(name)
	var at *fs.PathError
	switch {
	case err == nil || !errors.As(err, &at):
		return found, err
	case errors.Is(err, filetree.ErrOutside):
		return "", fmt.Errorf("%s leads out of the repository", quote(path.Clean(name)))
	case errors.Is(err, filetree.ErrCircle):
		return "", fmt.Errorf("the links at %s lead in a circle", quote(at.Path))
	}
	return "", t.missing(at.Path)
}

func (t *tree) missing(name string) error {
	hint := ""
	if near, ok := diagnostic.Nearest(path.Base(name), t.Names(path.Dir(name))); ok {
		hint = "; did you mean " + quote(path.Join(path.Dir(name), near)) + "?"
	}
	return fmt.Errorf("there is no %s in the repository%s", quote(name), hint)
}

// content returns the content of a file at a path without links.
func (t *tree) content(name string) []byte {
	file, _ := t.File(name)
	return file.Content
}

func (t *tree) isDir(name string) bool { return t.IsDir(name) }

// walk is the state of a walk through a chart's directory.
type walk struct {
	tree     *tree
	rules    *ignore.Rules
	files    []artifact.File
	bytes    int64
	seen     int      // files and directories visited
	openDirs []string // the real directories on the current path
}

// chartFiles returns the files of a chart directory as Helm reads it: without those
// that .helmignore excludes, with links followed, and without byte order marks.
func (t *tree) chartFiles(dir string) ([]artifact.File, error) {
	w := &walk{tree: t, rules: ignore.Empty()}
	if name, err := t.resolve(path.Join(dir, ignore.HelmIgnore)); err == nil && !t.isDir(name) {
		rules, err := ignore.Parse(bytes.NewReader(t.content(name)))
		if err != nil {
			return nil, fmt.Errorf("%s: %s; helm does not know this form either", path.Join(dir, ignore.HelmIgnore),
				clean(err.Error()))
		}
		w.rules = rules
	}
	w.rules.AddDefaults()
	if err := w.directory(dir, ""); err != nil {
		return nil, err
	}
	return w.files, nil
}

// directory adds a real directory under a name in the chart.
func (w *walk) directory(dir, as string) error {
	if slices.Contains(w.openDirs, dir) {
		return fmt.Errorf("%s: its links lead in a circle", quote(dir))
	}
	w.openDirs = append(w.openDirs, dir)
	defer func() { w.openDirs = w.openDirs[:len(w.openDirs)-1] }()
	for _, name := range w.tree.Names(dir) {
		if err := w.entry(path.Join(dir, name), path.Join(as, name)); err != nil {
			return err
		}
	}
	return nil
}

// maxSeen bounds the entries visited, including those that .helmignore excludes:
// links to directories of links multiply.
const maxSeen = 100_000

func (w *walk) entry(at, as string) error {
	if w.seen++; w.seen > maxSeen {
		return fmt.Errorf(
			"%s: the chart's directory holds more than %d files, with what links in it lead to; use fewer links",
			quote(at), maxSeen)
	}
	found, err := w.tree.resolve(at)
	if err != nil {
		if w.rules.Ignore(as, fileInfo{}) {
			return nil
		}
		return fmt.Errorf("%s: %w", quote(at), err)
	}
	dir := w.tree.isDir(found)
	if w.rules.Ignore(as, fileInfo{dir: dir}) {
		return nil
	}
	if dir {
		return w.directory(found, as)
	}
	content := bytes.TrimPrefix(w.tree.content(found), []byte("\xEF\xBB\xBF"))
	w.bytes += int64(len(content))
	switch {
	case len(content) > maxFile:
		return fmt.Errorf(
			"%s has %d bytes, files of a chart at most %d; name it in .helmignore if the chart does not need it", quote(at),
			len(content), maxFile)
	case w.bytes > maxUnpacked || len(w.files) >= maxFiles:
		return fmt.Errorf("the chart has more than %d files or %d bytes at %s; name in .helmignore what it does not need",
			maxFiles, maxUnpacked, quote(at))
	}
	w.files = append(w.files, artifact.File{Path: as, Content: content})
	return nil
}

// fileInfo is what .helmignore reads of a file: whether it is a directory.
type fileInfo struct{ dir bool }

// The methods of fs.FileInfo.
func (fileInfo) Name() string       { return "" }
func (fileInfo) Size() int64        { return 0 }
func (fileInfo) ModTime() time.Time { return time.Time{} }
func (fileInfo) Sys() any           { return nil }
func (k fileInfo) IsDir() bool      { return k.dir }
func (k fileInfo) Mode() fs.FileMode {
	if k.dir {
		return fs.ModeDir
	}
	return 0
}

// sorted returns the files in the byte order of their paths.
func sorted(files []artifact.File) []artifact.File {
	ordered := slices.Clone(files)
	slices.SortFunc(ordered, func(a, b artifact.File) int { return cmp.Compare(a.Path, b.Path) })
	return ordered
}
