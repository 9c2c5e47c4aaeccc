package workflow

import (
	"cmp"
	"fmt"
)

// maxInterruptedTries bounds how often a group starts for one desired digest and is interrupted. Each lost or
// stale apply is planned again, and that must end. The component's own retries after failures are
// counted separately.
const maxInterruptedTries = 5

// Advance returns the commands to run next, in order. It returns none while the workflow
// waits for a job, a person or another workflow. The caller applies the commands and calls
// Advance again until it returns none. It is pure: equal graphs give equal commands.
//
// Its invariants (checked by the properties in invariants_test.go):
//   - A component has at most one apply at a time.
//   - No apply runs without its own plan, approved by a person, by an approver's rule for
//     the workflow or by the install's rule. No rule approves what a person rejected before.
//   - No plan is applied twice.
//   - Every history ends.
//   - What needs a component that was not deployed is skipped; the rest continues.
//   - A lost apply is planned and approved again.
//   - If an action before a change fails, the change is not made. An action after a change
//     runs only if the change succeeded.
//   - No action is rerun automatically, or runs before an approver has approved, for this
//     install, the digest of its script.
func Advance(g *Graph) []Command {
	if g.Status != Running {
		return nil
	}
	if g.PlanOnly {
		return g.advancePlanOnly()
	}
	var commands []Command
	for _, gr := range g.groups() {
		if g.Cancelled != nil {
			commands = append(commands, gr.cancel(*g.Cancelled)...)
			continue
		}
		commands = append(commands, gr.nextCommands()...)
	}
	commands = append(commands, g.advanceActions()...)
	if len(commands) == 0 {
		commands = g.withdrawUnneededRequest()
	}
	if len(commands) == 0 && g.allEnded() {
		return []Command{g.finalResult()}
	}
	return commands
}

func (g *Graph) allEnded() bool {
	for _, s := range g.Steps {
		if !s.Status.Ended() {
			return false
		}
	}
	return true
}

// nextCommands returns the commands for the group's current step.
func (gr stepGroup) nextCommands() []Command {
	switch {
	case gr.ended():
		return nil
	case gr.sync != nil && gr.sync.Status == StepPending:
		return gr.startFirstStep(gr.sync)
	case gr.sync != nil && gr.sync.Status == StepRunning:
		return gr.handleSyncJob()
	case gr.sync != nil && gr.sync.Status != StepSucceeded:
		return gr.closeGroup("the sync ended as " + string(gr.sync.Status))
	case gr.plan.Status == StepPending:
		return gr.startPlan()
	case gr.plan.Status == StepRunning:
		return gr.handlePlanJob()
	case gr.plan.Status != StepSucceeded || gr.plan.Plan == nil:
		// A plan step that ends otherwise ends its group at the same time. A group
		// that is half ended is closed, never waited for.
		return gr.closeGroup("the plan ended as " + string(gr.plan.Status))
	case gr.approve.Status == StepPending:
		return gr.startApproval()
	case gr.approve.Status == StepWaiting:
		return gr.handleAnswer()
	case gr.apply.Status == StepPending:
		return gr.startApply()
	case gr.apply.Status == StepRunning:
		return gr.handleApplyJob()
	}
	return gr.closeGroup("the approval ended as " + string(gr.approve.Status))
}

// startFirstStep starts a group with its sync or plan, once the steps that it needs have succeeded and the
// desired state is known.
func (gr stepGroup) startFirstStep(first *Step) []Command {
	actionRuns := false
	for _, id := range first.Needs {
		need := gr.g.stepByID(id)
		switch {
		case need != nil && !need.Status.Ended() && need.isPreAction() && need.Component == gr.plan.Component:
			actionRuns = true
		case need == nil || !need.Status.Ended():
			return nil
		case need.isPreAction() && need.endedBadly():
			return gr.stopForAction(need)
		case need.Kind == StepAction:
		case !gr.g.isDone(need):
			return gr.skipRemaining(gr.g.missingReason(need))
		}
	}
	switch w := gr.desired; {
	case w.Absent != gr.plan.Destroy:
		return gr.skipRemaining(gr.supersededReason(""))
	case w.Current:
		return gr.finishUnchanged("nothing to do: " + gr.plan.Component + " is up to date")
	case w.WaitReason != "" && w.Stalled:
		return gr.skipRemaining(gr.waitText())
	case w.WaitReason != "":
		return gr.setReason(first, "waits: "+w.WaitReason)
	case w.RejectionReason != "":
		return gr.skipRemaining(w.RejectionReason)
	}
	if ill, _ := gr.preActions(); ill != nil {
		return gr.stopForAction(ill) // it ran for a plan that was withdrawn since
	}
	if actionRuns {
		return nil
	}
	return []Command{StartStep{first.ID, gr.desired.Reason}}
}

