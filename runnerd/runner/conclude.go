package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// conclude makes sure that no process of the job runs any more, removes its files, completes
// its log, and decides its result. Only after that may its end be reported.
func (a *attempt) conclude(ctx context.Context) error {
	if err := a.executor.finish(ctx); err != nil {
		return err
	}
	said, err := a.outputTail()
	if err != nil {
		return err
	}
	settled, err := a.cleanUp()
	if err != nil {
		return err
	}
	if said = append(said, settled...); len(said) > 0 {
		if err := a.dir.AppendLines(api.Warn, said...); err != nil {
			return err
		}
	}
	seen := outcome{limit: a.limit(), memory: policy.Size(a.record.Policy.Limits.MemoryBytes)}
	if seen.result, seen.found, err = a.dir.Result(); err != nil {
		// Every job ends, even one with an unreadable result.
		seen.found, seen.result = true, api.JobResult{Status: api.JobResultStatusFailed,
			Error: fmt.Sprintf("the job ended, but its result cannot be used: %v; check its log", err)}
	}
	if seen.ending, seen.ended, err = a.startedTermination(); err != nil {
		return err
	}
	final := seen.final()
	a.log.Info("the job has ended", "status", final.Status, "error", final.Error)
	return a.dir.SaveFinal(final)
}

// cleanUp removes the job's files, because they can contain secrets and the spool directory
// stays until everything has been delivered.
func (a *attempt) cleanUp() ([]string, error) {
	for _, dir := range []string{a.dir.WorkDir(), a.dir.SharedDir()} {
		if err := spool.RemoveTree(dir); err != nil {
			return nil, fmt.Errorf("remove the work directory of %s: %w", a.name(), err)
		}
	}
	spec, found, err := a.dir.Spec()
	if err != nil || !found || a.runner.FinishKilled == nil {
		return nil, nil //nolint:nilerr // without its spec the job did nothing
	}
	return a.runner.FinishKilled(a.runner.Dir, a.dir, spec)
}

// outcome holds everything that decides a result.
type outcome struct {
	result api.JobResult // from the job process
	found  bool
	ending spool.Termination // from this runner
	ended  bool
	limit  time.Duration
	memory policy.Size
}

// final decides the result. The job process's own result counts, except for a cancellation
// that was caused by the time limit.
func (o outcome) final() api.JobResult {
	timeout := o.ended && o.ending.Reason == spool.ReasonTimeout
	switch {
	case o.found && timeout && o.result.Status == api.JobResultStatusCancelled:
		final := o.result
		final.Status = api.JobResultStatusFailed
		final.Error = fmt.Sprintf("the job ran longer than its limit of %v and was interrupted: %s", o.limit, o.result.Error)
		return final
	case o.found:
		return o.result
	case o.ended && o.ending.Reason == spool.ReasonMemory:
		return api.JobResult{Status: api.JobResultStatusFailed, Error: fmt.Sprintf(
			"the job used more than its limit of %v of memory, so all its processes were killed; the runner's owner sets that "+
				"limit, with memory in [limits] of the runner file", o.memory)}
	case timeout:
		return api.JobResult{Status: api.JobResultStatusFailed, Error: fmt.Sprintf(
			"the job ran longer than its limit of %v and %s; check its log for what it was waiting for, or raise the limit",
			o.limit, o.describe())}
	case o.ended:
		return api.JobResult{Status: api.JobResultStatusCancelled, Error: "the job was cancelled and " + o.describe()}
	}
	return api.JobResult{Status: api.JobResultStatusLost,
		Error: "the process of this job ended without a result; nothing more runs here"}
}

func (o outcome) describe() string {
	if o.ending.Killed {
		return "did not end when it was interrupted, so all its processes were killed"
	}
	return "ended without a result when it was interrupted"
}
