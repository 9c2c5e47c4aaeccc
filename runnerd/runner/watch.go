package runner

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// watch waits for the end of the job process, and ends it when the job is canceled or its
// time is over: first with an interrupt and then, after timing.JobGrace, with a kill.
// A job that exceeds its memory limit is killed without an interrupt. All of this is recorded
// on disk, so that a restarted runnerd continues with it.
func (a *attempt) watch(ctx context.Context) error {
	look := time.NewTicker(a.runner.Timing.PollInterval)
	defer look.Stop()
	if a.adopted {
		a.log.Info("adopted a running job")
	}
	interrupted, changes := false, a.executor.changes()
	var graceEnds time.Time
	for {
		alive, err := a.executor.alive(ctx)
		if err != nil || !alive {
			return err
		}
		if err := a.updateHeldRule(); err != nil {
			return err
		}
		ending, ends, err := a.terminationReason()
		if err != nil {
			return err
		}
		if ends && graceEnds.IsZero() {
			graceEnds = monotonic(ending.Since).Add(a.runner.Timing.JobGrace)
		}
		switch {
		case !ends:
		case ending.Killed || ending.Reason == spool.ReasonMemory || time.Now().After(graceEnds):
			if err := a.kill(ctx, ending); err != nil {
				return err
			}
		case !interrupted:
			// This also happens after a restart, because the job process treats a second
			// interrupt like the first.
			interrupted = a.interrupt(ctx, ending)
		}
		select {
		case <-look.C:
		case _, open := <-changes:
			if !open {
				changes = nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// updateHeldRule updates the rule of a job whose process waits for its spec, and cancels the job if the rule forbids it
// by now. Otherwise a control plane could have a job accepted, and send its spec after the owner has forbidden it.
func (a *attempt) updateHeldRule() error {
	if a.hasSpec() {
		return nil
	}
	forbidden, err := a.updateRule()
	if forbidden != nil && !a.hasSpec() {
		a.log.Warn("the job has no spec yet, and its owner does not allow it any more", "reason", forbidden)
		a.requestCancel()
	}
	return err
}

// hasSpec reports whether the job process has its spec.
func (a *attempt) hasSpec() bool {
	if !a.specSeen {
		_, found, err := a.dir.Spec()
		a.specSeen = err == nil && found
	}
	return a.specSeen
}

// terminationReason returns why the job has to end, and starts that if there is a new reason.
func (a *attempt) terminationReason() (spool.Termination, bool, error) {
	ending, found, err := a.startedTermination()
	if err != nil || found {
		return ending, found, err
	}
	reason := ""
	select {
	case <-a.cancel:
		reason = spool.ReasonCancel
	default:
		over, err := a.timeExceeded()
		if err != nil {
			return ending, false, err
		}
		if over {
			reason = spool.ReasonTimeout
		} else if over, err = a.memoryExceeded(); err != nil {
			return ending, false, err
		} else if over {
			reason = spool.ReasonMemory
		}
	}
	if reason == "" {
		return ending, false, nil
	}
	ending = spool.Termination{Reason: reason, Since: time.Now()}
	a.saveTermination(ending)
	return ending, true, nil
}

// startedTermination returns why the job is being ended, and false when it is not.
func (a *attempt) startedTermination() (spool.Termination, bool, error) {
	if a.unsavedTermination != nil {
		a.saveTermination(*a.unsavedTermination)
	}
	if a.unsavedTermination != nil {
		return *a.unsavedTermination, true, nil
	}
	return a.dir.Termination()
}

// saveTermination records on disk why the job is being ended. If the disk is full it keeps
// the reason in memory: this job may have filled the disk.
func (a *attempt) saveTermination(ending spool.Termination) {
	err := a.dir.SaveTermination(ending)
	if err == nil {
		a.unsavedTermination = nil
		return
	}
	if a.unsavedTermination == nil {
		a.log.Warn("cannot record that the job is being stopped; stopping it anyway", "error", err)
	}
	a.unsavedTermination = &ending
}

// timeExceeded reports whether the job has exceeded its time limit.
func (a *attempt) timeExceeded() (bool, error) {
	if a.startedAt.IsZero() {
		started, found, err := a.dir.Started()
		if err != nil || !found {
			return false, err
		}
		a.startedAt = monotonic(started)
	}
	return time.Since(a.startedAt) > a.limit(), nil
}

// limit returns how long the job may run: the limit of its spec, once this runner has it, or that
// of the runner file if it is less. With an unreadable spec the default limit applies, so that
// the job does not run forever.
func (a *attempt) limit() time.Duration {
	if !a.specRead {
		if spec, found, err := a.dir.TrustedSpec(); err == nil && found {
			a.specRead, a.specLimit = true, time.Duration(spec.TimeoutSeconds)*time.Second
			a.setInstall(spec)
		}
	}
	own := policy.Limits{Timeout: policy.Duration(time.Duration(a.record.Load().Policy.Limits.TimeoutSeconds) * time.Second)}
	return own.TimeoutOf(a.specLimit, a.runner.Timing.JobLimit)
}

// monotonic converts a time from disk to this process's monotonic clock, so that setting
// the machine's clock later neither kills a job nor prolongs it.
func monotonic(wall time.Time) time.Time { return time.Now().Add(-max(0, time.Since(wall))) }

// interrupt interrupts the job process. It returns false when that has to be repeated.
func (a *attempt) interrupt(ctx context.Context, ending spool.Termination) bool {
	if !a.executor.interrupt(ctx) {
		return false
	}
	a.log.Info("interrupting the job", "reason", ending.Reason, "grace", a.runner.Timing.JobGrace.String())
	return true
}

// memoryExceeded reports whether the processes of the job together exceed its memory limit.
func (a *attempt) memoryExceeded() (bool, error) {
	most := a.record.Load().Policy.Limits.MemoryBytes
	if most <= 0 {
		return false, nil
	}
	used, err := a.executor.memory()
	if used > most {
		a.log.Warn("the job uses more memory than it may", "bytes", used, "limit", most)
	}
	return used > most, err
}

// kill kills every process of the job.
func (a *attempt) kill(ctx context.Context, ending spool.Termination) error {
	if !ending.Killed {
		a.log.Warn("killing all processes of the job", "reason", ending.Reason)
		ending.Killed = true
		a.saveTermination(ending)
	}
	return a.executor.kill(ctx)
}
