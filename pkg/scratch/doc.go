// Package scratch creates directories for the files of test runs; never use it for data that must
// survive.
package scratch

import "os"

// Dir creates an empty directory, which everybody can enter and only the caller can change. It is
// in memory if the system has a file system there with space free bytes that also runs programs,
// else in the system's temporary directory: the thousand small files of a database take three
// times as long on a disk. The caller removes the directory.
func Dir(pattern string, space uint64) (string, error) {
	dir, err := "", os.ErrNotExist
	if in := memory(space); in != "" {
		dir, err = os.MkdirTemp(in, pattern)
	}
	if err != nil {
		if dir, err = os.MkdirTemp("", pattern); err != nil {
			return "", err
		}
	}
	return dir, os.Chmod(dir, 0o755) //nolint:gosec // other users run programs in it
}
