package gittree

import (
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/go-git/go-git/v5/storage/transactional"
)

// Builder builds a tree from files, with the same result as if git committed them. It stores what
// it adds in memory.
type Builder struct {
	store storer.EncodedObjectStorer
	root  buildDir
}

// NewBuilder returns a Builder of a tree. Objects of the tree may also be in base, which is only
// read and may be nil.
func NewBuilder(base storer.EncodedObjectStorer) *Builder {
	b := &Builder{store: memory.NewStorage()}
	if base != nil {
		b.store = transactional.NewObjectStorage(base, b.store)
	}
	return b
}

// buildDir is a directory under construction.
type buildDir struct {
	entries []object.TreeEntry
	dirs    map[string]*buildDir
}

func (d *buildDir) dir(name string) *buildDir {
	if d.dirs == nil {
		d.dirs = map[string]*buildDir{}
	}
	if d.dirs[name] == nil {
		d.dirs[name] = &buildDir{}
	}
	return d.dirs[name]
}

// Add adds a file with its content, or a symbolic link with its target. Of the mode it uses only
// the type and the executable bit.
func (b *Builder) Add(file string, mode fs.FileMode, content []byte) error {
	blob := b.store.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	writer, err := blob.Writer()
	if err != nil {
		return err
	}
	if _, err := writer.Write(content); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	hash, err := b.store.SetEncodedObject(blob)
	if err != nil {
		return fmt.Errorf("add %s: %w", file, err)
	}
	b.AddHash(file, gitMode(mode), hash)
	return nil
}

func gitMode(mode fs.FileMode) filemode.FileMode {
	switch {
	case mode&fs.ModeSymlink != 0:
		return filemode.Symlink
	case mode&0o100 != 0:
		return filemode.Executable
	}
	return filemode.Regular
}

// AddHash adds a file whose content is already in the base.
func (b *Builder) AddHash(file string, mode filemode.FileMode, hash plumbing.Hash) {
	current := &b.root
	if dir := path.Dir(file); dir != "." {
		for part := range strings.SplitSeq(dir, "/") {
			current = current.dir(part)
		}
	}
	current.entries = append(current.entries, object.TreeEntry{Name: path.Base(file), Mode: mode, Hash: hash})
}

// Tree returns the tree of all files that were added.
func (b *Builder) Tree() (*Tree, error) {
	hash, err := b.write(&b.root)
	if err != nil {
		return nil, fmt.Errorf("make a tree: %w", err)
	}
	return New(b.store, hash, nil), nil
}

func (b *Builder) write(d *buildDir) (plumbing.Hash, error) {
	for name, child := range d.dirs {
		hash, err := b.write(child)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		d.entries = append(d.entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
	}
	sort.Sort(object.TreeEntrySorter(d.entries)) // git's order
	tree := b.store.NewEncodedObject()
	if err := (&object.Tree{Entries: d.entries}).Encode(tree); err != nil {
		return plumbing.ZeroHash, err
	}
	return b.store.SetEncodedObject(tree)
}
