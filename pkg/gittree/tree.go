package gittree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// maxFile bounds the size of a file that is read from a repository, in bytes.
const maxFile = 64 << 20

// maxPath is the length in bytes of the longest path that is read, which is git's own limit. Without it, the
// paths of some hundred thousand directories in each other would take gigabytes.
const maxPath = 4096

// ErrLongPath is wrapped when a path is longer than maxPath.
var ErrLongPath = fmt.Errorf("a path has more than %d bytes; use fewer or shorter directory names", maxPath)

// ErrLink is wrapped when a path leads through a symbolic link. Links are never followed.
var ErrLink = errors.New("is a symbolic link, and links in repositories are not followed")

// Tree presents the files of one git tree as a read-only fs.FS. Open, Stat and ReadDir do not
// follow symbolic links: a link has mode fs.ModeSymlink, and only ReadLink can read it. Submodules
// are left out. A Tree is safe for concurrent use.
type Tree struct {
	root      plumbing.Hash
	wrapError func(error) error
	mu        sync.Mutex
	store     storer.EncodedObjectStorer
	cache     map[plumbing.Hash][]object.TreeEntry
	err       error
}

// New returns the tree with a hash; the zero hash is an empty tree. If an object cannot be read,
// damaged, which may be nil, converts the error to the one that is reported.
func New(store storer.EncodedObjectStorer, root plumbing.Hash, wrapError func(error) error) *Tree {
	if wrapError == nil {
		wrapError = func(err error) error { return err }
	}
	return &Tree{store: store, root: root, wrapError: wrapError,
		cache: map[plumbing.Hash][]object.TreeEntry{plumbing.ZeroHash: nil}}
}

var (
	_ fs.ReadDirFS  = (*Tree)(nil)
	_ fs.ReadFileFS = (*Tree)(nil)
	_ fs.ReadLinkFS = (*Tree)(nil)
	_ fs.StatFS     = (*Tree)(nil)
)

// Hash returns the git tree hash of a directory ("." is the root). It returns false if the
// directory does not exist.
func (t *Tree) Hash(dir string) (string, bool) {
	entry, err := t.find("hash", dir)
	if err != nil || !isDir(entry) {
		return "", false
	}
	return entry.Hash.String(), true
}

// FileHash returns the git hash of a file or a link. It returns false if there is none.
func (t *Tree) FileHash(name string) (string, bool) {
	entry, err := t.find("hash", name)
	if err != nil || isDir(entry) {
		return "", false
	}
	return entry.Hash.String(), true
}

// Err returns the first error that occurred because an object could not be read. Code that reads
// the tree may report this error in its own way, so its caller should check Err first.
func (t *Tree) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Open opens a file or a directory.
func (t *Tree) Open(name string) (fs.File, error) {
	entry, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	info := t.info(name, entry)
	switch {
	case isLink(entry):
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrLink}
	case isDir(entry):
		listed, err := t.ReadDir(name)
		if err != nil {
			return nil, err
		}
		return &openDir{info: info, remaining: listed}, nil
	}
	content, err := t.content("open", name, entry)
	if err != nil {
		return nil, err
	}
	return &openFile{info: info, Reader: bytes.NewReader(content)}, nil
}

// ReadFile returns the content of a file.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	entry, err := t.find("read", name)
	if err != nil {
		return nil, err
	}
	switch {
	case isLink(entry):
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrLink}
	case isDir(entry):
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	return t.content("read", name, entry)
}

// Stat describes the entry at a path. It does not follow symbolic links.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	entry, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return t.info(name, entry), nil
}

// Lstat is Stat.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.Stat(name) }

// ReadLink returns the target of a symbolic link.
func (t *Tree) ReadLink(name string) (string, error) {
	entry, err := t.find("readlink", name)
	if err != nil {
		return "", err
	}
	if !isLink(entry) {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	target, err := t.content("readlink", name, entry)
	return string(target), err
}

// ReadDir lists a directory, sorted by name.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	entry, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !isDir(entry) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("is not a directory")}
	}
	entries, err := t.entries(entry.Hash)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	listed := make([]fs.DirEntry, 0, len(entries))
	for _, entry := range entries {
		if !isSubmodule(entry) {
			listed = append(listed, fs.FileInfoToDirEntry(t.info(path.Join(name, entry.Name), entry)))
		}
	}
	slices.SortFunc(listed, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return listed, nil
}

