package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Reclaim makes the directory of a job that has ended usable again: it restores the permissions of the owner, and
// removes what programs of the job put there in the place of files and directories, such as links and pipes. It returns
// the paths of what it removed.
func (a Attempt) Reclaim() (removed []string, err error) {
	for _, dir := range []string{a.Dir, a.StateDir()} {
		removed, err = reclaim(dir, removed, a.StateDir(), a.WorkDir())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("read what the job left: %w", err)
		}
	}
	return removed, nil
}

// reclaim does the work of Reclaim for one directory, in which dirs stay. It adds to removed.
func reclaim(dir string, removed []string, dirs ...string) ([]string, error) {
	if err := os.Chmod(dir, 0o700); err != nil {
		return removed, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return removed, err
	}
	for _, entry := range entries {
		file := filepath.Join(dir, entry.Name())
		switch isDir := slices.Contains(dirs, file); {
		case isDir && entry.IsDir():
		case isDir || !entry.Type().IsRegular():
			removed = append(removed, file)
			err = RemoveTree(file)
		default:
			if info, infoErr := entry.Info(); infoErr == nil && info.Mode().Perm()&0o600 != 0o600 {
				err = os.Chmod(file, 0o600)
			}
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
