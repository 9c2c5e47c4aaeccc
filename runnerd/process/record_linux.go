package process

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// Recorder records the descendants of this process in the spool, for a runnerd that runs
// after the death of this process: then nothing else identifies them. This process
// must have called Adopt.
type Recorder struct {
	// Attempt is the attempt that the processes belong to.
	Attempt spool.Attempt

	mutex sync.Mutex
	known map[spool.Member]bool
}

// Record lists the descendants, and writes the list if it has a new process.
func (r *Recorder) Record() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); errors.Is(err, unix.ECHILD) {
		return nil // most jobs have no child process most of the time
	}
	all, err := spool.Processes()
	if err != nil {
		return err
	}
	now := map[spool.Member]bool{}
	for pid := range addDescendants(all, map[int]bool{os.Getpid(): true}) {
		if stat, there := all[pid]; there && pid != os.Getpid() {
			now[spool.Member{PID: pid, Start: stat.Start}] = true
		}
	}
	grown := false
	for member := range now {
		grown = grown || !r.known[member]
	}
	if !grown {
		return nil
	}
	sorted := slices.SortedFunc(maps.Keys(now), func(a, b spool.Member) int { return cmp.Compare(a.PID, b.PID) })
	if err := r.Attempt.SaveMembers(sorted); err != nil {
		return err
	}
	r.known = now
	return nil
}
