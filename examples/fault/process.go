package fault

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// Process is a process as it was seen.
type Process struct {
	spool.Stat
	// Args is its command line.
	Args []string
}

// Line is the command line as one would type it.
func (p Process) Line() string { return strings.Join(p.Args, " ") }

// Processes gives every process of this machine that has a command line, by its number.
func Processes() (map[int]Process, error) {
	stats, err := spool.Processes()
	if err != nil {
		return nil, err
	}
	all := map[int]Process{}
	for pid, stat := range stats {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil || len(line) == 0 {
			continue // it has ended meanwhile, or is the kernel's
		}
		all[pid] = Process{Stat: stat, Args: strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")}
	}
	return all, nil
}

// Below gives all that descends from a process, without itself.
func Below(all map[int]Process, root int) []Process {
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

// Kill sends SIGKILL to that very process: where its number was given out again meanwhile, nothing is hit. What has gone already
// is no error; hit says whether it was still there.
func Kill(p Process) (hit bool, err error) {
	process, err := os.FindProcess(p.PID)
	if err != nil {
		return false, nil // it has gone
	}
	defer func() { _ = process.Release() }()
	now, err := spool.ReadStat(p.PID)
	if err != nil || now.Start != p.Start || now.State == 'Z' {
		return false, nil // it has gone
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, fmt.Errorf("kill %s (process %d): %w", p.Line(), p.PID, err)
	}
	return true, nil
}

// Using gives the processes that work in or below a directory, or name it on their command line; never the calling one.
func Using(dir string) ([]Process, error) {
	all, err := Processes()
	if err != nil {
		return nil, err
	}
	var found []Process
	for pid, p := range all {
		if pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd") // empty when it has ended
		if cwd == dir || strings.HasPrefix(cwd, dir+"/") || strings.Contains(p.Line(), dir) {
			found = append(found, p)
		}
	}
	return found, nil
}
