package runner

import (
	"context"
	"os/exec"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/process"
)

// children tracks the job processes that this runnerd has started and that have not ended,
// plus the children from before: the script that became runnerd may have started
// processes of its owner.
type children struct {
	mutex sync.Mutex
	known map[int]bool
}

// start starts a job process. The channel is closed when it has ended.
func (c *children) start(command *exec.Cmd) (<-chan struct{}, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := command.Start(); err != nil {
		return nil, err
	}
	c.known[command.Process.Pid] = true
	exited := make(chan struct{})
	go func() { // waits for the job process; its result is in the spool
		defer close(exited)
		_ = command.Wait()
		c.mutex.Lock()
		defer c.mutex.Unlock()
		delete(c.known, command.Process.Pid)
	}()
	return exited, nil
}

// killOrphans kills the processes that jobs have left to this process, and returns how many
// there were. Processes of supervised attempts other than turn (nil for none) are spared,
// because those attempts end them.
func (r *runner) killOrphans(turn *attempt) (int, error) {
	var spared []process.Job
	for _, other := range r.listAttempts() {
		if other == turn || other.isConcluded() {
			continue
		}
		local, is := other.executor.(*jobProcess)
		if !is {
			continue
		}
		job, found, err := local.processes()
		if err != nil {
			return 0, err
		}
		if found {
			spared = append(spared, job)
		}
	}
	r.children.mutex.Lock()
	defer r.children.mutex.Unlock()
	return process.KillOrphans(r.children.known, spared)
}

// reapLoop periodically ends processes that jobs have left to this process and that
// no attempt supervises.
func (r *runner) reapLoop(ctx context.Context) {
	for backoff.Pause(ctx, r.Timing.HeartbeatInterval) {
		if _, err := r.killOrphans(nil); err != nil {
			r.log.Warn("cannot check for processes that jobs left behind", "error", err)
		}
	}
}
