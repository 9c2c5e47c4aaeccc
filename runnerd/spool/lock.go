package spool

import (
	"os"

	"github.com/nuon-toolkit/nuon/pkg/filelock"
)

// TakeLock takes the lock of the attempt and returns the open file that holds it.
// The lock belongs to that open file, not to the process: runnerd takes it, passes the file
// to the job process when it starts it, and closes its own copy. So the lock is never free
// while the job process lives.
func (a Attempt) TakeLock() (*os.File, error) { return filelock.Try(a.path(lockFile)) }

// Alive reports whether the job process may run: the process of a pod until its end is proven, and any other while
// it holds its lock.
func (a Attempt) Alive() (bool, error) {
	pod, found, err := a.Pod()
	if err != nil || found {
		return err == nil && pod.Ended == nil, err
	}
	return filelock.Held(a.path(lockFile))
}
