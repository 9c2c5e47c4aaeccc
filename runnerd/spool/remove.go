package spool

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes a directory with everything in it, even where a job has removed
// its owner's permissions on directories, as package caches do. It removes links
// and never follows them.
func RemoveTree(dir string) error {
	first := os.RemoveAll(dir)
	if first == nil {
		return nil
	}
	// The walk stays below the opened directory, because a program that still runs in it
	// can replace a name by a link. It reads a directory after grantOwner has changed its
	// mode, so it can enter it.
	if root, err := os.OpenRoot(filepath.Dir(dir)); err == nil {
		_ = fs.WalkDir(root.FS(), filepath.Base(dir), func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				_ = grantOwner(root, name) // RemoveAll below reports what still cannot be removed
			}
			return nil
		})
		_ = root.Close()
	}
	return os.RemoveAll(dir)
}

// grantOwner grants the owner of a directory all permissions on it. It follows no link.
func grantOwner(root *os.Root, name string) error {
	dir, err := root.OpenRoot(name)
	if err != nil {
		// It cannot be entered. Its owner is this user, or Chmod fails.
		return root.Chmod(name, 0o700)
	}
	defer func() { _ = dir.Close() }()
	return dir.Chmod(".", 0o700)
}
