package workflow

import "fmt"

// This file holds the transitions of a whole group.

// note records why a pending step waits, unless that reason is already recorded.
func (in group) note(s *Step, why string) []Command {
	if s.Reason == why {
		return nil
	}
	return []Command{Set{s.ID, s.Status, why}}
}

// stop cancels a job, once. What follows is decided when the job has ended.
func (in group) stop(s *Step, why string) []Command {
	if s.Job.Cancelling {
		return nil
	}
	return []Command{Stop{s.ID, why}}
}

// settle ends a group successfully that has nothing to apply.
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

// skip skips the steps of a group that have not ended.
func (in group) skip(why string) []Command {
	var todo []Command
	for _, s := range in.steps() {
		if !s.Status.Ended() {
			todo = append(todo, Set{s.ID, StepSkipped, why})
		}
	}
	return todo
}

// close skips the remaining steps of a group that cannot continue, and withdraws its plan.
func (in group) close(why string) []Command {
	var todo []Command
	if plan := in.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, EndPlan{in.plan.ID, PlanSuperseded, why})
	}
	return append(todo, in.skip(why)...)
}

// withdraw ends a plan that no longer leads to the desired state, and restarts the group.
func (in group) withdraw(why string) []Command {
	var todo []Command
	if plan := in.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, EndPlan{in.plan.ID, PlanSuperseded, why})
	}
	return append(todo, Again{Component: in.plan.Component, Fresh: true, Reason: why})
}

// tryAgain restarts a group that did not succeed, or stalls it. Work that was interrupted,
// lost or stale (broken) was not really tried, so it starts up to mostRuns times; a failure
// is retried only as often as its component is configured to. The two are counted separately.
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

// cannot ends what a step that cannot start belongs to, and records a refusal: only a
// person, or a newer desired state, starts it again.
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

// fail stalls a group, and records why: the same desired state is not tried again until a person
// requests it.
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

// no records that the group's desired digest is not to be started again automatically. An existing
// refusal stays.
func (in group) no(kind RefusalKind, actor, why string) []Command {
	desired := in.desired()
	if desired == "" || desired == in.want.Digest && in.want.Refused != "" {
		return nil
	}
	return []Command{Refuse{in.plan.Component, desired, kind, actor, why}}
}

// desired returns the digest that the group works towards.
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

// noReason is shown where a person gave no reason.
const noReason = "no reason given"

func (c Cancellation) words() string {
	return fmt.Sprintf("cancelled by %s: %s", c.Actor, sentence(c.Reason, noReason))
}

// cancel ends a group because a person cancelled the workflow: first its job, then
// its remaining steps. What was done stays.
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
		return in.asking() // the plan was rejected first
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
