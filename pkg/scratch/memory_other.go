//go:build !linux

package scratch

// memory returns "": these systems have no common directory for it.
func memory(uint64) string { return "" }
