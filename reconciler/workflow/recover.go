package workflow

// This file is the recovery function: it decides what follows from an apply that has
// ended or was lost. It decides from what is observed (the plan, how the job ended,
// the current desired state), never from what was intended.

// observed holds what is known of an apply whose job has ended or no longer exists.
type observed struct {
	consumed bool      // its plan was consumed: the runner may have done anything up to all of it
	job      JobStatus // how its job ended; JobLost if it no longer exists
	moved    bool      // the plan no longer leads to the desired state
	stopped  bool      // a person cancelled the workflow
}

// claim is what may be recorded as applied after an apply. It always rests on evidence.
type claim string

const (
	claimSame    claim = "what was there before"    // nothing was done
	claimPlanned claim = "what was planned"         // the runner reported that it did all of it
	claimUnknown claim = "unknown until it is seen" // anything up to all of it was done
)

// next is what happens to the component's group.
type next string

const (
	nextDone   next = "done"
	nextFresh  next = "planned for what is wanted now"    // its tries start from zero
	nextAnew   next = "planned and asked anew"            // it was interrupted: up to mostRuns times
	nextRetry  next = "planned and asked anew, if it may" // it failed: as often as the component is configured to
	nextRefuse next = "left alone"                        // a person cancelled it; a person starts it again
)

// aftermath is the result of the recovery function.
type aftermath struct {
	plan  PlanStatus // what becomes of the plan
	there claim
	next  next
}

// aftermathOf is the recovery function. It covers every possible observation. A plan
// that was consumed is never applied again; if it is not known what happened, a new
// plan shows it, and is approved again.
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
