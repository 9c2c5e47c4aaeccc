package workflow

import "fmt"

// mostRuns bounds how often a group starts for one desired digest and is interrupted. Each lost or
// stale apply is planned again, and that must end. The component's own retries after failures are
// counted separately.
const mostRuns = 5

// Advance returns the commands to run next, in order. It returns none while the workflow
// waits for a job, a person or another workflow. The caller applies the commands and calls
// Advance again until it returns none. It is pure: equal graphs give equal commands.
//
// Its invariants (checked by the properties in laws_test.go):
//   - A component has at most one apply at a time.
//   - No apply runs without its own plan, approved by a person, by an approver's rule for
//     the workflow or by the install's rule.
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
		return g.look()
	}
	var todo []Command
	for _, in := range g.groups() {
		if g.Cancelled != nil {
			todo = append(todo, in.cancel(*g.Cancelled)...)
			continue
		}
		todo = append(todo, in.next()...)
	}
	todo = append(todo, g.actions()...)
	if len(todo) == 0 {
		todo = g.answerless()
	}
	if len(todo) == 0 && g.allEnded() {
		return []Command{g.finish()}
	}
	return todo
}

func (g *Graph) allEnded() bool {
	for _, s := range g.Steps {
		if !s.Status.Ended() {
			return false
		}
	}
	return true
}

// next returns the commands for the group's current step.
func (in group) next() []Command {
	switch {
	case in.ended():
		return nil
	case in.sync != nil && in.sync.Status == StepPending:
		return in.start(in.sync)
	case in.sync != nil && in.sync.Status == StepRunning:
		return in.syncing()
	case in.sync != nil && in.sync.Status != StepSucceeded:
		return in.close("the sync ended as " + string(in.sync.Status))
	case in.plan.Status == StepPending:
		return in.beforePlan()
	case in.plan.Status == StepRunning:
		return in.planning()
	case in.plan.Status != StepSucceeded || in.plan.Plan == nil:
		// A plan step that ends otherwise ends its group at the same time. A group
		// that is half ended is closed, never waited for.
		return in.close("the plan ended as " + string(in.plan.Status))
	case in.approve.Status == StepPending:
		return in.beforeApproval()
	case in.approve.Status == StepWaiting:
		return in.asking()
	case in.apply.Status == StepPending:
		return in.beforeApply()
	case in.apply.Status == StepRunning:
		return in.applying()
	}
	return in.close("the approval ended as " + string(in.approve.Status))
}

// start starts a group with its sync or plan, once the steps that it needs have succeeded and the
// desired state is known.
func (in group) start(first *Step) []Command {
	for _, id := range first.Needs {
		need := in.g.step(id)
		switch {
		case need == nil || !need.Status.Ended():
			return nil
		case need.before() && need.ill():
			return in.stopped(need)
		case need.Kind == StepAction:
		case !in.g.done(need):
			return in.skip(fmt.Sprintf("%s was not %s: %s", need.Component, verb(need.Destroy), need.Reason))
		}
	}
	switch w := in.want; {
	case w.Absent != in.plan.Destroy:
		return in.skip(in.moved(""))
	case w.Current:
		return in.settle("nothing to do: " + in.plan.Component + " is as it is wanted")
	case w.Waits != "" && w.Stuck:
		return in.skip("waits for what will not come by itself: " + w.Waits)
	case w.Waits != "":
		return in.note(first, "waits: "+w.Waits)
	case w.Refused != "":
		return in.skip(w.Refused)
	}
	if ill, _ := in.before(); ill != nil {
		return in.stopped(ill) // it ran for a plan that was withdrawn since
	}
	return []Command{Begin{first.ID, in.want.Reason}}
}

// syncing waits for the job that copies the artifact, and handles its end.
func (in group) syncing() []Command {
	job := in.sync.Job
	if job == nil {
		return in.tryAgain("its job is gone", true)
	}
	moved := in.moved(job.Desired)
	switch {
	case job.Status == JobOpen && moved == "":
		return nil
	case job.Status == JobOpen:
		return in.stop(in.sync, moved)
	case moved != "":
		return in.withdraw(moved)
	case job.Status == JobSucceeded:
		return []Command{Set{in.sync.ID, StepSucceeded, job.syncedAs()}}
	case job.stopped():
		return in.withdraw(backAgain)
	case job.Status == JobLost, job.Status == JobStale:
		return in.tryAgain("the job that copied its artifact was lost", true)
	}
	return in.tryAgain(sentence(job.Error, "the sync failed"), false)
}

