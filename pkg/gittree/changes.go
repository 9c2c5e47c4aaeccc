package gittree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ErrTooManyChanges is returned when more files changed than the limit.
var ErrTooManyChanges = errors.New("more files changed than are listed")

// ErrTooManyEntries is returned when the directories that differ have more entries than maxEntries.
var ErrTooManyEntries = fmt.Errorf("the directories that differ have more than %d entries", maxEntries)

// maxEntries bounds the entries of both trees that are compared. A few objects suffice for a tree of any
// number of directories without files, because a directory may occur in another many times.
const maxEntries = 1_000_000

// Change is a file that differs between two trees. A renamed file results in two changes.
type Change struct {
	Path          string
	Before, After File // the zero File if the file does not exist
}

// File identifies the content of a tree at a path: a file, a symbolic link or a submodule.
type File struct {
	Hash string // hash of the content
	Mode fs.FileMode
}

// Changes returns the files that differ between two trees, sorted by path. It reads only
// directories that differ, and returns ErrTooManyEntries if those are too large, and ErrLongPath if they are
// too deep. If more than limit files changed, it returns ErrTooManyChanges.
func Changes(before, after *Tree, limit int) ([]Change, error) {
	c := comparison{before: before, after: after, limit: limit}
	if err := c.compareDirs("", before.root, after.root); err != nil {
		return nil, err
	}
	slices.SortFunc(c.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return c.changes, nil
}

type comparison struct {
	before, after *Tree
	limit         int
	compared      int
	changes       []Change
}

// compareDirs compares two directories with the same name. A zero hash means that the directory does not
// exist.
func (c *comparison) compareDirs(dir string, before, after plumbing.Hash) error {
	if before == after {
		return nil
	}
	old, err := c.before.entriesByName(before)
	if err != nil {
		return err
	}
	current, err := c.after.entriesByName(after)
	if err != nil {
		return err
	}
	if c.compared += len(old) + len(current); c.compared > maxEntries {
		return ErrTooManyEntries
	}
	for name, entry := range current {
		if err := c.compareEntries(path.Join(dir, name), old[name], entry); err != nil {
			return err
		}
	}
	for name, entry := range old {
		if _, still := current[name]; still {
			continue
		}
		if err := c.compareEntries(path.Join(dir, name), entry, object.TreeEntry{}); err != nil {
			return err
		}
	}
	return nil
}

// entriesByName returns the entries of a directory by name, and none for a zero hash.
func (t *Tree) entriesByName(hash plumbing.Hash) (map[string]object.TreeEntry, error) {
	if hash.IsZero() {
		return nil, nil
	}
	entries, err := t.entries(hash)
	if err != nil {
		return nil, err
	}
	named := make(map[string]object.TreeEntry, len(entries))
	for _, entry := range entries {
		named[entry.Name] = entry
	}
	return named, nil
}

// compareEntries compares the entries of two directories under one name. The zero entry means that there
// is none.
func (c *comparison) compareEntries(name string, before, after object.TreeEntry) error {
	if before.Hash == after.Hash && before.Mode == after.Mode {
		return nil
	}
	if len(name) > maxPath {
		return ErrLongPath
	}
	if isDir(before) || isDir(after) {
		if err := c.compareDirs(name, dirHash(before), dirHash(after)); err != nil {
			return err
		}
	}
	oldFile, newFile := fileOf(before), fileOf(after)
	if oldFile == newFile {
		return nil
	}
	if len(c.changes) == c.limit {
		return ErrTooManyChanges
	}
	c.changes = append(c.changes, Change{Path: name, Before: oldFile, After: newFile})
	return nil
}

// fileOf returns the zero File for a directory and for the zero entry.
func fileOf(entry object.TreeEntry) File {
	if isDir(entry) || entry.Hash.IsZero() {
		return File{}
	}
	mode := modeOf(entry)
	if isSubmodule(entry) {
		mode = fs.ModeIrregular
	}
	return File{Hash: entry.Hash.String(), Mode: mode}
}

func dirHash(entry object.TreeEntry) plumbing.Hash {
	if isDir(entry) {
		return entry.Hash
	}
	return plumbing.ZeroHash
}
