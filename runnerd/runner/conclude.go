package runner

import (
	"cmp"
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
	removed, err := a.dir.Reclaim()
	if err != nil {
		return err
	}
	said, err := a.outputTail()
	if err != nil {
		return err
	}
	if len(removed) > 0 {
		said = append(said, fmt.Sprintf("programs of the job replaced files of the runner by something else, which the "+
			"runner removed: %d entries, such as %q", len(removed), removed[0]))
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
	seen := outcome{limit: a.limit(), memory: policy.Size(a.record.Load().Policy.Limits.MemoryBytes)}
	if seen.result, seen.found, err = a.dir.Result(); err != nil {
		// Every job ends, even one with an unreadable result.
		seen.found, seen.result = true, api.JobResult{Status: api.JobResultStatusFailed,
			Error: fmt.Sprintf("the job ended, but its result cannot be used: %v; check its log", err)}
	}
	if seen.ending, seen.ended, err = a.startedTermination(); err != nil {
		return err
	}
	if seen.pod, _, err = a.dir.Pod(); err != nil {
		return err
	}
	final := seen.final()
	a.log.Info("the job has ended", "status", final.Status, "error", final.Error)
	a.noteUnusable(final)
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
	spec, found, err := a.dir.TrustedSpec()
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
	pod    spool.Pod // of a job that ran as one
}

// final decides the result. The job process's own result counts, except for a cancellation
// that was caused by the time limit.
func (o outcome) final() api.JobResult {
	timeout := o.ended && o.ending.Reason == spool.ReasonTimeout
	pod := cmp.Or(o.pod.Ended, &spool.PodEnd{})
	switch {
	case o.found && timeout && o.result.Status == api.JobResultStatusCancelled:
		final := o.result
		final.Status = api.JobResultStatusFailed
		final.Error = fmt.Sprintf("the job ran longer than its limit of %v and was interrupted: %s", o.limit, o.result.Error)
		return final
	case o.found:
		return o.result
	case o.ended && o.ending.Reason == spool.ReasonMemory, pod.Reason == reasonOutOfMemory && o.memory > 0:
		return api.JobResult{Status: api.JobResultStatusFailed, Error: fmt.Sprintf(
			"the job used more than its limit of %v of memory, so all its processes were killed; the runner's owner sets that "+
				"limit, with memory in [limits] of the runner file", o.memory)}
	case pod.Failed:
		return api.JobResult{Status: api.JobResultStatusFailed, Error: pod.Message}
	case timeout:
		return api.JobResult{Status: api.JobResultStatusFailed, Error: fmt.Sprintf(
			"the job ran longer than its limit of %v and %s; check its log for what it was waiting for, or raise the limit",
			o.limit, o.describe())}
	case o.ended:
		return api.JobResult{Status: api.JobResultStatusCancelled, Error: "the job was cancelled and " + o.describe()}
	}
	if pod.Proof == spool.ProofNotStarted {
		return api.JobResult{Status: api.JobResultStatusLost,
			Error: "nothing of this job ran, so it can be started again: " + pod.Message}
	}
	return api.JobResult{Status: api.JobResultStatusLost,
		Error: "the process of this job ended without a result; nothing more runs here" + describePod(o.pod)}
}

// exitKilled is the exit code of a container that was killed.
const exitKilled = 128 + 9

// reasonOutOfMemory is the kubelet's name for a container that exceeded its limit of memory.
const reasonOutOfMemory = "OOMKilled"

func (o outcome) describe() string {
	if o.ending.Killed || o.pod.Ended != nil && o.pod.Ended.ExitCode == exitKilled {
		return "did not end when it was interrupted, so all its processes were killed"
	}
	return "ended without a result when it was interrupted"
}
