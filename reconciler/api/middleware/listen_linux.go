package middleware

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// boundUnsent bounds how long sent data may be unacknowledged. Connections inherit the option
// from their listener.
func boundUnsent(_, _ string, c syscall.RawConn) (err error) {
	control := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(LostAfter.Milliseconds()))
	})
	if control != nil {
		return control
	}
	return err
}
