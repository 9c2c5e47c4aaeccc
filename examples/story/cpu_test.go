package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the times in /proc/<pid>/stat.
const clockTick = 10 * time.Millisecond

// processorTime returns the user and system time of a process and of all below it, with that of children that have ended and were
// waited for. Times of a busy machine vary with its load; this hardly does.
func processorTime(root int) (time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("list processes: no /proc/<pid>/stat (%w)", err)
	}
	parents, used := map[int]int{}, map[int]time.Duration{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// Behind the name, which may hold anything: state, parent, and from the twelfth on utime, stime, cutime, cstime.
		rest := string(raw[strings.LastIndexByte(string(raw), ')')+1:])
		fields := strings.Fields(rest)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || len(fields) < 15 {
			return 0, fmt.Errorf("%s is not as expected: %q", file, raw)
		}
		if parents[pid], err = strconv.Atoi(fields[1]); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		for _, field := range fields[11:15] {
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", file, err)
			}
			used[pid] += time.Duration(ticks) * clockTick
		}
	}
	var sum time.Duration
	for pid := range parents {
		for above := pid; above > 1; above = parents[above] {
			if above == root {
				sum += used[pid]
				break
			}
		}
	}
	return sum, nil
}