// backAgain is the reason for a job that was stopped although nobody cancelled
// it: the desired state changed and changed back while the job was stopping.
const backAgain = "its job was stopped while something else was wanted"

// synced is the reason of a sync that copied the artifact, and syncedByPlan that of a
// sync whose work the plan does.
const (
	synced       = "its artifact is in the install's registry"
	syncedByPlan = "left to its plan, which copies what is missing"
)

// syncedAs returns the reason of a sync that succeeded.
func (j *Job) syncedAs() string {
	if j.WithPlan {
		return syncedByPlan
	}
	return synced
}

// beforePlan starts the plan for the desired digest that was synced.
func (in group) beforePlan() []Command {
	if in.sync == nil {
		return in.start(in.plan)
	}
	synced := in.synced()
	if synced == "" {
		return in.withdraw("nothing says for what its artifact was copied")
	}
	if moved := in.moved(synced); moved != "" {
		return in.withdraw(moved)
	}
	return in.start(in.plan)
}

// synced returns the desired digest for which the group's artifact was copied, or "" if it is not
// recorded.
func (in group) synced() string {
	if in.sync == nil || in.sync.Status != StepSucceeded || in.sync.Job == nil {
		return ""
	}
	return in.sync.Job.Desired
}

// planning waits for the plan job, and handles its end.
func (in group) planning() []Command {
	job := in.plan.Job
	if job == nil {
		return in.tryAgain("its job is gone", true)
	}
	moved := in.moved(job.Desired)
	if job.Status == JobOpen {
		if moved == "" {
			return nil
		}
		return in.stop(in.plan, moved)
	}
	plan := in.plan.Plan
	switch {
	case moved != "":
		return in.withdraw(moved)
	case plan != nil && plan.Status == PlanEmpty:
		return in.settle(in.g.unchanged())
	case job.Status == JobSucceeded && plan != nil:
		return []Command{Set{in.plan.ID, StepSucceeded, "the plan is ready"}}
	case job.stopped():
		return in.withdraw(backAgain)
	case job.Status == JobStale:
		return in.tryAgain(sentence(job.Error, "what it planned has moved"), true)
	case job.Status == JobLost:
		return in.tryAgain("the job that planned it was lost", true)
	case job.Status == JobSucceeded:
		return in.tryAgain(sentence(in.plan.Reason, "the runner's answer holds no plan"), false)
	}
	return in.tryAgain(sentence(job.Error, "the plan failed"), false)
}

// beforeApproval requests an approval, or approves the plan by a rule.
func (in group) beforeApproval() []Command {
	plan := in.plan.Plan
	if moved := in.moved(plan.Desired); moved != "" {
		return in.withdraw(moved)
	}
	if plan.Status != PlanReady {
		return in.withdraw("its plan is " + string(plan.Status))
	}
	if ill, _ := in.before(); ill != nil {
		return in.stopped(ill)
	}
	if in.held() {
		return in.note(in.approve, "waits: "+in.want.Waits)
	}
	approve, why := in.byRule(plan)
	if approve != nil {
		return []Command{approve}
	}
	return []Command{Ask{in.approve.ID, why}}
}

// lets reports whether the rule approves a plan, with the reason.
func (r Rule) lets(destructive, individual bool) (bool, string) {
	switch {
	case !r.ApproveAll:
		return false, "this install asks before every change"
	case individual:
		return false, "a finding of the plan requires that a person approves it by itself"
	case destructive && !r.AllowDestroy:
		return false, "the plan deletes or replaces something, and this install does not allow that unasked"
	case destructive:
		return true, r.words("approve-all, allow_destroy")
	}
	return true, r.words("approve-all")
}

// words describes an automatic approval: the settings behind it, and who set them.
func (r Rule) words(settings string) string {
	if r.By == "" {
		return "let through by the install's rule (" + settings + ")"
	}
	return "let through by the install's rule (" + settings + ", set by " + r.By + ")"
}

// lapsed returns why the rule that approved the group's plan would not approve it
// now. It returns "" if the rule still would, or if a person approved the plan.
func (in group) lapsed() string { return in.g.rules().lapsed(in.plan.Plan, in.plan.Destroy) }

