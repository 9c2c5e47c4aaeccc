// Package transcript creates the files in which the runner's owner finds what debug commands and shells did.
//
// It owns the directory of these files and its bound. It removes none. The handlers of such jobs write the files.
package transcript

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir is the directory of transcripts below the runner's own, and maxBytes bounds it.
const (
	Dir      = "transcripts"
	maxBytes = 512 << 20
)

// Create creates the transcript of an attempt, which only the runner's user can read. It fails when all transcripts
// together are too large, so that nothing happens without one.
func Create(root, job string, attempt int, suffix string) (*os.File, error) {
	dir := filepath.Join(root, Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("write the transcript: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("write the transcript: %w", err)
	}
	var used int64
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			used += info.Size()
		}
	}
	if used > maxBytes {
		return nil, fmt.Errorf("the runner's directory %s has more than %d MiB, so no debug command or shell runs; its "+
			"owner moves transcripts to another place", Dir, maxBytes>>20)
	}
	name := fmt.Sprintf("%s-%d%s", filepath.Base(job), attempt, suffix)
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the transcript: %w", err)
	}
	return file, nil
}
