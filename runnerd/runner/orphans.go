package runner

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// awaitOrphans waits for the programs of a dead job process to end, before sweep kills the rest:
// after an interrupt Terraform completes its current operation and writes its state to a file,
// which is worth more than a quick end. It does nothing when the job process ended regularly,
// because it has done that already, or when the job is to be killed.
func (a *attempt) awaitOrphans(ctx context.Context) error {
	job, found, err := a.processes()
	if err != nil || !found {
		return err
	}
	_, finished, err := a.dir.Result()
	ending, ends, endingErr := a.startedTermination()
	if finished || err != nil || endingErr != nil || ending.Killed {
		return nil //nolint:nilerr // a result that cannot be read is a result
	}
	begun, found, err := a.dir.OrphansInterruptedAt()
	if err != nil {
		return err
	}
	if !found {
		left, err := job.CountLive()
		if err != nil || left == 0 {
			return err
		}
		a.log.Warn("the job process has exited, and processes that it started have not; interrupting "+
			"them", "processes", left, "grace",
			a.runner.Timing.ToolGrace.String())
		begun = time.Now()
		if err := a.dir.MarkOrphansInterrupted(begun); err != nil {
			return err
		}
		// When the job was being ended anyway, the job process has passed the interrupt on,
		// and a second one does harm.
		if !ends {
			if _, err := job.InterruptOrphans(); err != nil {
				return err
			}
		}
	}
	for graceEnds := monotonic(begun).Add(a.runner.Timing.ToolGrace); time.Now().Before(graceEnds); {
		if left, err := job.CountLive(); err != nil || left == 0 {
			return err
		}
		if !backoff.Pause(ctx, a.runner.Timing.PollInterval) {
			return ctx.Err()
		}
	}
	return nil
}