// handleSyncJob waits for the job that copies the artifact, and handles its end.
func (gr stepGroup) handleSyncJob() []Command {
	job := gr.sync.Job
	if job == nil {
		return gr.retryOrStall("its job was deleted", true)
	}
	moved := gr.supersededReason(job.DesiredDigest)
	switch {
	case job.Status == JobOpen && moved == "":
		return nil
	case job.Status == JobOpen:
		return gr.cancelJob(gr.sync, moved)
	case moved != "":
		return gr.replanFresh(moved)
	case job.Status == JobSucceeded:
		return []Command{SetStatus{gr.sync.ID, StepSucceeded, job.syncReason()}}
	case job.wasCancelled():
		return gr.replanFresh(revertedReason)
	case job.Status == JobLost, job.Status == JobStale:
		return gr.retryOrStall("the job that copied its artifact was lost", true)
	}
	return gr.retryOrStall(orDefault(job.Error, "the sync failed"), false)
}

// revertedReason is the reason for a job that was stopped although nobody cancelled
// it: the desired state changed and changed back while the job was stopping.
const revertedReason = "its job was stopped because the desired state changed"

// synced is the reason of a sync that copied the artifact, and syncedByPlanReason that of a
// sync whose work the plan does.
const (
	syncedReason       = "its artifact is in the install's registry"
	syncedByPlanReason = "skipped: the plan copies what is missing"
)

// syncReason returns the reason of a sync that succeeded.
func (j *Job) syncReason() string {
	if j.CopiedByPlan {
		return syncedByPlanReason
	}
	return syncedReason
}

// startPlan starts the plan for the desired digest that was synced.
func (gr stepGroup) startPlan() []Command {
	if gr.sync == nil {
		return gr.startFirstStep(gr.plan)
	}
	synced := gr.syncedDigest()
	if synced == "" {
		return gr.replanFresh("the purpose of the copied artifact is unknown")
	}
	if moved := gr.supersededReason(synced); moved != "" {
		return gr.replanFresh(moved)
	}
	return gr.startFirstStep(gr.plan)
}

// syncedDigest returns the desired digest for which the group's artifact was copied, or "" if it is not
// recorded.
func (gr stepGroup) syncedDigest() string {
	if gr.sync == nil || gr.sync.Status != StepSucceeded || gr.sync.Job == nil {
		return ""
	}
	return gr.sync.Job.DesiredDigest
}

// handlePlanJob waits for the plan job, and handles its end.
func (gr stepGroup) handlePlanJob() []Command {
	job := gr.plan.Job
	if job == nil {
		return gr.retryOrStall("its job was deleted", true)
	}
	moved := gr.supersededReason(job.DesiredDigest)
	if job.Status == JobOpen {
		if moved == "" {
			return nil
		}
		return gr.cancelJob(gr.plan, moved)
	}
	plan := gr.plan.Plan
	if plan != nil {
		moved = gr.planSupersededReason()
	}
	switch {
	case moved != "":
		return gr.replanFresh(moved)
	case plan != nil && plan.Status == PlanEmpty:
		return gr.finishUnchanged(gr.g.unchangedReason())
	case job.Status == JobSucceeded && plan != nil:
		return []Command{SetStatus{gr.plan.ID, StepSucceeded, "the plan is ready"}}
	case job.wasCancelled():
		return gr.replanFresh(revertedReason)
	case job.Status == JobStale:
		return gr.retryOrStall(orDefault(job.Error, "what it planned has changed"), true)
	case job.Status == JobLost:
		return gr.retryOrStall("the job that planned it was lost", true)
	case job.Status == JobSucceeded:
		return gr.retryOrStall(orDefault(gr.plan.Reason, "the runner's result contains no plan"), false)
	}
	return gr.retryOrStall(orDefault(job.Error, "the plan failed"), false)
}

