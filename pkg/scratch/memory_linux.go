package scratch

import "golang.org/x/sys/unix"

// shared is the directory of Linux's in-memory file system (shm_overview(7)).
const shared = "/dev/shm"

// memory returns a directory in memory with enough space, or "". In containers it often has only a
// few megabytes, and runs no programs.
func memory(space uint64) string {
	var found unix.Statfs_t
	err := unix.Statfs(shared, &found)
	if err != nil || found.Type != unix.TMPFS_MAGIC || found.Flags&unix.ST_NOEXEC != 0 || free(found) < space {
		return ""
	}
	return shared
}

// Free returns the number of bytes that are free on the file system of a directory, and 0 if that
// is not known.
func Free(dir string) uint64 {
	var found unix.Statfs_t
	if unix.Statfs(dir, &found) != nil {
		return 0
	}
	return free(found)
}

func free(of unix.Statfs_t) uint64 {
	return of.Bavail * uint64(of.Bsize) //nolint:gosec // a block's size is positive
}
