package testtime

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time that this thread has used.
func cpuTime() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

// processTime returns the processor time that this process has used.
func processTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// clock reads a clock with a resolution of nanoseconds. The processor time of getrusage advances in
// ticks of 1 to 10 ms.
func clock(id int32) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(id, &now); err != nil {
		panic(err) // it cannot fail with these arguments
	}
	return time.Duration(now.Nano())
}
