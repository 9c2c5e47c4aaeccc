package spool

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// RemoveTree removes a directory with everything in it, even where a job has removed
// its owner's permissions on directories, as package caches do. It removes links
// and never follows them. However deep the tree is, it opens few files at a time: a job can
// nest more directories than a process can open.
func RemoveTree(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer func() { _ = parent.Close() }()
		r := removal{prefix: rand.Text()}
		err = r.remove(parent, filepath.Base(dir), "", -1)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}

// maxDepth is how many directories of a tree are open at a time. Deeper ones are moved to the top of the tree before
// they are removed.
const maxDepth = 32

// removeBatch is how many entries of a directory are read at a time.
const removeBatch = 1024

// removal removes one tree.
type removal struct {
	top *os.Root
	// Directories that are moved to the top are named by prefix, which no job can guess, and their number.
	prefix string
	moved  int
}

// remove removes the entry name of a directory, or moves it to the top. The directory is at path below the top and
// has this depth, which is 0 for the top. It returns nil for an entry that does not exist.
func (r *removal) remove(in *os.Root, name, path string, depth int) error {
	path = filepath.Join(path, name)
	err := in.Remove(name) // all but a directory that is not empty
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if info, statErr := in.Lstat(name); statErr != nil || !info.IsDir() {
		return err
	}
	dir, err := openDir(in, name)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if depth == maxDepth {
		r.moved++
		return r.top.Rename(path, r.prefix+strconv.Itoa(r.moved))
	}
	if depth < 0 {
		r.top, path = dir, "."
	}
	if err := r.empty(dir, path, depth+1); err != nil {
		return err
	}
	if err := in.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// empty removes everything in a directory that it can remove, and returns the first error of the rest. What is
// moved to the top meanwhile is removed when the top is emptied.
func (r *removal) empty(dir *os.Root, path string, depth int) error {
	for {
		// Each batch is read from the start, because a removal can move the entries that follow.
		entries, err := readBatch(dir)
		if err != nil {
			return err
		}
		var failed error
		removed, moved := 0, r.moved
		for _, entry := range entries {
			if err := r.remove(dir, entry, path, depth); err != nil {
				failed = cmp.Or(failed, err)
				continue
			}
			removed++
		}
		if removed == 0 && r.moved == moved {
			return failed
		}
	}
}

// readBatch returns the names of the first entries of a directory.
func readBatch(dir *os.Root) ([]string, error) {
	file, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	names, err := file.Readdirnames(removeBatch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// openDir opens a directory, but no link, and grants its owner all permissions on it.
func openDir(in *os.Root, name string) (*os.Root, error) {
	info, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	dir, err := in.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) {
		// It cannot be read. Its owner is this user, or Chmod fails.
		if err := in.Chmod(name, 0o700); err != nil {
			return nil, err
		}
		dir, err = in.OpenRoot(name)
	}
	if err != nil {
		return nil, err
	}
	// The root follows links that stay below it.
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%s was replaced while it was removed", name)
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	if info.Mode().Perm()&0o700 != 0o700 {
		_ = dir.Chmod(".", 0o700) // the removal of what is in it reports what is still not permitted
	}
	return dir, nil
}
