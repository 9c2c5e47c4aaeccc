//go:build !linux

package dev

// tellsOrphans reports whether the kernel signals a child when its parent dies.
func tellsOrphans() bool { return false }
