//go:build !linux

package testtime

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process has used, because that of a single thread is
// not available.
func cpuTime() time.Duration { return processTime() }

// processTime returns the processor time that this process has used.
func processTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it cannot fail with these arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
