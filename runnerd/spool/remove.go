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
	// The walk reads a directory after this function has seen it, so it gets into what it has just opened up.
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700) // what still cannot be removed is told below
		}
		return nil
	})
	return os.RemoveAll(dir)
}
