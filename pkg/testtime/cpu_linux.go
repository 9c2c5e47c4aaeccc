package testtime

import "time"

// thread is RUSAGE_THREAD, which package syscall does not name.
const thread = 1

// cpuTime returns the processor time that this thread has used.
func cpuTime() time.Duration { return usedBy(thread) }