// find returns the entry at a path.
func (t *Tree) find(op, name string) (object.TreeEntry, error) {
	if !fs.ValidPath(name) {
		return object.TreeEntry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if len(name) > maxPath {
		const start = 60
		return object.TreeEntry{}, &fs.PathError{Op: op, Path: strings.ToValidUTF8(name[:start], "") + "…", Err: ErrLongPath}
	}
	current := object.TreeEntry{Name: ".", Mode: filemode.Dir, Hash: t.root}
	if name == "." {
		return current, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if isLink(current) {
			return current, &fs.PathError{Op: op, Path: name, Err: ErrLink}
		}
		if !isDir(current) {
			return current, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		entries, err := t.entries(current.Hash)
		if err != nil {
			return current, &fs.PathError{Op: op, Path: name, Err: err}
		}
		found := slices.IndexFunc(entries, func(entry object.TreeEntry) bool {
			return entry.Name == part && !isSubmodule(entry)
		})
		if found < 0 {
			return current, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		current = entries[found]
	}
	return current, nil
}

func (t *Tree) entries(hash plumbing.Hash) ([]object.TreeEntry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, cached := t.cache[hash]; cached {
		return known, nil
	}
	entries, err := Entries(t.store, hash)
	if err != nil {
		return nil, t.recordError(err)
	}
	t.cache[hash] = entries
	return entries, nil
}

func (t *Tree) content(op, name string, entry object.TreeEntry) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if size, err := t.store.EncodedObjectSize(entry.Hash); err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: t.recordError(err)}
	} else if size > maxFile {
		return nil, &fs.PathError{Op: op, Path: name,
			Err: fmt.Errorf("has more than %d MiB; keep large files out of the repository", maxFile>>20)}
	}
	content, err := t.blob(entry.Hash)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: t.recordError(err)}
	}
	return content, nil
}

func (t *Tree) blob(hash plumbing.Hash) ([]byte, error) {
	found, err := object.GetBlob(t.store, hash)
	if err != nil {
		return nil, err
	}
	reader, err := found.Reader()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxFile))
	return content, errors.Join(err, reader.Close())
}

// recordError stores the first error of an unreadable object. The caller holds the lock.
func (t *Tree) recordError(err error) error {
	err = t.wrapError(err)
	if t.err == nil {
		t.err = err
	}
	return err
}

// info describes an entry. The mode has git's executable bit; times are zero, because a commit does
// not record them.
func (t *Tree) info(name string, entry object.TreeEntry) fs.FileInfo {
	described := fileInfo{name: path.Base(name), mode: modeOf(entry)}
	if !isDir(entry) {
		t.mu.Lock()
		defer t.mu.Unlock()
		size, err := t.store.EncodedObjectSize(entry.Hash)
		if err != nil {
			_ = t.recordError(err)
		}
		described.size = size
	}
	return described
}

func modeOf(entry object.TreeEntry) fs.FileMode {
	switch {
	case isDir(entry):
		return fs.ModeDir | 0o755
	case isLink(entry):
		return fs.ModeSymlink | 0o777
	case entry.Mode == filemode.Executable:
		return 0o755
	}
	return 0o644
}

// fileInfo describes a file of a commit.
type fileInfo struct {
	name string
	mode fs.FileMode
	size int64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// openFile is a file whose content was read when it was opened.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// openDir is a directory whose entries were read when it was opened.
type openDir struct {
	info      fs.FileInfo
	remaining []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("is a directory")}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		listed := d.remaining
		d.remaining = nil
		return listed, nil
	}
	if len(d.remaining) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.remaining))
	listed := d.remaining[:n]
	d.remaining = d.remaining[n:]
	return listed, nil
}