// asking handles the answer to the approval request.
func (in group) asking() []Command {
	plan := in.plan.Plan
	switch plan.Status {
	case PlanApproved:
		return []Command{Set{in.approve.ID, StepSucceeded, said("approved", plan)}}
	case PlanRejected:
		no := said("rejected", plan)
		return []Command{
			Refuse{in.plan.Component, plan.Desired, RefusalRejected, plan.By, plan.Because},
			Deny{in.approve.ID, plan.By, no},
			Set{in.apply.ID, StepSkipped, no},
		}
	case PlanReady:
		if moved := in.moved(plan.Desired); moved != "" {
			return in.withdraw(moved)
		}
		if approve, _ := in.byWorkflowRule(plan); approve != nil && !in.held() { // the rule is newer than the request
			return []Command{approve}
		}
		return nil
	}
	return in.withdraw("its plan is " + string(plan.Status))
}

// beforeApply starts the apply of the approved plan if the plan still leads to the desired state.
func (in group) beforeApply() []Command {
	plan := in.plan.Plan
	if moved := in.moved(plan.Desired); moved != "" {
		return in.withdraw(moved)
	}
	if plan.Status != PlanApproved {
		return in.withdraw("its plan is " + string(plan.Status))
	}
	if lapsed := in.lapsed(); lapsed != "" {
		return in.withdraw(lapsed)
	}
	ill, unended := in.before()
	switch {
	case ill != nil:
		return in.stopped(ill)
	case in.held():
		return in.note(in.apply, "waits: "+in.want.Waits)
	case unended != nil:
		return in.note(in.apply, "comes after action "+unended.Action)
	}
	return []Command{Begin{in.apply.ID, said("approved", plan)}}
}

// applying waits for the apply, and handles its end. Once the plan is
// consumed, a change of the desired state waits until the apply has ended.
func (in group) applying() []Command {
	job, plan := in.apply.Job, in.plan.Plan
	moved := in.moved(plan.Desired)
	if plan.Status != PlanConsumed && moved == "" {
		if moved = in.lapsed(); in.held() {
			moved = "withdrawn: " + in.want.Waits
		}
	}
	if job != nil && job.Status == JobOpen {
		if moved == "" || plan.Status == PlanConsumed {
			return nil
		}
		return in.stop(in.apply, moved)
	}
	o := observed{consumed: plan.Status == PlanConsumed, job: JobLost, moved: moved != ""}
	if job != nil {
		o.job = job.Status
	}
	return in.afterApply(o, moved)
}

// afterApply returns the commands that follow an apply that has ended.
func (in group) afterApply(o observed, moved string) []Command {
	a, why := aftermathOf(o), in.became(o)
	todo := []Command{EndPlan{in.plan.ID, a.plan, why}}
	switch a.next {
	case nextDone:
		return append(todo, Set{in.apply.ID, StepSucceeded, why})
	case nextFresh:
		if !o.consumed {
			return in.withdraw(moved)
		}
		return append(todo, Again{Component: in.plan.Component, Fresh: true, Reason: why})
	}
	return append(todo, in.tryAgain(why, a.next == nextAnew)...)
}

// became describes the result of an apply in one sentence.
func (in group) became(o observed) string {
	said := ""
	if in.apply.Job != nil {
		said = in.apply.Job.Error
	}
	switch {
	case !o.consumed && o.job == JobCancelled:
		return "its apply was stopped before it began"
	case !o.consumed:
		return sentence(said, "its apply did not begin")
	case o.job == JobSucceeded && in.g.Kind == KindRestore:
		return "the state of " + in.plan.Component + " is restored; what follows from that is planned next"
	case o.job == JobSucceeded:
		return in.plan.Component + " is " + verb(in.plan.Destroy)
	case o.job == JobStale:
		return "the plan was stale: " + sentence(said, "the world moved between plan and apply")
	case o.job == JobCancelled:
		return "its apply was interrupted; what is there is planned anew"
	case o.job == JobFailed:
		return sentence(said, "the apply failed")
	}
	return "its apply was lost; what is there is planned anew"
}

// unchanged returns the reason with which a plan without changes ends its group.
func (g *Graph) unchanged() string {
	if g.Kind == KindRestore {
		return "no changes: it holds what the newest state version holds; if it is contested, dismiss it"
	}
	return "no changes: what is wanted is what is there"
}

func verb(destroy bool) string {
	if destroy {
		return "destroyed"
	}
	return "deployed"
}

func said(what string, plan *Plan) string {
	if plan.Authority == ByInstallRule {
		return plan.Because
	}
	if plan.Because == "" {
		return fmt.Sprintf("%s by %s", what, plan.By)
	}
	return fmt.Sprintf("%s by %s: %s", what, plan.By, plan.Because)
}

// sentence returns said, or otherwise if said is empty.
func sentence(said, otherwise string) string {
	if said == "" {
		return otherwise
	}
	return said
}
