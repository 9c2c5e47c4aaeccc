//go:build !linux

package dev

// tellsOrphans says whether the kernel tells a child of its parent's death.
func tellsOrphans() bool { return false }
