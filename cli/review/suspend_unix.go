//go:build unix

package review

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// canSuspend says that a shell waits that would wake this process again. A process group that is the session's own has none: its
// stop signal is thrown away, and whoever waits to be woken waits for ever (credentials(7), orphaned process groups).
func canSuspend() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != syscall.Getpgrp()
}
