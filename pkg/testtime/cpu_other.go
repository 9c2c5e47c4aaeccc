//go:build !linux

package testtime

import "time"

// cpuTime returns the processor time that this process has used: nothing says it for one thread here.
func cpuTime() time.Duration { return processTime() }
