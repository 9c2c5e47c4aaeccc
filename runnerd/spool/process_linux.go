package spool

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ThisProcess returns the calling process.
func ThisProcess() Process {
	process := Process{PID: os.Getpid(), Boot: Boot()}
	if stat, err := ReadStat(process.PID); err == nil {
		process.Start = stat.Start
	}
	return process
}

// Boot returns the id of the machine's current boot, or "" when it is not available.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// ReadStat reads /proc/<pid>/stat (proc_pid_stat(5)).
func ReadStat(pid int) (Stat, error) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The second field, the program's name in parentheses, may contain any characters.
	end := bytes.LastIndexByte(content, ')')
	fields := strings.Fields(string(content[end+1:]))
	if end < 0 || len(fields) < 20 {
		return Stat{}, fmt.Errorf("look at process %d: /proc gives %q", pid, content)
	}
	stat := Stat{PID: pid, State: fields[0][0]}
	stat.Parent, _ = strconv.Atoi(fields[1])
	stat.Group, _ = strconv.Atoi(fields[2])
	stat.Session, _ = strconv.Atoi(fields[3])
	if stat.Start, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return Stat{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return stat, nil
}

// Processes returns every visible process of the machine by its id.
func Processes() (map[int]Stat, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = proc.Close() }()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := map[int]Stat{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if stat, err := ReadStat(pid); err == nil { // otherwise the process has just ended
			all[pid] = stat
		}
	}
	return all, nil
}