// startApproval requests an approval, or approves the plan by a rule.
func (gr stepGroup) startApproval() []Command {
	plan := gr.plan.Plan
	if moved := gr.planSupersededReason(); moved != "" {
		return gr.replanFresh(moved)
	}
	if plan.Status != PlanReady {
		return gr.replanFresh("its plan is " + string(plan.Status))
	}
	if ill, _ := gr.preActions(); ill != nil {
		return gr.stopForAction(ill)
	}
	if gr.mustWait() {
		return gr.setReason(gr.approve, "waits: "+gr.desired.WaitReason)
	}
	approve, why := gr.approveByRule(plan)
	if approve != nil {
		return []Command{approve}
	}
	return []Command{RequestApproval{gr.approve.ID, why}}
}

// approves reports whether the rule approves a plan, with the reason. individual is why the plan requires an individual
// approval; empty if it does not.
func (r Rule) approves(destructive bool, individual string) (bool, string) {
	switch {
	case !r.ApproveAll:
		return false, "this install requires approval for every change"
	case individual != "":
		return false, individual
	case destructive && !r.AllowDestroy:
		return false, "the plan deletes or replaces something, which this install does not allow without approval"
	case destructive:
		return true, r.text("approve-all, allow_destroy")
	}
	return true, r.text("approve-all")
}

// text describes an automatic approval: the settings behind it, and who set them.
func (r Rule) text(settings string) string {
	if r.By == "" {
		return "approved by the install's rule (" + settings + ")"
	}
	return "approved by the install's rule (" + settings + ", set by " + r.By + ")"
}

// ruleLapsed returns why the rule that approved the group's plan would not approve it
// now. It returns "" if the rule still would, or if a person approved the plan.
func (gr stepGroup) ruleLapsed() string {
	return gr.g.approvalRules().lapsed(gr.plan.Plan, gr.plan.Destroy)
}

// handleAnswer handles the answer to the approval request.
func (gr stepGroup) handleAnswer() []Command {
	plan := gr.plan.Plan
	switch plan.Status {
	case PlanApproved:
		return []Command{SetStatus{gr.approve.ID, StepSucceeded, decisionText("approved", plan)}}
	case PlanRejected:
		no := decisionText("rejected", plan)
		return []Command{
			RecordRejection{gr.plan.Component, plan.DesiredDigest, RejectionByPerson, plan.DecidedBy, plan.DecisionReason},
			RejectStep{gr.approve.ID, plan.DecidedBy, no},
			SetStatus{gr.apply.ID, StepSkipped, no},
		}
	case PlanReady:
		if moved := gr.planSupersededReason(); moved != "" {
			return gr.replanFresh(moved)
		}
		// the rule is newer than the request
		if approve, _ := gr.approveByWorkflowRule(plan); approve != nil && !gr.mustWait() {
			return []Command{approve}
		}
		return nil
	}
	return gr.replanFresh("its plan is " + string(plan.Status))
}

// startApply starts the apply of the approved plan if the plan still leads to the desired state.
func (gr stepGroup) startApply() []Command {
	plan := gr.plan.Plan
	if moved := gr.planSupersededReason(); moved != "" {
		return gr.replanFresh(moved)
	}
	if plan.Status != PlanApproved {
		return gr.replanFresh("its plan is " + string(plan.Status))
	}
	if lapsed := gr.ruleLapsed(); lapsed != "" {
		return gr.replanFresh(lapsed)
	}
	ill, unended := gr.preActions()
	switch {
	case ill != nil:
		return gr.stopForAction(ill)
	case gr.mustWait():
		return gr.setReason(gr.apply, "waits: "+gr.desired.WaitReason)
	case unended != nil:
		return gr.setReason(gr.apply, "comes after action "+unended.Action)
	}
	return []Command{StartStep{gr.apply.ID, decisionText("approved", plan)}}
}

