package spool

import (
	"encoding/json"
	"fmt"
)

// Process says which operating system process a job process is. The number alone does not: it is given out again.
type Process struct {
	// PID is the process, and also its session and process group.
	PID int `json:"pid"`
	// Start is when it started, in clock ticks since boot; 0 where the system does not tell.
	Start uint64 `json:"start,omitempty"`
	// Boot names the boot of the machine; empty where the system does not tell.
	Boot string `json:"boot,omitempty"`
	// Cgroup is the directory of the control group that it has joined with all that it starts; empty for none.
	Cgroup string `json:"cgroup,omitempty"`
}

// SaveProcess is called by the job process before it does anything else.
func (a Attempt) SaveProcess(process Process) error { return a.save(processFile, process) }

// Process reads that; false when the job process never came so far.
func (a Attempt) Process() (process Process, found bool, err error) {
	found, err = a.load(processFile, &process)
	return process, found, err
}

// Member is a process that descends from a job process, as it was seen.
type Member struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// SaveMembers replaces the list of the processes that descend from the job process. It is for a runnerd that comes after the death
// of that process, so it does not have to survive one of the machine.
func (a Attempt) SaveMembers(members []Member) error {
	encoded, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("write %s: %w", a.path(membersFile), err)
	}
	return replaceFile(a.path(membersFile), encoded)
}

// Members reads that list.
func (a Attempt) Members() (members []Member, err error) {
	_, err = a.load(membersFile, &members)
	return members, err
}

// Stat is what the kernel says of one process.
type Stat struct {
	PID, Parent, Group, Session int
	// State is the kernel's letter: R, S, D, T, Z …
	State byte
	// Start is when it started, in clock ticks since boot.
	Start uint64
}
