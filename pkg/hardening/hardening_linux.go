package hardening

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// HideMemory keeps what this process has in its memory from the disk and from other processes of its user: it writes no core files,
// nobody but root attaches to it, and nobody but root reads the environ, mem, maps and fd of its directory in /proc. The limit on
// core files is inherited by what it starts; the rest ends with an exec. A process that attached before this call stays attached.
func HideMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch core files off: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep other processes out of the memory of this one: %w", err)
	}
	return nil
}
