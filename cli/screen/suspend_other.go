//go:build !unix

package screen

// CanSuspend returns false: this system has no job control.
func CanSuspend() bool { return false }
