package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/proc"
)

// processorTime returns the user and system time of a process and all its descendants, including
// children that have ended and were waited for. Unlike elapsed time, it hardly depends on the load
// of the machine.
func processorTime(root int) (time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("list processes: no /proc/<pid>/stat (%w)", err)
	}
	all := map[int]proc.Times{}
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		times, err := proc.Read(pid)
		var malformed *proc.MalformedError
		if errors.As(err, &malformed) {
			return 0, err
		}
		if err == nil { // otherwise it has ended
			all[pid] = times
		}
	}
	var sum time.Duration
	for pid, times := range all {
		for above := pid; above > 1; above = all[above].Parent {
			if above == root {
				sum += times.Own + times.Reaped
				break
			}
		}
	}
	return sum, nil
}
