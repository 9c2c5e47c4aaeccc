// Package filetree presents a list of files in memory as a file system in which symbolic links are
// followed within the tree.
//
// It owns the rule for links of untrusted trees: a link that leaves the tree, or leads in a circle,
// is an error where it is followed. It reads and writes no disk. The fetcher of charts
// (runnerd/helmsdk/source) and the resolver of Terraform modules (runnerd/kind/terraform/modules) read
// trees with it.
package filetree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// Errors that a path wraps when a link on it cannot be followed.
var (
	ErrOutside = errors.New("leads out of the tree")
	ErrCircle  = errors.New("leads in a circle of links")
)

// maxLinks bounds the links on the way to one path, as Linux does.
const maxLinks = 40

// Tree is a tree of files. It does not change and is safe for concurrent use. As a file system it
// has no links: Open, Stat and ReadDir show what a link leads to, and ReadDir leaves out links that
// cannot be followed.
type Tree struct {
	files map[string]artifact.File
	// below holds the names in each directory, sorted.
	below map[string][]string
}

var (
	_ fs.ReadDirFS = (*Tree)(nil)
	_ fs.StatFS    = (*Tree)(nil)
)

// New returns the tree of files, which must pass artifact.CheckTree.
func New(files []artifact.File) *Tree {
	t := &Tree{files: make(map[string]artifact.File, len(files)), below: map[string][]string{".": nil}}
	for _, file := range files {
		t.files[file.Path] = file
		for name := file.Path; name != "."; name = path.Dir(name) {
			dir := path.Dir(name)
			_, known := t.below[dir]
			t.below[dir] = append(t.below[dir], path.Base(name))
			if known && dir != "." {
				break
			}
		}
	}
	for dir, names := range t.below {
		slices.Sort(names)
		t.below[dir] = slices.Compact(names)
	}
	return t
}

// Real follows the links in a path and returns the path of the file or directory that it leads to.
// The error wraps ErrOutside, ErrCircle or fs.ErrNotExist and names the path where it occurred.
func (t *Tree) Real(name string) (string, error) {
	at, rest, links := ".", strings.Split(path.Clean(name), "/"), 0
	for len(rest) > 0 {
		step := rest[0]
		rest = rest[1:]
		switch step {
		case ".", "":
			continue
		case "..":
			if at == "." {
				return "", &fs.PathError{Op: "follow", Path: name, Err: ErrOutside}
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, step)
		file, is := t.files[next]
		if is && file.Link != "" {
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "follow", Path: next, Err: ErrCircle}
			}
			if path.IsAbs(file.Link) {
				return "", &fs.PathError{Op: "follow", Path: next, Err: ErrOutside}
			}
			rest = append(strings.Split(file.Link, "/"), rest...)
			continue
		}
		if _, dir := t.below[next]; !is && !dir || is && len(rest) > 0 {
			return "", &fs.PathError{Op: "find", Path: next, Err: fs.ErrNotExist}
		}
		at = next
	}
	return at, nil
}

// IsDir reports whether a path without links is a directory.
func (t *Tree) IsDir(name string) bool { _, is := t.below[name]; return is }

// Names returns the names in a directory, sorted. The path must be without links.
func (t *Tree) Names(dir string) []string { return t.below[dir] }

// File returns the file at a path without links.
func (t *Tree) File(name string) (artifact.File, bool) {
	file, is := t.files[name]
	return file, is
}

// Open opens a file or a directory.
func (t *Tree) Open(name string) (fs.File, error) {
	info, real, err := t.stat("open", name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := t.ReadDir(name)
		return &openDir{info: info, left: entries}, err
	}
	return &openFile{Reader: bytes.NewReader(t.files[real].Content), info: info}, nil
}

// Stat describes what a path leads to.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	info, _, err := t.stat("stat", name)
	return info, err
}

// ReadDir lists a directory, sorted by name.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	info, real, err := t.stat("readdir", name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("is not a directory")}
	}
	entries := make([]fs.DirEntry, 0, len(t.below[real]))
	for _, base := range t.below[real] {
		if found, _, err := t.stat("stat", path.Join(real, base)); err == nil {
			entries = append(entries, fs.FileInfoToDirEntry(found))
		}
	}
	return entries, nil
}

func (t *Tree) stat(op, name string) (info fileInfo, real string, err error) {
	if !fs.ValidPath(name) {
		return fileInfo{}, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if real, err = t.Real(name); err != nil {
		return fileInfo{}, "", fmt.Errorf("%s %s: %w", op, name, err)
	}
	info = fileInfo{name: path.Base(name), mode: fs.ModeDir | 0o755}
	if !t.IsDir(real) {
		file := t.files[real]
		info.mode, info.size = 0o644, int64(len(file.Content))
		if file.Executable {
			info.mode = 0o755
		}
	}
	return info, real, nil
}

// fileInfo describes a file or a directory. Times are zero.
type fileInfo struct {
	name string
	mode fs.FileMode
	size int64
}

// The methods of fs.FileInfo.
func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info fs.FileInfo
	left []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n >= len(d.left) {
		listed := d.left
		d.left = nil
		if n > 0 && len(listed) == 0 {
			return nil, io.EOF
		}
		return listed, nil
	}
	listed := d.left[:n]
	d.left = d.left[n:]
	return listed, nil
}
