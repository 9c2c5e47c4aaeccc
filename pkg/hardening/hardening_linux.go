package hardening

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// HideMemory protects the memory of this process from the disk and from other processes of its
// user: the process writes no core files, and only root can attach to it and read the environ, mem,
// maps and fd of its directory in /proc. Child processes inherit the limit on core files; the rest
// ends with an exec. A process that attached before this call stays attached.
func HideMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch core files off: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep other processes out of the memory of this one: %w", err)
	}
	return nil
}
