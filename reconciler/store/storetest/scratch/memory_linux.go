package scratch

import "syscall"

// shared is where Linux keeps files in memory (shm_overview(7)), and tmpfs its magic number there (statfs(2)).
const (
	shared = "/dev/shm"
	tmpfs  = 0x01021994
)

// memory is a directory whose files are in memory and which has enough room; empty when there is none. Containers often have one of
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
