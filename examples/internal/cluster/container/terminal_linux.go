package container

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenTerminal opens a terminal: its control side, and the side for Streams. The caller closes both.
func OpenTerminal() (control, terminal *os.File, err error) {
	control, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	raw, err := control.SyscallConn()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	other := uintptr(0)
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			var errno unix.Errno
			other, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
			if errno != 0 {
				failed = errno
			}
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		_ = control.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return control, os.NewFile(other, "terminal"), nil
}

// Resize sets the size of a terminal by its control side.
func Resize(control *os.File, columns, rows uint16) error {
	raw, err := control.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	})
	if err == nil {
		err = failed
	}
	return err
}
