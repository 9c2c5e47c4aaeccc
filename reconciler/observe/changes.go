package observe

import (
	"errors"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// maxChanged bounds the changed paths that are kept with a revision.
const maxChanged = 10_000

// errManyChanged says that more paths changed than are kept.
var errManyChanged = errors.New("more paths changed than are kept")

// changedPaths compares two trees and gives the paths of files that were added, removed or changed, sorted; of a renamed file,
// both. Only directories that differ are read. More than maxChanged give errManyChanged.
func changedPaths(from storer.EncodedObjectStorer, before, now plumbing.Hash) ([]string, error) {
	c := comparison{from: from, paths: []string{}}
	if err := c.trees("", before, now); err != nil {
		return nil, err
	}
	slices.Sort(c.paths)
	return c.paths, nil
}

type comparison struct {
	from  storer.EncodedObjectStorer
	paths []string
}

// trees compares two directories of one name. A zero hash is a directory that is not there.
func (c *comparison) trees(dir string, before, now plumbing.Hash) error {
	if before == now {
		return nil
	}
	old, err := c.read(before)
	if err != nil {
		return err
	}
	current, err := c.read(now)
	if err != nil {
		return err
	}
	for name, entry := range current {
		if err := c.entries(path.Join(dir, name), old[name], entry); err != nil {
			return err
		}
	}
	for name, entry := range old {
		if _, still := current[name]; still {
			continue
		}
		if err := c.entries(path.Join(dir, name), entry, object.TreeEntry{}); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) read(hash plumbing.Hash) (map[string]object.TreeEntry, error) {
	if hash.IsZero() {
		return nil, nil
	}
	entries, err := readTree(c.from, hash)
	if err != nil {
		return nil, err
	}
	named := make(map[string]object.TreeEntry, len(entries))
	for _, entry := range entries {
		named[entry.Name] = entry
	}
	return named, nil
}

// entries compares what two directories have under one name; the zero entry is nothing.
func (c *comparison) entries(at string, before, now object.TreeEntry) error {
	if before.Hash == now.Hash && before.Mode == now.Mode {
		return nil
	}
	if isDir(before) || isDir(now) {
		if err := c.trees(at, dirHash(before), dirHash(now)); err != nil {
			return err
		}
	}
	if isDir(before) && isDir(now) || isDir(before) && now.Hash.IsZero() || isDir(now) && before.Hash.IsZero() {
		return nil
	}
	if len(c.paths) == maxChanged {
		return errManyChanged
	}
	c.paths = append(c.paths, at)
	return nil
}

func dirHash(entry object.TreeEntry) plumbing.Hash {
	if isDir(entry) {
		return entry.Hash
	}
	return plumbing.ZeroHash
}
