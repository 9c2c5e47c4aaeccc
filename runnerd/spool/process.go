package spool

// Process identifies the operating system process of a job. The process id alone does not,
// because it is reused.
type Process struct {
	// PID is the id of the process, of its session and of its process group.
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot; 0 where the system does not provide
	// it.
	Start uint64 `json:"start,omitempty"`
	// Boot identifies the boot of the machine; empty where the system does not provide it.
	Boot string `json:"boot,omitempty"`
	// Cgroup is the directory of the control group that the process and all its children
	// are in; empty for none.
	Cgroup string `json:"cgroup,omitempty"`
}

// SaveProcess stores the process. The job process calls it before it does anything else. It need not survive a crash of
// the machine, which the process does not survive either.
func (a Attempt) SaveProcess(process Process) error {
	return saveUnsynced(a.path(processFile), process)
}

// Process reads the process. It returns false when the job process did not get
// as far as SaveProcess.
func (a Attempt) Process() (process Process, found bool, err error) {
	found, err = loadUnsynced(a.path(processFile), &process)
	return process, found, err
}

// Member is a descendant of a job process, as it was recorded.
type Member struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// SaveMembers replaces the list of the job process's descendants. Only a runnerd that runs
// after the death of that process reads it, so it need not survive a crash of the machine.
func (a Attempt) SaveMembers(members []Member) error {
	return saveUnsynced(a.path(membersFile), members)
}

// Members reads the list of SaveMembers.
func (a Attempt) Members() (members []Member, err error) {
	_, err = loadUnsynced(a.path(membersFile), &members)
	return members, err
}

// Stat is the kernel's information about one process.
type Stat struct {
	PID, Parent, Group, Session int
	// State is the kernel's letter for the state: R, S, D, T, Z …
	State byte
	// Start is the start time in clock ticks since boot.
	Start uint64
}
