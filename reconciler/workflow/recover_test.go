package workflow

import "testing"

// The whole of the recovery function: every end of a job, of a plan that was consumed
// or not, while the desired state is unchanged, has changed, and while a person has
// cancelled the workflow.
func TestRecoveryHasAnAnswerForAllThatCanBeObserved(t *testing.T) {
	const same, planned, unknown = claimSame, claimPlanned, claimUnknown
	for _, row := range []struct {
		consumed             bool
		job                  JobStatus
		plan                 PlanStatus
		there                claim
		still, moved, ending next // what follows
	}{
		// Nothing was done, even if the result of a job that was never accepted claims so.
		{false, JobSucceeded, PlanSuperseded, same, nextAnew, nextFresh, nextRefuse},
		{false, JobFailed, PlanSuperseded, same, nextRetry, nextFresh, nextRefuse},
		{false, JobStale, PlanSuperseded, same, nextAnew, nextFresh, nextRefuse},
		{false, JobCancelled, PlanSuperseded, same, nextAnew, nextFresh, nextRefuse},
		{false, JobLost, PlanSuperseded, same, nextAnew, nextFresh, nextRefuse},
		// A runner had accepted the job.
		{true, JobSucceeded, PlanApplied, planned, nextDone, nextDone, nextDone},
		{true, JobFailed, PlanFailed, unknown, nextRetry, nextFresh, nextRefuse},
		{true, JobStale, PlanStale, same, nextAnew, nextFresh, nextRefuse},
		{true, JobCancelled, PlanFailed, unknown, nextAnew, nextFresh, nextRefuse},
		{true, JobLost, PlanFailed, unknown, nextAnew, nextFresh, nextRefuse},
	} {
		for _, c := range []struct {
			moved, stopped bool
			next           next
		}{{false, false, row.still}, {true, false, row.moved}, {false, true, row.ending}, {true, true, row.ending}} {
			got := aftermathOf(observed{row.consumed, row.job, c.moved, c.stopped})
			if want := (aftermath{row.plan, row.there, c.next}); got != want {
				t.Errorf("consumed %t, job %s, moved %t, stopped %t:\ngot  %v\nwant %v", row.consumed, row.job, c.moved,
					c.stopped, got, want)
			}
			if was := map[bool]PlanStatus{true: PlanConsumed, false: PlanApproved}[row.consumed]; !planMoves.allows(was,
				got.plan) {
				t.Errorf("a plan that is %s would become %s", was, got.plan)
			}
		}
	}
}
