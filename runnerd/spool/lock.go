package spool

import (
	"os"

	"github.com/nuon-toolkit/nuon/pkg/filelock"
)

// TakeLock takes the lock of the attempt and gives the open file that holds it. The lock belongs to that open file, not to the
// process: runnerd takes it, hands the file to the job process as it starts it, and closes its own copy. So there is no moment in
// which the job process lives and the lock is free.
func (a Attempt) TakeLock() (*os.File, error) { return filelock.Try(a.path(lockFile)) }

// Alive tells whether the job process lives, by its lock.
func (a Attempt) Alive() (bool, error) { return filelock.Held(a.path(lockFile)) }
