package workflow

import "slices"

// Command is one action that Advance requests. Graph.Apply applies it to the graph, the
// engine to the database and the job queue. Each carries its reason as a sentence for people.
type Command interface{ command() }

// StartStep starts the job of a pending step: a plan, the apply of an approved plan, or an action.
type StartStep struct{ Step, Reason string }

// CancelJob cancels the open job of a step. The step waits until the job has ended.
type CancelJob struct{ Step, Reason string }

// RequestApproval requests approval of the group's plan; the approve step waits for the answer.
type RequestApproval struct{ Step, Reason string }

// RequestScriptApproval requests approval of scripts in one question, which replaces one that
// may already wait. The step waits for the answer.
type RequestScriptApproval struct {
	Step    string
	Digests []string
	Reason  string
}

// WithdrawScriptApproval withdraws the question about scripts.
type WithdrawScriptApproval struct{ Reason string }

// ApproveByInstallRule approves the group's plan by the install's rule.
type ApproveByInstallRule struct{ Step, Reason string }

// ApproveByWorkflowRule approves the group's plan by an approver's rule for the workflow,
// also while the plan waits for an answer.
type ApproveByWorkflowRule struct{ Step, By, Reason string }

// SetStatus changes the status of a step that has no open job, or only its reason.
type SetStatus struct {
	Step   string
	To     StepStatus
	Reason string
}

// RejectStep fails an approval, or an action that has not started, because a person rejected its plan or
// script.
type RejectStep struct{ Step, By, Reason string }

// ClosePlan moves a plan to a status in which it can never be applied (again), and
// withdraws a pending question about it.
type ClosePlan struct {
	Step   string // the plan step
	To     PlanStatus
	Reason string
}

// Replan resets a component's group so that it is planned again. Fresh: for the
// current desired state, so the whole group restarts and its tries are counted
// from zero; otherwise an artifact that was already copied is not copied again.
// Interrupted: the previous try did not fail but was interrupted, lost or stale.
type Replan struct {
	Component   string
	Fresh       bool
	Interrupted bool
	Reason      string
}

// RecordRejection records that the component's current desired state is not to be started
// again automatically.
type RecordRejection struct {
	Component, DesiredDigest string
	Kind                     RejectionKind
	Actor, Reason            string
}

// PostponeApply returns an apply to pending whose job ended before a runner started it. Its plan stays approved.
type PostponeApply struct{ Step, Reason string }

// RestartStep resets a step that has ended to pending, because a person requested it.
type RestartStep struct{ Step, Reason string }

// ClearRejection deletes a component's refusals. OnlyOfWorkflow: only those that this workflow recorded, not earlier
// rejections.
type ClearRejection struct {
	Component      string
	OnlyOfWorkflow bool
}

// MarkSkipped skips a step because a person chose to continue without it.
type MarkSkipped struct{ Step, Reason string }

// FinishWorkflow ends the workflow.
type FinishWorkflow struct {
	Status  Status
	Outcome string
}

func (StartStep) command()              {}
func (CancelJob) command()              {}
func (RequestApproval) command()        {}
func (ApproveByInstallRule) command()   {}
func (ApproveByWorkflowRule) command()  {}
func (RequestScriptApproval) command()  {}
func (WithdrawScriptApproval) command() {}
func (SetStatus) command()              {}
func (RejectStep) command()             {}
func (ClosePlan) command()              {}
func (Replan) command()                 {}
func (RecordRejection) command()        {}
func (PostponeApply) command()          {}
func (RestartStep) command()            {}
func (ClearRejection) command()         {}
func (MarkSkipped) command()            {}
func (FinishWorkflow) command()         {}

// installRuleActor is the approver of a plan that the install's rule approved.
const installRuleActor = "the install's rule"

