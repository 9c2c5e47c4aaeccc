// Package proc reads the processor times and the memory of processes from /proc, for tests and benchmarks that
// measure the programs that they start. It works on Linux only and never changes a process.
package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the times in /proc/<pid>/stat: USER_HZ is 100 on every Linux that Go
// supports.
const clockTick = 10 * time.Millisecond

// Times holds the user and system time of one process.
type Times struct {
	Parent int           // pid of the parent process
	Own    time.Duration // of the process itself
	Reaped time.Duration // of its children that have ended and were waited for
}

// Read returns the times of a process. If it has ended, the error is fs.ErrNotExist or a read error.
func Read(pid int) (t Times, err error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	raw, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	// After the name, which may contain anything, come the state and the parent, and from the
	// twelfth field on utime, stime, cutime and cstime (proc_pid_stat(5)).
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

// Memory returns the memory that a process has now and the most that it ever had, in bytes
// (proc_pid_status(5)).
func Memory(pid int) (resident, peak int64, err error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	values := map[string]int64{}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		if name != "VmRSS" && name != "VmHWM" {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0, 0, &MalformedError{path, err.Error()}
		}
		values[name] = kib << 10
	}
	if len(values) < 2 {
		return 0, 0, &MalformedError{path, "it has no memory"}
	}
	return values["VmRSS"], values["VmHWM"], nil
}

// MalformedError reports a file of /proc that does not have the form that the kernel documents.
type MalformedError struct{ path, why string }

func (e *MalformedError) Error() string { return e.path + " is not as expected: " + e.why }
