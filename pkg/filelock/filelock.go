// Package filelock takes exclusive locks on files, with flock(2).
//
// A lock belongs to the open file, not to the process: a child that inherits the file holds the
// lock as well, and the kernel releases it when the last copy is closed, however the processes end.
// The lock file is created with mode 0600 and is not removed on release; Clear removes old lock
// files. A link in place of a lock file is an error: another program that may write to the directory
// could make the link lead to a file that is no lock.
//
// It never decides what a lock protects, and returns no messages for users. Every program of nuon
// that shares a directory with another process calls it.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// ErrHeld is wrapped when another open file holds the lock.
var ErrHeld = errors.New("held by another process")

// pollInterval is the pause between two attempts of Wait. Wait polls because the kernel cannot wait
// for a lock and a context at the same time.
const pollInterval = 50 * time.Millisecond

// Try takes the lock on a file, which it creates if necessary, and returns the open file that holds
// the lock. Closing the file releases the lock, unless a child has a copy. A file that was removed
// after it was opened excludes nobody; Try reports it as held.
func Try(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	opened, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if named, err := os.Stat(path); err != nil || !os.SameFile(opened, named) {
		_ = file.Close()
		return nil, lockError(path, ErrHeld)
	}
	return file, nil
}

// How often Claim tries to take the lock, and how long it waits in between.
const (
	claimTries = 50
	claimPause = 100 * time.Millisecond
)

// Claim takes the lock on a file like Try, for as long as a program runs. It tries for five seconds:
// Held takes the lock for a moment, and a process that a killed program has just forked holds it
// until it executes its own program. It returns ErrHeld earlier if ctx ends.
func Claim(ctx context.Context, path string) (*os.File, error) {
	for tries := 1; ; tries++ {
		file, err := Try(path)
		if !errors.Is(err, ErrHeld) || tries == claimTries || !backoff.Pause(ctx, claimPause) {
			return file, err
		}
	}
}

// Wait takes the lock on a file, which it creates if necessary, and waits for it until ctx ends. It
// calls held once if it has to wait; held may be nil. It sets the file's modification time, by
// which Clear finds unused locks.
func Wait(ctx context.Context, path string, held func()) (release func(), err error) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		file, err := Try(path)
		if err == nil {
			now := time.Now()
			_ = os.Chtimes(path, now, now) // only for Clear
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, ErrHeld) {
			return nil, err
		}
		if held != nil {
			held()
			held = nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s: %w", path, ctx.Err())
		}
	}
}

// Held reports whether the lock on a file is held. It does not create the file: the lock of a
// missing file is free.
func Held(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = lock(file)
	closed := file.Close()
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	return false, errors.Join(err, closed)
}

// Unlock releases the lock and closes the file. Unlike Close alone, it releases the lock also while
// a newly forked child still has a copy of the file.
func Unlock(file *os.File) error {
	return errors.Join(flock(file, syscall.LOCK_UN), file.Close())
}

// Clear removes the lock files NAME.lock in a directory that Wait has not taken since before, each
// with the directory NAME if that is empty, and returns the number of removed lock files. It skips
// locks that are held, and those whose NAME is not empty.
func Clear(dir string, before time.Time) (int, error) {
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
		file, err := Try(name)
		if err != nil {
			continue // in use
		}
		if err := os.Remove(strings.TrimSuffix(name, ".lock")); err == nil || errors.Is(err, fs.ErrNotExist) {
			if os.Remove(name) == nil {
				removed++
			}
		}
		_ = file.Close()
	}
	return removed, nil
}

// lock takes the lock if it is free.
func lock(file *os.File) error {
	err := flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return lockError(file.Name(), ErrHeld)
	}
	return err
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return lockError(file.Name(), err)
		}
	}
}

func lockError(path string, err error) error {
	return &fs.PathError{Op: "lock", Path: path, Err: err}
}
