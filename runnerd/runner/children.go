package runner

import (
	"context"
	"os/exec"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/process"
)

// children are the job processes that this runnerd has started and that have not ended, and what was there before: the script that
// became runnerd may have started something of its owner's.
type children struct {
	mutex sync.Mutex
	known map[int]bool
}

// start starts a job process; the channel is closed when it has ended.
func (c *children) start(command *exec.Cmd) (<-chan struct{}, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := command.Start(); err != nil {
		return nil, err
	}
	c.known[command.Process.Pid] = true
	exited := make(chan struct{})
	go func() { // waits for the job process, whose end it tells; how it ended is in the spool
		defer close(exited)
		_ = command.Wait()
		c.mutex.Lock()
		defer c.mutex.Unlock()
		delete(c.known, command.Process.Pid)
	}()
	return exited, nil
}

// killStrays kills what jobs have left to this process, and gives how many there were. What belongs to an attempt that is still
// looked after, other than the one whose turn it is (nil for none), is that one's to end.
func (r *runner) killStrays(turn *attempt) (int, error) {
	var spared []process.Job
	for _, other := range r.list() {
		if other == turn || other.isConcluded() {
			continue
		}
		job, found, err := other.processes()
		if err != nil {
			return 0, err
		}
		if found {
			spared = append(spared, job)
		}
	}
	r.children.mutex.Lock()
	defer r.children.mutex.Unlock()
	return process.KillStrays(r.children.known, spared)
}

// reapLoop ends what jobs have left to this process and nobody looks after. It waits for the next look.
func (r *runner) reapLoop(ctx context.Context) {
	for backoff.Pause(ctx, r.Timing.Beat) {
		if _, err := r.killStrays(nil); err != nil {
			r.log.Warn("cannot look for processes that jobs have left behind", "error", err)
		}
	}
}
