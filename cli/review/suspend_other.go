//go:build !unix

package review

// canSuspend says that there is no job control here.
func canSuspend() bool { return false }
