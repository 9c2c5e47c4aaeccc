package workflow

import (
	"fmt"
	"strings"
)

// This file holds the transitions of a whole group.

// setReason records why a pending step waits, unless that reason is already recorded.
func (gr stepGroup) setReason(s *Step, why string) []Command {
	if s.Reason == why {
		return nil
	}
	return []Command{SetStatus{s.ID, s.Status, why}}
}

// cancelJob cancels a job, once. What follows is decided when the job has ended.
func (gr stepGroup) cancelJob(s *Step, why string) []Command {
	if s.Job.Cancelling {
		return nil
	}
	return []Command{CancelJob{s.ID, why}}
}

// finishUnchanged ends a group successfully that has nothing to apply.
func (gr stepGroup) finishUnchanged(why string) []Command {
	todo := []Command{
		SetStatus{gr.plan.ID, StepSucceeded, why},
		SetStatus{gr.approve.ID, StepSkipped, why},
		SetStatus{gr.apply.ID, StepSkipped, why},
	}
	if gr.sync != nil && !gr.sync.Status.Ended() {
		return append([]Command{SetStatus{gr.sync.ID, StepSkipped, why}}, todo...)
	}
	return todo
}

// skipRemaining skips the steps of a group that have not ended.
func (gr stepGroup) skipRemaining(why string) []Command {
	var todo []Command
	for _, s := range gr.steps() {
		if !s.Status.Ended() {
			todo = append(todo, SetStatus{s.ID, StepSkipped, why})
		}
	}
	return todo
}

// closeGroup skips the remaining steps of a group that cannot continue, and withdraws its plan.
func (gr stepGroup) closeGroup(why string) []Command {
	var todo []Command
	if plan := gr.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, ClosePlan{gr.plan.ID, PlanSuperseded, why})
	}
	return append(todo, gr.skipRemaining(why)...)
}

// replanFresh ends a plan that no longer leads to the desired state, and restarts the group.
func (gr stepGroup) replanFresh(why string) []Command {
	var todo []Command
	if plan := gr.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, ClosePlan{gr.plan.ID, PlanSuperseded, why})
	}
	return append(todo, Replan{Component: gr.plan.Component, Fresh: true, Reason: why})
}

// failedPrefix is the beginning of the reason of a group that is reset after a failure because its desired state
// changed.
const failedPrefix = "planned again after it failed: "

// waitText returns why a group is skipped that waits for a person or the customer. It starts with the failure after
// which the group was reset.
func (gr stepGroup) waitText() string {
	why := "waits for something that needs an action: " + gr.desired.WaitReason
	if failure, failed := strings.CutPrefix(gr.plan.Reason, failedPrefix); failed {
		return failure + "; it " + why
	}
	return why
}

// retryOrStall restarts a group that did not succeed, or stalls it. Work that was interrupted,
// lost or stale (broken) was not really tried, so it starts up to maxInterruptedTries times; a failure
// is retried only as often as its component is configured to. The two are counted separately.
func (gr stepGroup) retryOrStall(why string, broken bool) []Command {
	again := Replan{Component: gr.plan.Component, Interrupted: broken, Reason: why}
	if gr.supersededReason(gr.workedDigest()) != "" {
		again.Fresh, again.Reason = true, failedPrefix+why
		return []Command{again}
	}
	first := gr.stepsToReset(again)[0]
	tries, most := first.Tries-first.Interruptions, 1+gr.desired.Retries
	if broken {
		tries, most = first.Interruptions+1, maxInterruptedTries
	}
	if tries < most {
		again.Reason = fmt.Sprintf("%s (try %d of at most %d)", why, tries+1, most)
		return []Command{again}
	}
	if most > 1 {
		why = fmt.Sprintf("%s (after %d tries)", why, tries)
	}
	return gr.stall(why)
}

