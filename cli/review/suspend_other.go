//go:build !unix

package review

// canSuspend returns false: this system has no job control.
func canSuspend() bool { return false }
