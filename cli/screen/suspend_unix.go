//go:build unix

package screen

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// CanSuspend reports whether a parent shell exists that can resume this process.
// The kernel discards stop signals to an orphaned process group, such as the
// session leader's own, so a suspend would never be resumed (credentials(7)).
func CanSuspend() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != syscall.Getpgrp()
}
