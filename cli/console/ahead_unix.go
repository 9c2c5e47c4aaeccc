//go:build unix

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// inputWaits reports whether a line of input waits to be read.
func inputWaits(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}} //nolint:gosec // a file descriptor is small
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}
