//go:build !linux

package scratch

// memory returns "": these systems have no common directory for it.
func memory(uint64) string { return "" }

// Free returns 0: it is not known.
func Free(string) uint64 { return 0 }
