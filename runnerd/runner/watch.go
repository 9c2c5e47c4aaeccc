package runner

import (
	"context"
	"errors"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/process"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// watch waits for the end of the job process, and brings it about when the job is cancelled or its time is over: first an
// interrupt, then, after timing.JobGrace, death. A job that takes more memory than it may is killed without the first. All of it
// is on disk, so that a restarted runnerd goes on with it.
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
		case ending.Killed || ending.Reason == spool.ReasonMemory || time.Now().After(graceEnds):
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
	ending, found, err := a.begunEnding()
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
		} else if over, err = a.memoryIsOver(); err != nil {
			return ending, false, err
		} else if over {
			reason = spool.ReasonMemory
		}
	}
	if reason == "" {
		return ending, false, nil
	}
	ending = spool.Ending{Reason: reason, Since: time.Now()}
	a.writeEnding(ending)
	return ending, true, nil
}

// begunEnding gives why the job is being ended; false when nobody ends it.
func (a *attempt) begunEnding() (spool.Ending, bool, error) {
	if a.unwritten != nil {
		a.writeEnding(*a.unwritten)
	}
	if a.unwritten != nil {
		return *a.unwritten, true, nil
	}
	return a.dir.Ending()
}

// writeEnding keeps on disk why the job is being ended. Where the disk takes nothing it is kept here: it may be this job that has
// filled it.
func (a *attempt) writeEnding(ending spool.Ending) {
	err := a.dir.SaveEnding(ending)
	if err == nil {
		a.unwritten = nil
		return
	}
	if a.unwritten == nil {
		a.log.Warn("cannot write down that the job is being ended; it is ended all the same", "error", err)
	}
	a.unwritten = &ending
}

// timeIsOver looks at how long the job has run.
func (a *attempt) timeIsOver() (bool, error) {
	if a.began.IsZero() {
		started, found, err := a.dir.Started()
		if err != nil || !found {
			return false, err
		}
		a.began = steady(started)
	}
	return time.Since(a.began) > a.limit(), nil
}

// limit gives how long the job may run: what its spec says, once the job process has it, or the runner file if that is less. A
// spec that cannot be read does not let the job run for ever.
func (a *attempt) limit() time.Duration {
	if !a.specSeen {
		if spec, found, err := a.dir.Spec(); err == nil && found {
			a.specSeen, a.specLimit = true, time.Duration(spec.TimeoutSeconds)*time.Second
			a.noteInstall(spec)
		}
	}
	own := policy.Limits{Timeout: policy.Span(time.Duration(a.record.Policy.Limits.TimeoutSeconds) * time.Second)}
	return own.TimeoutOf(a.specLimit, a.runner.Timing.JobLimit)
}

// memoryIsOver looks at how much memory the processes of the job have together.
func (a *attempt) memoryIsOver() (bool, error) {
	most := a.record.Policy.Limits.MemoryBytes
	if most <= 0 {
		return false, nil
	}
	job, found, err := a.processes()
	if err != nil || !found {
		return false, err
	}
	used, err := job.Memory()
	if used > most {
		a.log.Warn("the job uses more memory than it may", "bytes", used, "limit", most)
	}
	return used > most, err
}

// processes gives what tells the processes of this attempt from others; false when it has not said yet which process it is.
func (a *attempt) processes() (process.Job, bool, error) {
	return process.Of(a.dir)
}

// steady gives a time of the disk as one of this process's steady clock: when the machine's clock is set after that, no job is
// killed for it, and none lives on.
func steady(wall time.Time) time.Time { return time.Now().Add(-max(0, time.Since(wall))) }

// interrupt asks the job process to end; false when it has not said yet which process it is.
func (a *attempt) interrupt(ending spool.Ending) bool {
	job, found, err := a.processes()
	if err != nil || !found {
		return false
	}
	a.log.Info("interrupting the job", "reason", ending.Reason, "grace", a.runner.Timing.JobGrace.String())
	if err := job.Interrupt(); err != nil && !errors.Is(err, process.ErrNone) {
		a.log.Warn("cannot interrupt the job", "error", err)
	}
	return true
}

// kill kills every process of the job.
func (a *attempt) kill(ending spool.Ending) error {
	if !ending.Killed {
		a.log.Warn("killing all processes of the job", "reason", ending.Reason)
		ending.Killed = true
		a.writeEnding(ending)
	}
	job, found, err := a.processes()
	if err != nil || !found {
		return err
	}
	_, err = job.Kill()
	return err
}
