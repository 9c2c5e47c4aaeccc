package workflow

import "fmt"

// This file holds what can happen to a whole group.

// note writes why a pending step waits, once.
func (in group) note(s *Step, why string) []Command {
	if s.Reason == why {
		return nil
	}
	return []Command{Set{s.ID, s.Status, why}}
}

// stop tells a job to end, once. What follows is decided when it has.
func (in group) stop(s *Step, why string) []Command {
	if s.Job.Cancelling {
		return nil
	}
	return []Command{Stop{s.ID, why}}
}

// settle ends a group that has nothing to apply, well.
func (in group) settle(why string) []Command {
	todo := []Command{
		Set{in.plan.ID, StepSucceeded, why},
		Set{in.approve.ID, StepSkipped, why},
		Set{in.apply.ID, StepSkipped, why},
	}
	if in.sync != nil && !in.sync.Status.Ended() {
		return append([]Command{Set{in.sync.ID, StepSkipped, why}}, todo...)
	}
	return todo
}

// skip ends a group that has not begun.
func (in group) skip(why string) []Command {
	var todo []Command
	for _, s := range in.steps() {
		if !s.Status.Ended() {
			todo = append(todo, Set{s.ID, StepSkipped, why})
		}
	}
	return todo
}

// close ends what is left of a group whose way is blocked.
func (in group) close(why string) []Command {
	var todo []Command
	if plan := in.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, EndPlan{in.plan.ID, PlanSuperseded, why})
	}
	return append(todo, in.skip(why)...)
}

// withdraw takes back a plan that no longer leads to what is wanted, and begins anew.
func (in group) withdraw(why string) []Command {
	var todo []Command
	if plan := in.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, EndPlan{in.plan.ID, PlanSuperseded, why})
	}
	return append(todo, Again{Component: in.plan.Component, Fresh: true, Reason: why})
}

// tryAgain begins a group anew that did not end well, or stalls it. What was interrupted, lost or stale (broken) has not been tried
// in earnest, so it is begun up to mostRuns times; a failure only as often as its component asks for. Neither counts for the other.
func (in group) tryAgain(why string, broken bool) []Command {
	again := Again{Component: in.plan.Component, Broken: broken, Reason: why}
	if in.moved(in.desired()) != "" {
		again.Fresh = true
		return []Command{again}
	}
	first := in.setBack(again)[0]
	tries, most := first.Tries-first.Broken, 1+in.want.Retries
	if broken {
		tries, most = first.Broken+1, mostRuns
	}
	if tries < most {
		again.Reason = fmt.Sprintf("%s (try %d of at most %d)", why, tries+1, most)
		return []Command{again}
	}
	if most > 1 {
		why = fmt.Sprintf("%s (after %d tries)", why, tries)
	}
	return in.fail(why)
}

// cannot ends what a step that cannot be begun is part of, and remembers it: only a person, or something newer, begins it again.
func (g *Graph) cannot(s *Step, by Unavailable) []Command {
	why := by.Reason
	switch {
	case s.Kind == StepAction && by.Gone && (s.before() || s.after()):
		return []Command{Set{s.ID, StepSkipped, why}}
	case s.Kind == StepAction:
		return []Command{Set{s.ID, StepFailed, why}}
	}
	in := g.group(s.Component)
	if g.PlanOnly {
		return in.unseen(StepFailed, why)
	}
	var todo []Command
	if plan := in.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, EndPlan{in.plan.ID, PlanSuperseded, why})
	}
	return append(todo, in.fail(why)...)
}

// fail ends a group that stalls, and remembers why: the same is not tried again until a person asks.
func (in group) fail(why string) []Command {
	todo := in.no(RefusalStalled, "", why)
	to := StepFailed
	for _, s := range in.steps() {
		if s.Status == StepSucceeded {
			continue
		}
		todo = append(todo, Set{s.ID, to, why})
		to = StepSkipped
	}
	return todo
}

// no remembers against what the group works towards that nobody is to be asked about it again; a no that was said before stays.
func (in group) no(kind RefusalKind, actor, why string) []Command {
	desired := in.desired()
	if desired == "" || desired == in.want.Digest && in.want.Refused != "" {
		return nil
	}
	return []Command{Refuse{in.plan.Component, desired, kind, actor, why}}
}

// desired is the digest that the group works towards.
func (in group) desired() string {
	switch {
	case in.plan.Plan != nil:
		return in.plan.Plan.Desired
	case in.plan.Job != nil:
		return in.plan.Job.Desired
	case in.sync != nil && in.sync.Job != nil:
		return in.sync.Job.Desired
	}
	return in.want.Digest
}

// noReason stands where a person gave none.
const noReason = "no reason given"

func (c Cancellation) words() string {
	return fmt.Sprintf("cancelled by %s: %s", c.Actor, sentence(c.Reason, noReason))
}

// cancel ends a group because a person ended the workflow: its job first, then what is left of it. What was done is kept.
func (in group) cancel(by Cancellation) []Command {
	if in.ended() {
		return nil
	}
	why, words := sentence(by.Reason, noReason), by.words()
	for _, s := range in.steps() {
		if s.Status == StepRunning && s.open() {
			return in.stop(s, words)
		}
	}
	o := observed{stopped: true, job: JobLost}
	if in.apply.Status == StepRunning {
		o.consumed = in.plan.Plan.Status == PlanConsumed
		if in.apply.Job != nil {
			o.job = in.apply.Job.Status
		}
	}
	after := aftermathOf(o)
	if after.next == nextDone {
		return in.afterApply(o, "")
	}
	if plan := in.plan.Plan; plan != nil && plan.Status == PlanEmpty {
		return in.settle(in.g.unchanged())
	}
	if plan := in.plan.Plan; plan != nil && plan.Status == PlanRejected && in.approve.Status == StepWaiting {
		return in.asking() // the no to this plan came first
	}
	var todo []Command
	if plan := in.plan.Plan; plan != nil && (plan.Status.Live() || plan.Status == PlanConsumed) {
		todo = append(todo, EndPlan{in.plan.ID, after.plan, words})
	}
	if in.moved(in.desired()) == "" && !in.want.Current {
		todo = append(todo, in.no(RefusalCancelled, by.Actor, why)...)
	}
	for _, s := range in.steps() {
		if !s.Status.Ended() {
			todo = append(todo, Set{s.ID, StepCancelled, words})
		}
	}
	return todo
}
