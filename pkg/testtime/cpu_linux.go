package testtime

import (
	"syscall"
	"time"
)

// thread is RUSAGE_THREAD, which package syscall does not name.
const thread = 1

// cpuTime returns the processor time that this thread has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(thread, &usage); err != nil {
		panic(err) // it cannot fail with these arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
