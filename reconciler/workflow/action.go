package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// isPreAction reports whether the step is an action that must succeed before the
// change that it precedes, after whether it is one that follows a change.
// Both read the trigger. An action that a person requested is neither.
func (s *Step) isPreAction() bool {
	return s.Kind == StepAction && strings.HasPrefix(s.Trigger, "pre-")
}
func (s *Step) isPostAction() bool {
	return s.Kind == StepAction && strings.HasPrefix(s.Trigger, "post-")
}

// endedBadly reports whether an action ended without success. A skipped action does not count: either
// a person chose to continue without it, or the change that it belongs to was skipped as well.
func (s *Step) endedBadly() bool {
	return s.Kind == StepAction && (s.Status == StepFailed || s.Status == StepCancelled)
}

// advanceAction advances an action's step. An action may have effects that cannot be observed, so it is never
// rerun automatically, however often its component is planned again.
func (g *Graph) advanceAction(s *Step) []Command {
	switch {
	case s.Status.Ended():
		return nil
	case s.Status == StepRunning:
		return g.handleActionJob(s)
	case g.Cancelled != nil:
		return []Command{SetStatus{s.ID, StepCancelled, "cancelled by " + g.Cancelled.Actor}}
	}
	for _, id := range s.Needs {
		need := g.stepByID(id)
		if need == nil || !need.Status.Ended() {
			return s.stopWaiting("runs after what is retried")
		}
		if why := g.actionSkipReason(s, need); why != "" {
			return []Command{SetStatus{s.ID, StepSkipped, why}}
		}
	}
	gr := g.groupOf(s.Component)
	switch {
	case s.isPostAction() && g.nothingApplied(s):
		return []Command{SetStatus{s.ID, StepSkipped, "nothing was " + pastVerb(s.Destroy)}}
	case s.isPreAction() && gr.plan != nil && gr.apply.Status.Ended():
		return []Command{SetStatus{s.ID, StepSkipped, fmt.Sprintf("%s is not %s: %s", s.Component, pastVerb(s.Destroy),
			gr.apply.Reason)}}
	case g.notReadyReason(s) != "": // its component is about to be planned again, or waits
		return s.stopWaiting(g.notReadyReason(s))
	}
	return g.startAction(s)
}

// actionSkipReason returns why an action must be skipped, given that a step which it needs
// has ended, or "" if it may run.
func (g *Graph) actionSkipReason(s, need *Step) string {
	switch need.Kind {
	case StepAction:
		// Before a plan, actions after other components must only have ended.
		if need.endedBadly() && (need.isPreAction() || !g.groupOf(s.Component).runsBeforePlan(s)) {
			return fmt.Sprintf("action %s, which comes first, did not succeed: %s", need.Action, need.Reason)
		}
	case StepApprove:
		if need.Status != StepSucceeded {
			return fmt.Sprintf("%s is not %s: %s", need.Component, pastVerb(need.Destroy), need.Reason)
		}
	default:
		if !g.isDone(need) {
			return g.missingReason(need)
		}
		if need.Component == s.Component && !need.mayHaveChanged() {
			return fmt.Sprintf("nothing was %s: %s", pastVerb(need.Destroy), need.Reason)
		}
	}
	return ""
}

// nothingApplied reports whether none of the applies that an action follows changed anything.
func (g *Graph) nothingApplied(s *Step) bool {
	applies := 0
	for _, id := range s.Needs {
		need := g.stepByID(id)
		if need.Kind != StepApply {
			continue
		}
		if applies++; need.mayHaveChanged() {
			return false
		}
	}
	return applies > 0
}

// mayHaveChanged reports whether an apply step, or an earlier attempt of it, may have changed anything.
func (s *Step) mayHaveChanged() bool { return s.Status == StepSucceeded || s.EarlierApplyFailed }

// readyToApply reports whether the group's plan may be applied as soon as the actions before it have run.
func (gr stepGroup) readyToApply() bool {
	plan := gr.plan.Plan
	return gr.approve.Status == StepSucceeded && gr.apply.Status == StepPending && plan != nil &&
		plan.Status == PlanApproved &&
		gr.planSupersededReason() == "" && gr.ruleLapsed() == "" && !gr.mustWait()
}