// Apply applies a command to the graph, so that Advance can be called again without reloading
// it. A step that starts gets an open job without an id until the engine enqueues it.
func (g *Graph) Apply(c Command) {
	switch c := c.(type) {
	case StartStep:
		g.startStep(g.stepByID(c.Step), c.Reason)
	case CancelJob:
		g.stepByID(c.Step).Job.Cancelling = true
	case RequestApproval:
		g.setStatus(c.Step, StepWaiting, c.Reason)
	case RequestScriptApproval:
		g.ScriptRequest = &ScriptRequest{Digests: c.Digests}
		g.setStatus(c.Step, StepWaiting, c.Reason)
	case WithdrawScriptApproval:
		g.ScriptRequest = nil
	case ApproveByInstallRule:
		gr := g.groupOf(g.stepByID(c.Step).Component)
		gr.plan.Plan.approve(ByInstallRule, installRuleActor, c.Reason)
		g.setStatus(c.Step, StepSucceeded, c.Reason)
	case ApproveByWorkflowRule:
		plan := g.groupOf(g.stepByID(c.Step).Component).plan.Plan
		plan.approve(ByWorkflowRule, c.By, c.Reason)
		g.setStatus(c.Step, StepSucceeded, decisionText("approved", plan))
	case SetStatus:
		g.setStatus(c.Step, c.To, c.Reason)
	case RejectStep:
		g.setStatus(c.Step, StepFailed, c.Reason)
		g.stepByID(c.Step).RejectedBy = c.By
	case ClosePlan:
		g.stepByID(c.Step).Plan.Status = c.To
	case Replan:
		g.replan(c)
	case RecordRejection:
		w := g.Desired[c.Component]
		w.RejectionReason = c.Reason
		g.Desired[c.Component] = w
	case PostponeApply:
		g.setStatus(c.Step, StepPending, c.Reason)
		g.stepByID(c.Step).Job = nil
	case RestartStep:
		g.restartStep(g.stepByID(c.Step), c.Reason)
	case ClearRejection:
		// The graph does not record which workflow a refusal comes from. The desired
		// state is loaded again anyway.
		if w := g.Desired[c.Component]; !c.OnlyOfWorkflow {
			w.RejectionReason = ""
			g.Desired[c.Component] = w
		}
	case MarkSkipped:
		g.setStatus(c.Step, StepSkipped, c.Reason)
		g.stepByID(c.Step).SkippedByPerson = true
	case FinishWorkflow:
		g.Status = c.Status
	}
}

// approve records that a rule approved the plan.
func (p *Plan) approve(as Authority, by, because string) {
	p.Status, p.Authority, p.DecidedBy, p.DecisionReason = PlanApproved, as, by, because
}

func (g *Graph) restartStep(s *Step, reason string) {
	if apply := g.groupOf(s.Component).apply; apply != nil && s.Plan != nil && s.Plan.Status == PlanFailed {
		apply.EarlierApplyFailed = true
	}
	s.Status, s.Reason, s.SkippedByPerson, s.RejectedBy, s.Tries, s.Interruptions, s.Job, s.Plan =
		StepPending, reason, false, "", 0, 0, nil, nil
}

func (g *Graph) setStatus(id string, to StepStatus, reason string) {
	s := g.stepByID(id)
	s.Status, s.Reason = to, reason
}

func (g *Graph) startStep(s *Step, reason string) {
	s.Status, s.Reason = StepRunning, reason
	s.Job = &Job{Status: JobOpen}
	if s.Kind == StepSync || s.Kind == StepPlan {
		s.Tries++
		s.Job.DesiredDigest = g.desiredOf(s.Component).Digest
	}
}

func (g *Graph) replan(c Replan) {
	gr := g.groupOf(c.Component)
	if gr.apply != nil {
		gr.apply.EarlierApplyFailed = gr.apply.EarlierApplyFailed || gr.plan.Plan != nil && gr.plan.Plan.Status == PlanFailed
	}
	for i, s := range gr.stepsToReset(c) {
		s.Tries, s.Interruptions = c.counts(i, s)
		s.Status, s.Reason, s.RejectedBy, s.Job, s.Plan = StepPending, c.Reason, "", nil, nil
	}
}

// counts returns the tries of the i-th step that Replan resets, and how many
// of them were interrupted. Only the first step counts an interruption.
func (c Replan) counts(i int, s *Step) (tries, broken int) {
	switch {
	case c.Fresh:
		return 0, 0
	case c.Interrupted && i == 0:
		return s.Tries, s.Interruptions + 1
	}
	return s.Tries, s.Interruptions
}

// stepsToReset returns the steps that Replan resets.
func (gr stepGroup) stepsToReset(c Replan) []*Step {
	if !c.Fresh && gr.sync != nil && gr.sync.Status == StepSucceeded {
		return gr.steps()[1:]
	}
	return gr.steps()
}

// groupOf returns the group of a component, or the zero group if the graph has none.
func (g *Graph) groupOf(component string) stepGroup {
	i := slices.IndexFunc(g.Steps, func(s *Step) bool { return s.Kind == StepPlan && s.Component == component })
	if i < 0 {
		return stepGroup{}
	}
	return g.groupAt(i)
}
