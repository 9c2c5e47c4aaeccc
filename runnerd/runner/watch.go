package runner

import (
	"context"
	"errors"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// errNoProcess: there is no process to signal, or not any more.
var errNoProcess = errors.New("there is no such process")

// watch waits for the end of the job process, and brings it about when the job is cancelled or its time is over: first an
// interrupt, then, after timing.JobGrace, death. Both are on disk, so that a restarted runnerd goes on with them.
func (a *attempt) watch(ctx context.Context) error {
	look := time.NewTicker(a.runner.Timing.Look)
	defer look.Stop()
	if a.adopted {
		a.log.Info("adopted a running job")
	}
	interrupted, exited := false, a.exited
	var graceEnds time.Time
	for {
		alive, err := a.dir.Alive()
		if err != nil {
			return err
		}
		if !alive {
			a.reap()
			return nil
		}
		ending, ends, err := a.ending()
		if err != nil {
			return err
		}
		if ends && graceEnds.IsZero() {
			graceEnds = steady(ending.Since).Add(a.runner.Timing.JobGrace)
		}
		switch {
		case !ends:
		case ending.Killed || time.Now().After(graceEnds):
			if err := a.kill(ending); err != nil {
				return err
			}
		case !interrupted:
			// Also after a restart: the job process takes a second interrupt for the first.
			interrupted = a.interrupt(ending)
		}
		select {
		case <-look.C:
		case <-exited: // a child of our own; the end of an adopted process is only seen by looking
			exited = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reap waits until the ended process is off the system's list. It freed its lock as it ended, so there is no more than a moment
// to wait.
func (a *attempt) reap() {
	if a.exited != nil {
		<-a.exited
	}
}

// ending gives why the job is to end, and begins that if there is a new reason.
func (a *attempt) ending() (spool.Ending, bool, error) {
	ending, found, err := a.dir.Ending()
	if err != nil || found {
		return ending, found, err
	}
	reason := ""
	select {
	case <-a.cancel:
		reason = spool.ReasonCancel
	default:
		over, err := a.timeIsOver()
		if err != nil {
			return ending, false, err
		}
		if over {
			reason = spool.ReasonTimeout
		}
	}
	if reason == "" {
		return ending, false, nil
	}
	ending = spool.Ending{Reason: reason, Since: time.Now()}
	return ending, true, a.dir.SaveEnding(ending)
}

// timeIsOver looks at the limit in the spec, once the job process has it.
func (a *attempt) timeIsOver() (bool, error) {
	if a.began.IsZero() {
		started, found, err := a.dir.Started()
		if err != nil || !found {
			return false, err
		}
		a.began = steady(started)
	}
	spec, found, err := a.dir.Spec()
	if err != nil || !found || spec.TimeoutSeconds <= 0 {
		return false, nil //nolint:nilerr // a spec that cannot be read must not keep a cancel from working
	}
	return time.Since(a.began) > time.Duration(spec.TimeoutSeconds)*time.Second, nil
}

// steady gives a time of the disk as one of this process's steady clock: when the machine's clock is set after that, no job is
// killed for it, and none lives on.
func steady(wall time.Time) time.Time { return time.Now().Add(-max(0, time.Since(wall))) }

// interrupt asks the job process to end; false when it has not said yet which process it is.
func (a *attempt) interrupt(ending spool.Ending) bool {
	process, found, err := a.dir.Process()
	if err != nil || !found {
		return false
	}
	a.log.Info("interrupting the job", "reason", ending.Reason, "grace", a.runner.Timing.JobGrace.String())
	if err := interruptGroup(process); err != nil && !errors.Is(err, errNoProcess) {
		a.log.Warn("cannot interrupt the job", "error", err)
	}
	return true
}

// kill kills every process of the job.
func (a *attempt) kill(ending spool.Ending) error {
	if !ending.Killed {
		a.log.Warn("the job did not end after the interrupt; killing all its processes", "reason", ending.Reason)
		ending.Killed = true
		if err := a.dir.SaveEnding(ending); err != nil {
			return err
		}
	}
	process, found, err := a.dir.Process()
	if err != nil || !found {
		return err
	}
	_, err = killAll(process)
	return err
}
