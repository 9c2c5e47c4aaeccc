package spool

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrHeld is wrapped when a lock is held by another process.
var ErrHeld = errors.New("held by another process")

// TakeLock takes the lock of the attempt and gives the open file that holds it. The lock belongs to that open file, not to the
// process: runnerd takes it, hands the file to the job process as it starts it, and closes its own copy. So there is no moment in
// which the job process lives and the lock is free.
func (a Attempt) TakeLock() (*os.File, error) { return TakeLock(a.path(lockFile)) }

// Alive tells whether the job process lives, by its lock.
func (a Attempt) Alive() (bool, error) {
	if !a.has(lockFile) {
		return false, nil
	}
	lock, err := a.TakeLock()
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, lock.Close()
}

// TakeLock takes an exclusive lock on a file, made when it is not there. Closing the file, also by the process's death, frees it.
func TakeLock(file string) (*os.File, error) {
	opened, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := syscall.Flock(int(opened.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = opened.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrHeld
		}
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return opened, nil
}
