package scratch

import "syscall"

// shared is the directory of Linux's in-memory file system (shm_overview(7)), and tmpfs its magic
// number (statfs(2)).
const (
	shared = "/dev/shm"
	tmpfs  = 0x01021994
)

// memory returns a directory in memory with enough space, or "". In containers it often has only
// a few megabytes.
func memory() string {
	var found syscall.Statfs_t
	if err := syscall.Statfs(shared, &found); err != nil || int64(found.Type) != tmpfs { //nolint:unconvert // its size differs between machines
		return ""
	}
	if found.Bavail*uint64(found.Bsize) < enough { //nolint:gosec // a block's size is positive
		return ""
	}
	return shared
}
