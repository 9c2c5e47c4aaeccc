package artifact

import (
	"errors"
	"fmt"
)

// ErrTooLarge is wrapped when a tree, a layer or a manifest exceeds its limit.
var ErrTooLarge = errors.New("too large")

// Limits bound a tree when it is packed or unpacked. A zero field means the default that is named
// beside it.
type Limits struct {
	// Files is the maximum number of files and links in a tree; default 20,000.
	Files int
	// FileBytes is the maximum size of one file in bytes; default 64 MiB.
	FileBytes int64
	// TotalBytes is the maximum size of all unpacked files together in bytes; default 256 MiB.
	TotalBytes int64
	// PathBytes is the maximum length of one path or link target in bytes; default 1,024.
	PathBytes int
}

const (
	defaultFiles      = 20_000
	defaultFileBytes  = 64 << 20
	defaultTotalBytes = 256 << 20
	defaultPathBytes  = 1024
)

func (l Limits) orDefault() Limits {
	if l.Files == 0 {
		l.Files = defaultFiles
	}
	if l.FileBytes == 0 {
		l.FileBytes = defaultFileBytes
	}
	if l.TotalBytes == 0 {
		l.TotalBytes = defaultTotalBytes
	}
	if l.PathBytes == 0 {
		l.PathBytes = defaultPathBytes
	}
	return l
}

// tally counts the files and bytes of a tree against its limits while the tree is read.
type tally struct {
	limits Limits
	files  int
	bytes  int64
}

// remaining returns how many bytes the next file may have. It fails if no further file is allowed.
func (t *tally) remaining(path string) (int64, error) {
	if t.files >= t.limits.Files {
		return 0, fmt.Errorf("%w: more than %d files", ErrTooLarge, t.limits.Files)
	}
	t.files++
	if len(path) > t.limits.PathBytes {
		return 0, fmt.Errorf("%w: path %.60q… has %d bytes, at most %d are allowed",
			ErrTooLarge, path, len(path), t.limits.PathBytes)
	}
	return min(t.limits.FileBytes, t.limits.TotalBytes-t.bytes), nil
}

// add counts the bytes of one file for which room was called.
func (t *tally) add(path string, size int64) error {
	if size > t.limits.FileBytes {
		return fmt.Errorf("%w: %s has more than %d bytes", ErrTooLarge, path, t.limits.FileBytes)
	}
	if t.bytes += size; t.bytes > t.limits.TotalBytes {
		return fmt.Errorf("%w: the files have more than %d bytes together", ErrTooLarge, t.limits.TotalBytes)
	}
	return nil
}
