package workflow

// This file is the recovery function: it decides what follows from an apply that has
// ended or was lost. It decides from what is observed (the plan, how the job ended,
// the current desired state), never from what was intended.

// applyObservation holds what is known of an apply whose job has ended or no longer exists.
type applyObservation struct {
	consumed   bool      // its plan was consumed: the runner may have done anything up to all of it
	job        JobStatus // how its job ended; JobLost if it no longer exists
	superseded bool      // the plan no longer leads to the desired state
	cancelled  bool      // a person cancelled the workflow
}

// appliedClaim is what may be recorded as applied after an apply. It always rests on evidence.
type appliedClaim string

const (
	claimUnchanged appliedClaim = "what was there before"  // nothing was done
	claimPlanned   appliedClaim = "what was planned"       // the runner reported that it did all of it
	claimUnknown   appliedClaim = "unknown until observed" // anything up to all of it was done
)

// followUp is what happens to the component's group.
type followUp string

const (
	followUpDone        followUp = "done"
	followUpReplanFresh followUp = "planned for the current desired state" // its tries start from zero
	// it was interrupted: up to maxInterruptedTries times
	followUpReplan followUp = "planned again, with a new approval"
	followUpRetry  followUp = "planned again, with a new approval, if it " +
		"may" // it failed: as often as the component is configured to
	followUpStop followUp = "left " +
		"alone" // a person cancelled it; a person starts it again
)

// applyResult is the result of the recovery function.
type applyResult struct {
	plan    PlanStatus // what becomes of the plan
	applied appliedClaim
	next    followUp
}

// applyResultOf is the recovery function. It covers every possible observation. A plan
// that was consumed is never applied again; if it is not known what happened, a new
// plan shows it, and is approved again.
func applyResultOf(o applyObservation) applyResult {
	a := applyResult{plan: PlanSuperseded, applied: claimUnchanged, next: followUpReplan}
	switch {
	case !o.consumed:
		if o.job == JobFailed {
			a.next = followUpRetry
		}
	case o.job == JobSucceeded:
		return applyResult{PlanApplied, claimPlanned, followUpDone}
	case o.job == JobStale:
		a = applyResult{PlanStale, claimUnchanged, followUpReplan}
	case o.job == JobFailed:
		a = applyResult{PlanFailed, claimUnknown, followUpRetry}
	default:
		a = applyResult{PlanFailed, claimUnknown, followUpReplan}
	}
	switch {
	case o.cancelled:
		a.next = followUpStop
	case o.superseded:
		a.next = followUpReplanFresh
	}
	return a
}
