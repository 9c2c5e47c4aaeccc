package workflow

import (
	"fmt"
	"strings"
)

// before reports whether the step is an action that must succeed before the
// change that it precedes, after whether it is one that follows a change.
// Both read the trigger. An action that a person requested is neither.
func (s *Step) before() bool { return s.Kind == StepAction && strings.HasPrefix(s.Trigger, "pre-") }
func (s *Step) after() bool  { return s.Kind == StepAction && strings.HasPrefix(s.Trigger, "post-") }

// ill reports whether an action ended without success. A skipped action does not count: either
// a person chose to continue without it, or the change that it belongs to was skipped as well.
func (s *Step) ill() bool {
	return s.Kind == StepAction && (s.Status == StepFailed || s.Status == StepCancelled)
}

// act advances an action's step. An action may have effects that cannot be observed, so it is never
// rerun automatically, however often its component is planned again.
func (g *Graph) act(s *Step) []Command {
	switch {
	case s.Status.Ended():
		return nil
	case s.Status == StepRunning:
		return g.acting(s)
	case g.Cancelled != nil:
		return []Command{Set{s.ID, StepCancelled, "cancelled by " + g.Cancelled.Actor}}
	}
	for _, id := range s.Needs {
		need := g.step(id)
		if need == nil || !need.Status.Ended() {
			return s.unasked("comes after what is done again")
		}
		if why := g.pointless(s, need); why != "" {
			return []Command{Set{s.ID, StepSkipped, why}}
		}
	}
	in := g.group(s.Component)
	switch {
	case s.after() && g.idle(s):
		return []Command{Set{s.ID, StepSkipped, "nothing was " + verb(s.Destroy)}}
	case s.before() && in.plan != nil && in.apply.Status.Ended():
		return []Command{Set{s.ID, StepSkipped, fmt.Sprintf("%s is not %s: %s", s.Component, verb(s.Destroy),
			in.apply.Reason)}}
	case g.tooSoon(s) != "": // its component is about to be planned again, or waits
		return s.unasked(g.tooSoon(s))
	}
	return g.run(s)
}

// pointless returns why an action must be skipped, given that a step which it needs
// has ended, or "" if it may run.
func (g *Graph) pointless(s, need *Step) string {
	switch need.Kind {
	case StepAction:
		if need.ill() {
			return fmt.Sprintf("action %s, which comes first, did not succeed: %s", need.Action, need.Reason)
		}
	case StepApprove:
		if need.Status != StepSucceeded {
			return fmt.Sprintf("%s is not %s: %s", need.Component, verb(need.Destroy), need.Reason)
		}
	default:
		if !g.done(need) {
			return fmt.Sprintf("%s was not %s: %s", need.Component, verb(need.Destroy), need.Reason)
		}
		if need.Component == s.Component && !need.touched() {
			return fmt.Sprintf("nothing was %s: %s", verb(need.Destroy), need.Reason)
		}
	}
	return ""
}

// idle reports whether none of the applies that an action follows changed anything.
func (g *Graph) idle(s *Step) bool {
	applies := 0
	for _, id := range s.Needs {
		need := g.step(id)
		if need.Kind != StepApply {
			continue
		}
		if applies++; need.touched() {
			return false
		}
	}
	return applies > 0
}

// touched reports whether an apply step, or an earlier attempt of it, may have changed anything.
func (s *Step) touched() bool { return s.Status == StepSucceeded || s.Begun }

// ready reports whether the group's plan may be applied as soon as the actions before it have run.
func (in group) ready() bool {
	plan := in.plan.Plan
	return in.approve.Status == StepSucceeded && in.apply.Status == StepPending && plan != nil &&
		plan.Status == PlanApproved &&
		in.moved(plan.Desired) == "" && in.lapsed() == "" && !in.held()
}

// tooSoon returns why an action that has not started must not start now: it precedes
// an apply, and the approved plan no longer leads to the desired state. It returns ""
// if the action may start.
func (g *Graph) tooSoon(s *Step) string {
	if in := g.group(s.Component); s.before() && in.plan != nil && !in.ready() {
		return "the plan of " + s.Component + " that was approved does not lead to what is wanted any more"
	}
	return ""
}

// before returns an action before the group's apply that did not succeed, and one
// that has not ended; each is nil if there is none.
func (in group) before() (ill, unended *Step) {
	for _, id := range in.apply.Needs {
		need := in.g.step(id)
		switch {
		case need == nil || !need.before():
		case need.ill():
			ill = need
		case !need.Status.Ended():
			unended = need
		}
	}
	return ill, unended
}

// stopped ends a group because an action before it did not succeed. It records a refusal, as for a
// plan that failed or was rejected.
func (in group) stopped(by *Step) []Command {
	why := fmt.Sprintf("action %s (%s) did not succeed: %s", by.Action, by.Trigger, by.Reason)
	var todo []Command
	if plan := in.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, EndPlan{in.plan.ID, PlanSuperseded, why})
	}
	kind := RefusalStalled
	if by.RejectedBy != "" {
		kind = RefusalRejected
	}
	if !in.want.Current {
		todo = append(todo, in.no(kind, by.RejectedBy, why)...)
	}
	return append(todo, in.skip(why)...)
}

// acting returns the commands for an action whose job runs or has ended.
func (g *Graph) acting(s *Step) []Command {
	if s.Job == nil {
		return []Command{Set{s.ID, StepFailed, "its job is gone"}}
	}
	switch s.Job.Status {
	case JobOpen:
		if g.Cancelled != nil && !s.Job.Cancelling {
			return []Command{Stop{s.ID, "cancelled by " + g.Cancelled.Actor}}
		}
		return nil
	case JobSucceeded:
		return []Command{Set{s.ID, StepSucceeded, "the action ran"}}
	case JobStale:
		return []Command{Set{s.ID, StepPending, sentence(s.Job.Error, "it was not begun")}}
	case JobCancelled:
		if g.Cancelled != nil {
			return []Command{Set{s.ID, StepCancelled, sentence(s.Job.Error, "the action was cancelled")}}
		}
		return []Command{Set{s.ID, StepFailed, "the action was interrupted" + unknownWork}}
	case JobLost:
		return []Command{Set{s.ID, StepFailed, "the action's process is gone without a result" + unknownWork}}
	}
	return []Command{Set{s.ID, StepFailed, sentence(s.Job.Error, "the action failed")}}
}

// unknownWork ends the reason of an action of which too little is known to run it again.
const unknownWork = "; it may have done anything up to all of its work, and is not run again by itself"
