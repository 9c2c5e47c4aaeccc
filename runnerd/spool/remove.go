package spool

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes a directory with all that is in it, also where a job has taken its owner's rights away from directories, as
// package caches do. A link in it is removed, never followed.
func RemoveTree(dir string) error {
	first := os.RemoveAll(dir)
	if first == nil {
		return nil
	}
	// Below the directory as it was opened: a program that still runs in it can put a link in place of a name. The walk reads a
	// directory after this function has seen it, so it gets into what it has just opened up.
	if root, err := os.OpenRoot(filepath.Dir(dir)); err == nil {
		_ = fs.WalkDir(root.FS(), filepath.Base(dir), func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				_ = openUp(root, name) // what still cannot be removed is told below
			}
			return nil
		})
		_ = root.Close()
	}
	return os.RemoveAll(dir)
}

// openUp gives the owner of a directory all rights to it, and follows no link.
func openUp(root *os.Root, name string) error {
	dir, err := root.OpenRoot(name)
	if err != nil {
		return root.Chmod(name, 0o700) // it may not be entered; its owner is this user, or this fails
	}
	defer func() { _ = dir.Close() }()
	return dir.Chmod(".", 0o700)
}
