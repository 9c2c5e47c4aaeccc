package child

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// roomy is how much a program may print after the death of the process that reads it, before it is held up: what the kernel grants
// to everybody.
const roomy = 1 << 20

// spareOf opens the reading end of a pipe once more, and makes room in the pipe. Opened anew, because a file that is given to a
// program knows no deadlines any more. Without one, or in a pipe that stays small, all is well until this process dies.
func spareOf(read *os.File) *os.File {
	raw, err := read.SyscallConn()
	if err != nil {
		return nil
	}
	var spare *os.File
	_ = raw.Control(func(fd uintptr) {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, roomy)
		spare, _ = os.Open("/proc/self/fd/" + strconv.Itoa(int(fd)))
	})
	return spare
}
