package spool

// Process says which operating system process a job process is. The number alone does not: it is given out again.
type Process struct {
	// PID is the process, and also its session and process group.
	PID int `json:"pid"`
	// Start is when it started, in clock ticks since boot; 0 where the system does not tell.
	Start uint64 `json:"start,omitempty"`
	// Boot names the boot of the machine; empty where the system does not tell.
	Boot string `json:"boot,omitempty"`
}

// SaveProcess is called by the job process before it does anything else.
func (a Attempt) SaveProcess(process Process) error { return a.save(processFile, process) }

// Process reads that; false when the job process never came so far.
func (a Attempt) Process() (process Process, found bool, err error) {
	found, err = a.load(processFile, &process)
	return process, found, err
}

// Stat is what the kernel says of one process.
type Stat struct {
	PID, Parent, Group, Session int
	// State is the kernel's letter: R, S, D, T, Z …
	State byte
	// Start is when it started, in clock ticks since boot.
	Start uint64
}
