//go:build !linux

package scratch

// memory is empty: there is no such directory that every system of this kind has.
func memory() string { return "" }
