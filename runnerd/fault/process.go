package fault

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// Process is a process at the time when it was listed.
type Process struct {
	spool.Stat
	// Args is its command line.
	Args []string
}

// CommandLine returns the command line as one string.
func (p Process) CommandLine() string { return strings.Join(p.Args, " ") }

// Processes returns all processes of this machine that have a command line, by pid.
func Processes() (map[int]Process, error) {
	stats, err := spool.Processes()
	if err != nil {
		return nil, err
	}
	all := map[int]Process{}
	for pid, stat := range stats {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil || len(line) == 0 {
			continue // it has ended meanwhile, or is a kernel thread
		}
		all[pid] = Process{Stat: stat, Args: strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")}
	}
	return all, nil
}

// Descendants returns all descendants of a process, without the process itself.
func Descendants(all map[int]Process, root int) []Process {
	chosen := map[int]bool{root: true}
	var found []Process
	for grown := true; grown; {
		grown = false
		for pid, p := range all {
			if chosen[p.Parent] && !chosen[pid] {
				chosen[pid], grown = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// Kill sends SIGKILL to exactly this process. If its pid has been reused, nothing is killed. A
// process that has already ended is no error; hit reports whether it was still running.
func Kill(p Process) (hit bool, err error) {
	process, err := os.FindProcess(p.PID)
	if err != nil {
		return false, nil // it has ended
	}
	defer func() { _ = process.Release() }()
	now, err := spool.ReadStat(p.PID)
	if err != nil || now.Start != p.Start || now.State == 'Z' {
		return false, nil // it has ended
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, fmt.Errorf("kill %s (process %d): %w", p.CommandLine(), p.PID, err)
	}
	return true, nil
}

// UsingDir returns the processes that have a directory, or one below it, as their working directory or
// on their command line, except the calling process.
func UsingDir(dir string) ([]Process, error) {
	all, err := Processes()
	if err != nil {
		return nil, err
	}
	var found []Process
	for pid, p := range all {
		if pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd") // empty if the process has ended
		if cwd == dir || strings.HasPrefix(cwd, dir+"/") || strings.Contains(p.CommandLine(), dir) {
			found = append(found, p)
		}
	}
	return found, nil
}
