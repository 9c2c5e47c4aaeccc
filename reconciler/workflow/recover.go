package workflow

// This file is the recovery function: what is to be done about an apply that is not under way any more. It is decided from what
// is observed (the plan, how the job ended, what is wanted now), never from what was meant to happen.

// observed is what is known of an apply whose job has ended, or is gone.
type observed struct {
	consumed bool      // its plan was taken: the runner may have done anything up to all of it
	job      JobStatus // how its job ended; JobLost when it is gone
	moved    bool      // what the plan leads to is no longer what is wanted
	stopped  bool      // a person has ended the workflow
}

// claim is what may be said to be there after an apply. Nothing is claimed without evidence.
type claim string

const (
	claimSame    claim = "what was there before"    // nothing was done
	claimPlanned claim = "what was planned"         // the runner says that it did all of it
	claimUnknown claim = "unknown until it is seen" // anything up to all of it was done
)

// next is what becomes of the component's group.
type next string

const (
	nextDone   next = "done"
	nextFresh  next = "planned for what is wanted now"    // its tries count anew
	nextAnew   next = "planned and asked anew"            // it was interrupted: up to mostRuns times
	nextRetry  next = "planned and asked anew, if it may" // it failed: as often as the component asks for
	nextRefuse next = "left alone"                        // a person stopped it; a person asks again
)

// aftermath is what follows from an observation.
type aftermath struct {
	plan  PlanStatus // what becomes of the plan
	there claim
	next  next
}

// aftermathOf is the recovery function. It has an answer for whatever can be observed. A plan that was consumed is never applied
// again, and what is not known to have happened is looked at by another plan, which a person or the install's rule sees anew.
func aftermathOf(o observed) aftermath {
	a := aftermath{plan: PlanSuperseded, there: claimSame, next: nextAnew}
	switch {
	case !o.consumed:
		if o.job == JobFailed {
			a.next = nextRetry
		}
	case o.job == JobSucceeded:
		return aftermath{PlanApplied, claimPlanned, nextDone}
	case o.job == JobStale:
		a = aftermath{PlanStale, claimSame, nextAnew}
	case o.job == JobFailed:
		a = aftermath{PlanFailed, claimUnknown, nextRetry}
	default:
		a = aftermath{PlanFailed, claimUnknown, nextAnew}
	}
	switch {
	case o.stopped:
		a.next = nextRefuse
	case o.moved:
		a.next = nextFresh
	}
	return a
}