// failUnavailable ends what a step that cannot start belongs to, and records a refusal: only a
// person, or a newer desired state, starts it again.
func (g *Graph) failUnavailable(s *Step, by Unavailable) []Command {
	why := by.Reason
	switch {
	case s.Kind == StepAction && by.Gone && (s.isPreAction() || s.isPostAction()):
		return []Command{SetStatus{s.ID, StepSkipped, why}}
	case s.Kind == StepAction:
		return []Command{SetStatus{s.ID, StepFailed, why}}
	}
	gr := g.groupOf(s.Component)
	if g.PlanOnly {
		return gr.endWithoutPlan(StepFailed, why)
	}
	var todo []Command
	if plan := gr.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, ClosePlan{gr.plan.ID, PlanSuperseded, why})
	}
	return append(todo, gr.stall(why)...)
}

// stall stalls a group, and records why: the same desired state is not tried again until a person
// requests it.
func (gr stepGroup) stall(why string) []Command {
	todo := gr.recordRejection(RejectionStalled, "", why)
	to := StepFailed
	for _, s := range gr.steps() {
		if s.Status == StepSucceeded {
			continue
		}
		todo = append(todo, SetStatus{s.ID, to, why})
		to = StepSkipped
	}
	return todo
}

// recordRejection records that the group's desired digest is not to be started again automatically. An existing
// refusal stays.
func (gr stepGroup) recordRejection(kind RejectionKind, actor, why string) []Command {
	desired := gr.workedDigest()
	if desired == "" || desired == gr.desired.Digest && gr.desired.RejectionReason != "" {
		return nil
	}
	return []Command{RecordRejection{gr.plan.Component, desired, kind, actor, why}}
}

// workedDigest returns the digest that the group works towards.
func (gr stepGroup) workedDigest() string {
	switch {
	case gr.plan.Plan != nil:
		return gr.plan.Plan.DesiredDigest
	case gr.plan.Job != nil:
		return gr.plan.Job.DesiredDigest
	case gr.sync != nil && gr.sync.Job != nil:
		return gr.sync.Job.DesiredDigest
	}
	return gr.desired.Digest
}

// noReasonGiven is shown where a person gave no reason.
const noReasonGiven = "no reason given"

func (c Cancellation) text() string {
	return fmt.Sprintf("cancelled by %s: %s", c.Actor, orDefault(c.Reason, noReasonGiven))
}

// cancel ends a group because a person cancelled the workflow: first its job, then
// its remaining steps. What was done stays.
func (gr stepGroup) cancel(by Cancellation) []Command {
	if gr.ended() {
		return nil
	}
	why, words := orDefault(by.Reason, noReasonGiven), by.text()
	for _, s := range gr.steps() {
		if s.Status == StepRunning && s.hasOpenJob() {
			return gr.cancelJob(s, words)
		}
	}
	o := applyObservation{cancelled: true, job: JobLost}
	if gr.apply.Status == StepRunning {
		o.consumed = gr.plan.Plan.Status == PlanConsumed
		if gr.apply.Job != nil {
			o.job = gr.apply.Job.Status
		}
	}
	after := applyResultOf(o)
	if after.next == followUpDone {
		return gr.afterApply(o, "")
	}
	if plan := gr.plan.Plan; plan != nil && plan.Status == PlanEmpty {
		return gr.finishUnchanged(gr.g.unchangedReason())
	}
	if plan := gr.plan.Plan; plan != nil && plan.Status == PlanRejected && gr.approve.Status == StepWaiting {
		return gr.handleAnswer() // the plan was rejected first
	}
	var todo []Command
	if plan := gr.plan.Plan; plan != nil && (plan.Status.Live() || plan.Status == PlanConsumed) {
		todo = append(todo, ClosePlan{gr.plan.ID, after.plan, words})
	}
	if gr.supersededReason(gr.workedDigest()) == "" && !gr.desired.Current {
		todo = append(todo, gr.recordRejection(RejectionCancelled, by.Actor, why)...)
	}
	for _, s := range gr.steps() {
		if !s.Status.Ended() {
			todo = append(todo, SetStatus{s.ID, StepCancelled, words})
		}
	}
	return todo
}