// notReadyReason returns why an action that has not started must not start now: it precedes
// an apply, and the approved plan no longer leads to the desired state, or it precedes a plan
// that is not to be made now. It returns "" if the action may start.
func (g *Graph) notReadyReason(s *Step) string {
	gr := g.groupOf(s.Component)
	switch {
	case !s.isPreAction() || gr.plan == nil:
		return ""
	case gr.runsBeforePlan(s):
		if !gr.readyToPlan() {
			return s.Component + " is not planned now"
		}
	case !gr.readyToApply():
		return "the plan of " + s.Component + " that was approved no longer leads to the desired state"
	}
	return ""
}

// runsBeforePlan reports whether the group's first step waits for one of the group's own actions.
func (gr stepGroup) runsBeforePlan(s *Step) bool {
	return gr.plan != nil && s.Component == gr.plan.Component && slices.Contains(gr.steps()[0].Needs, s.ID)
}

// readyToPlan reports whether the group starts as soon as the steps that it needs have ended.
func (gr stepGroup) readyToPlan() bool {
	w := gr.desired
	return w.Absent == gr.plan.Destroy && !w.Current && w.WaitReason == "" && w.RejectionReason == ""
}

// ownPreActions returns the group's own actions before its plan and before its apply.
func (gr stepGroup) ownPreActions() (all []*Step) {
	for _, s := range []*Step{gr.steps()[0], gr.apply} {
		if s == nil {
			continue // nothing is applied
		}
		for _, id := range s.Needs {
			if need := gr.g.stepByID(id); need != nil && need.isPreAction() && need.Component == gr.plan.Component {
				all = append(all, need)
			}
		}
	}
	return all
}

// preActions returns an action before the group's plan or apply that did not succeed, and one
// that has not ended; each is nil if there is none.
func (gr stepGroup) preActions() (ill, unended *Step) {
	for _, need := range gr.ownPreActions() {
		switch {
		case need.endedBadly():
			ill = need
		case !need.Status.Ended():
			unended = need
		}
	}
	return ill, unended
}

// stopForAction ends a group because an action before it did not succeed. It records a refusal, as for a
// plan that failed or was rejected.
func (gr stepGroup) stopForAction(by *Step) []Command {
	why := fmt.Sprintf("action %s (%s) did not succeed: %s", by.Action, by.Trigger, by.Reason)
	var todo []Command
	if plan := gr.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, ClosePlan{gr.plan.ID, PlanSuperseded, why})
	}
	kind := RejectionStalled
	if by.RejectedBy != "" {
		kind = RejectionByPerson
	}
	if !gr.desired.Current {
		todo = append(todo, gr.recordRejection(kind, by.RejectedBy, why)...)
	}
	return append(todo, gr.skipRemaining(why)...)
}

// handleActionJob returns the commands for an action whose job runs or has ended.
func (g *Graph) handleActionJob(s *Step) []Command {
	if s.Job == nil {
		return []Command{SetStatus{s.ID, StepFailed, "its job was deleted"}}
	}
	switch s.Job.Status {
	case JobOpen:
		if g.Cancelled != nil && !s.Job.Cancelling {
			return []Command{CancelJob{s.ID, "cancelled by " + g.Cancelled.Actor}}
		}
		return nil
	case JobSucceeded:
		return []Command{SetStatus{s.ID, StepSucceeded, "the action ran"}}
	case JobStale:
		return []Command{SetStatus{s.ID, StepPending, orDefault(s.Job.Error, "it did not start")}}
	case JobCancelled:
		if g.Cancelled != nil {
			return []Command{SetStatus{s.ID, StepCancelled, orDefault(s.Job.Error, "the action was cancelled")}}
		}
		return []Command{SetStatus{s.ID, StepFailed, "the action was interrupted" + unknownWorkSuffix}}
	case JobLost:
		return []Command{SetStatus{s.ID, StepFailed, "the action's process ended without a result" + unknownWorkSuffix}}
	}
	return []Command{SetStatus{s.ID, StepFailed, orDefault(s.Job.Error, "the action failed")}}
}

// unknownWorkSuffix ends the reason of an action of which too little is known to run it again.
const unknownWorkSuffix = "; it may have done part or all of its work, and is not rerun automatically"
