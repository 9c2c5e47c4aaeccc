package subprocess

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pipeSize is the pipe size in bytes: how much a program may print after the death of the process
// that reads its output, before a write blocks. It is the largest size that the kernel
// grants to every user.
const pipeSize = 1 << 20

// openSpare opens the reading end of a pipe a second time, and enlarges the pipe.
// It reopens the file because a file that is passed to a program no longer supports deadlines.
// Without the second reader, or with a small pipe, everything works until this process dies.
func openSpare(read *os.File) *os.File {
	raw, err := read.SyscallConn()
	if err != nil {
		return nil
	}
	var spare *os.File
	_ = raw.Control(func(fd uintptr) {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize)
		spare, _ = os.Open("/proc/self/fd/" + strconv.Itoa(int(fd)))
	})
	return spare
}