// handleApplyJob waits for the apply, and handles its end. Once the plan is
// consumed, a change of the desired state waits until the apply has ended.
func (gr stepGroup) handleApplyJob() []Command {
	job, plan := gr.apply.Job, gr.plan.Plan
	moved, waits := gr.planSupersededReason(), ""
	if plan.Status != PlanConsumed && moved == "" {
		switch moved = gr.ruleLapsed(); {
		case gr.desired.NoRole:
			waits = "waits: " + gr.desired.WaitReason
		case gr.mustWait():
			moved = "withdrawn: " + gr.desired.WaitReason
		}
	}
	if job != nil && job.Status == JobOpen {
		if why := cmp.Or(moved, waits); why != "" && plan.Status != PlanConsumed {
			return gr.cancelJob(gr.apply, why)
		}
		return nil
	}
	if job != nil && plan.Status == PlanApproved && moved == "" && gr.stoppedForRole(job) {
		return []Command{PostponeApply{gr.apply.ID, orDefault(waits, "its role can be assumed again")}}
	}
	o := applyObservation{consumed: plan.Status == PlanConsumed, job: JobLost, superseded: moved != ""}
	if job != nil {
		o.job = job.Status
	}
	return gr.afterApply(o, moved)
}

// stoppedForRole reports whether the job of an apply ended before it started because its role cannot be
// assumed, or could not when it was stopped.
func (gr stepGroup) stoppedForRole(job *Job) bool {
	return gr.desired.NoRole && job.Status == JobStale || job.wasCancelled()
}

// afterApply returns the commands that follow an apply that has ended.
func (gr stepGroup) afterApply(o applyObservation, moved string) []Command {
	a, why := applyResultOf(o), gr.applyOutcome(o)
	todo := []Command{ClosePlan{gr.plan.ID, a.plan, why}}
	switch a.next {
	case followUpDone:
		return append(todo, SetStatus{gr.apply.ID, StepSucceeded, why})
	case followUpReplanFresh:
		if !o.consumed {
			return gr.replanFresh(moved)
		}
		return append(todo, Replan{Component: gr.plan.Component, Fresh: true, Reason: why})
	}
	return append(todo, gr.retryOrStall(why, a.next == followUpReplan)...)
}

// applyOutcome describes the result of an apply in one sentence.
func (gr stepGroup) applyOutcome(o applyObservation) string {
	jobError := ""
	if gr.apply.Job != nil {
		jobError = gr.apply.Job.Error
	}
	switch {
	case !o.consumed && o.job == JobCancelled:
		return "its apply was stopped before it started"
	case !o.consumed:
		return orDefault(jobError, "its apply did not start")
	case o.job == JobSucceeded && gr.g.Kind == KindRestore:
		return "the state of " + gr.plan.Component + " is restored; what follows from that is planned next"
	case o.job == JobSucceeded:
		return gr.plan.Component + " is " + pastVerb(gr.plan.Destroy)
	case o.job == JobStale:
		return "the plan was stale: " + orDefault(jobError, "something changed between plan and apply")
	case o.job == JobCancelled:
		return "its apply was interrupted; it is planned again"
	case o.job == JobFailed:
		return orDefault(jobError, "the apply failed")
	}
	return "its apply was lost; it is planned again"
}

// unchangedReason returns the reason with which a plan without changes ends its group.
func (g *Graph) unchangedReason() string {
	if g.Kind == KindRestore {
		return "no changes: it holds what the newest state version holds; if it is contested, dismiss it"
	}
	return "no changes"
}

func pastVerb(destroy bool) string {
	if destroy {
		return "destroyed"
	}
	return "deployed"
}

func decisionText(verb string, plan *Plan) string {
	if plan.Authority == ByInstallRule {
		return plan.DecisionReason
	}
	if plan.DecisionReason == "" {
		return fmt.Sprintf("%s by %s", verb, plan.DecidedBy)
	}
	return fmt.Sprintf("%s by %s: %s", verb, plan.DecidedBy, plan.DecisionReason)
}

// orDefault returns said, or otherwise if said is empty.
func orDefault(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
