package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockLook is how often a lock that somebody holds is tried again. The kernel can wait for it by itself, but not for a context as
// well.
const lockLook = 50 * time.Millisecond

// Lock takes the exclusive lock on a file, which is made, and waits for it as long as ctx lives. The kernel frees it when the
// process is gone. The file's time says when it was last taken.
func Lock(ctx context.Context, path string) (release func(), err error) {
	look := time.NewTicker(lockLook)
	defer look.Stop()
	for {
		file, err := tryLock(path)
		if err == nil {
			now := time.Now()
			_ = os.Chtimes(path, now, now) // only for ClearLocks
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s: %w", path, ctx.Err())
		}
	}
}

var errHeld = errors.New("held")

// tryLock takes the lock if it is free. A file that was removed after it was opened locks nobody out, and counts as held.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
			err = errHeld
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	opened, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	if named, err := os.Stat(path); err != nil || !os.SameFile(opened, named) {
		_ = file.Close()
		return nil, errHeld
	}
	return file, nil
}

// ClearLocks removes the lock files in a directory that nobody has taken since before, with the empty directories that they are
// for, and gives how many there were. The rest stays.
func ClearLocks(dir string, before time.Time) (int, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil {
		return 0, fmt.Errorf("look for lock files: %w", err)
	}
	removed := 0
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.ModTime().Before(before) {
			continue
		}
		file, err := tryLock(name)
		if err != nil {
			continue // somebody has it, so it is in use
		}
		place := strings.TrimSuffix(name, ".lock")
		if err := os.Remove(place); err == nil || errors.Is(err, os.ErrNotExist) {
			err = os.Remove(name)
			if err == nil {
				removed++
			}
		}
		_ = file.Close()
	}
	return removed, nil
}
