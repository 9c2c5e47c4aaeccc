// Package proc reads the processor times of processes from /proc, for tests and benchmarks that weigh the programs which they start. It
// exists on Linux alone, and never changes a process.
package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the times in /proc/<pid>/stat: USER_HZ is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// Times is what one process used, in user and system time.
type Times struct {
	Parent int           // pid of the process that started it
	Own    time.Duration // of the process
	Reaped time.Duration // of those of its children that have ended and were waited for
}

// Read returns the times of a process. The error is fs.ErrNotExist, or that of a file that cannot be read, when it has ended.
func Read(pid int) (t Times, err error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	raw, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	// Behind the name, which may hold anything: state, parent, and from the twelfth on utime, stime, cutime, cstime (proc_pid_stat(5)).
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 15 {
		return t, &MalformedError{path, fmt.Sprintf("%q", raw)}
	}
	if t.Parent, err = strconv.Atoi(fields[1]); err != nil {
		return t, &MalformedError{path, err.Error()}
	}
	for i, field := range fields[11:15] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return t, &MalformedError{path, err.Error()}
		}
		if used := time.Duration(ticks) * clockTick; i < 2 {
			t.Own += used
		} else {
			t.Reaped += used
		}
	}
	return t, nil
}

// MalformedError is a file of /proc that is not as the kernel documents it.
type MalformedError struct{ path, why string }

func (e *MalformedError) Error() string { return e.path + " is not as expected: " + e.why }
