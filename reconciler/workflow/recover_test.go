package workflow

import "testing"

// The whole of the recovery function: every end of a job, of a plan that was consumed
// or not, while the desired state is unchanged, has changed, and while a person has
// cancelled the workflow.
func TestRecoveryHasAnAnswerForAllThatCanBeObserved(t *testing.T) {
	const same, planned, unknown = claimUnchanged, claimPlanned, claimUnknown
	for _, row := range []struct {
		consumed             bool
		job                  JobStatus
		plan                 PlanStatus
		there                appliedClaim
		still, moved, ending followUp // what follows
	}{
		// Nothing was done, even if the result of a job that was never accepted claims so.
		{false, JobSucceeded, PlanSuperseded, same, followUpReplan, followUpReplanFresh, followUpStop},
		{false, JobFailed, PlanSuperseded, same, followUpRetry, followUpReplanFresh, followUpStop},
		{false, JobStale, PlanSuperseded, same, followUpReplan, followUpReplanFresh, followUpStop},
		{false, JobCancelled, PlanSuperseded, same, followUpReplan, followUpReplanFresh, followUpStop},
		{false, JobLost, PlanSuperseded, same, followUpReplan, followUpReplanFresh, followUpStop},
		// A runner had accepted the job.
		{true, JobSucceeded, PlanApplied, planned, followUpDone, followUpDone, followUpDone},
		{true, JobFailed, PlanFailed, unknown, followUpRetry, followUpReplanFresh, followUpStop},
		{true, JobStale, PlanStale, same, followUpReplan, followUpReplanFresh, followUpStop},
		{true, JobCancelled, PlanFailed, unknown, followUpReplan, followUpReplanFresh, followUpStop},
		{true, JobLost, PlanFailed, unknown, followUpReplan, followUpReplanFresh, followUpStop},
	} {
		for _, c := range []struct {
			moved, stopped bool
			next           followUp
		}{{false, false, row.still}, {true, false, row.moved}, {false, true, row.ending}, {true, true, row.ending}} {
			got := applyResultOf(applyObservation{row.consumed, row.job, c.moved, c.stopped})
			if want := (applyResult{row.plan, row.there, c.next}); got != want {
				t.Errorf("consumed %t, job %s, moved %t, stopped %t:\ngot  %v\nwant %v", row.consumed, row.job, c.moved,
					c.stopped, got, want)
			}
			if was := map[bool]PlanStatus{true: PlanConsumed, false: PlanApproved}[row.consumed]; !planTransitions.allows(was,
				got.plan) {
				t.Errorf("a plan that is %s would become %s", was, got.plan)
			}
		}
	}
}
