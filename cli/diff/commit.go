package diff

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// commitFS is the files of a commit, read from git's objects: nothing is checked out. It follows no symbolic link and shows it as one;
// submodules are not there.
type commitFS struct {
	store storer.EncodedObjectStorer
	root  plumbing.Hash // of the tree
}

var (
	_ fs.ReadDirFS = (*commitFS)(nil)
	_ fs.StatFS    = (*commitFS)(nil)
)

// Open opens a file, or a directory to be asked what it is.
func (c *commitFS) Open(name string) (fs.File, error) {
	entry, err := c.find("open", name)
	if err != nil {
		return nil, err
	}
	file := &commitFile{info: c.info(name, entry)}
	if file.info.mode.IsRegular() {
		blob, err := object.GetBlob(c.store, entry.Hash)
		if err == nil {
			file.ReadCloser, err = blob.Reader()
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	return file, nil
}

// Stat says what is at a path; of a symbolic link, that it is one.
func (c *commitFS) Stat(name string) (fs.FileInfo, error) {
	entry, err := c.find("stat", name)
	if err != nil {
		return nil, err
	}
	return c.info(name, entry), nil
}

// ReadDir lists a directory by name.
func (c *commitFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entry, err := c.find("readdir", name)
	if err == nil && entry.Mode != filemode.Dir {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("is not a directory")}
	}
	if err != nil {
		return nil, err
	}
	tree, err := object.GetTree(c.store, entry.Hash)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	var listed []fs.DirEntry
	for _, e := range tree.Entries {
		if e.Mode != filemode.Submodule {
			listed = append(listed, fs.FileInfoToDirEntry(c.info(e.Name, e)))
		}
	}
	slices.SortFunc(listed, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return listed, nil
}

// find walks down to a path.
func (c *commitFS) find(op, name string) (object.TreeEntry, error) {
	at := object.TreeEntry{Name: ".", Mode: filemode.Dir, Hash: c.root}
	if !fs.ValidPath(name) {
		return at, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if at.Mode != filemode.Dir {
			return at, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		tree, err := object.GetTree(c.store, at.Hash)
		if err != nil {
			return at, &fs.PathError{Op: op, Path: name, Err: err}
		}
		i := slices.IndexFunc(tree.Entries, func(e object.TreeEntry) bool { return e.Name == part && e.Mode != filemode.Submodule })
		if i < 0 {
			return at, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		at = tree.Entries[i]
	}
	return at, nil
}

func (c *commitFS) info(name string, entry object.TreeEntry) commitInfo {
	info := commitInfo{name: path.Base(name), mode: 0o644}
	switch entry.Mode {
	case filemode.Dir:
		info.mode = fs.ModeDir | 0o755
	case filemode.Symlink:
		info.mode = fs.ModeSymlink | 0o777
	default:
		info.size, _ = c.store.EncodedObjectSize(entry.Hash) // one that is not there cannot be opened either
	}
	return info
}

// commitFile is an open file; a directory and a link have nothing to read.
type commitFile struct {
	io.ReadCloser
	info commitInfo
}

// Stat says what the file is.
func (f *commitFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Read reads a regular file.
func (f *commitFile) Read(into []byte) (int, error) {
	if f.ReadCloser == nil {
		return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
	}
	return f.ReadCloser.Read(into)
}

// Close ends reading.
func (f *commitFile) Close() error {
	if f.ReadCloser == nil {
		return nil
	}
	return f.ReadCloser.Close()
}

// commitInfo describes a file of a commit, which has no time of its own.
type commitInfo struct {
	name string
	mode fs.FileMode
	size int64
}

// The methods of fs.FileInfo.
func (i commitInfo) Name() string       { return i.name }
func (i commitInfo) Size() int64        { return i.size }
func (i commitInfo) Mode() fs.FileMode  { return i.mode }
func (i commitInfo) ModTime() time.Time { return time.Time{} }
func (i commitInfo) IsDir() bool        { return i.mode.IsDir() }
func (i commitInfo) Sys() any           { return nil }
