package workflow

import "slices"

// Graph is one workflow as Advance sees it: the request, the status of each step, the
// results of jobs, and the current desired state. It is plain data; ids are opaque.
type Graph struct {
	Kind         Kind
	PlanOnly     bool // it only plans and shows, without approvals or applies
	Status       Status
	Cancelled    *Cancellation // nil until a person cancels the workflow
	Rule         Rule
	WorkflowRule *WorkflowRule // an approver's rule for this workflow; nil for none
	// in the order of Compose: a component's sync, plan, approve and apply are adjacent
	Steps         []*Step
	Desired       map[string]DesiredState // by component
	ScriptRequest *ScriptRequest          // a pending question about scripts; nil for none
}

// Cancellation records who cancelled the workflow, and why.
type Cancellation struct{ Actor, Reason string }

// Rule states what an install approves automatically.
type Rule struct {
	ApproveAll   bool   // everything but plans that delete or replace
	AllowDestroy bool   // with ApproveAll: those too
	By           string // who set it; empty if not recorded
}

// Step is one step and the results of its work.
type Step struct {
	ID                 string
	Kind               StepKind
	Component          string
	Action             string
	Trigger            string  // of an action: the event that runs it
	Script             *Script // of an action that has not ended: what it would run; nil if the app has no such action
	Destroy            bool
	Needs              []string // ids of steps that must have ended before this one starts
	Status             StepStatus
	Reason             string
	Tries              int    // of a sync or plan step: how often it started for the current desired state
	Interruptions      int    // how many of these tries did not fail, but were interrupted, lost or stale
	Job                *Job   // the step's newest job; nil if it had none
	Plan               *Plan  // of a plan step: the plan that its newest job made
	SkippedByPerson    bool   // a person skipped it
	RejectedBy         string // who rejected its plan or script; empty for nobody
	EarlierApplyFailed bool   // of an apply step: an earlier apply started and failed, so something may be deployed
}

// JobStatus is the status of a step's job, as far as a workflow needs it.
type JobStatus string

// The statuses of a job as a workflow sees them.
const (
	JobOpen      JobStatus = "open" // queued, offered or running
	JobSucceeded JobStatus = "succeeded"
	JobFailed    JobStatus = "failed"
	JobStale     JobStatus = "stale" // an apply that did nothing as its basis had changed; an action refused its start
	JobCancelled JobStatus = "cancelled"
	JobLost      JobStatus = "lost" // its process ended without a result
)

// Job holds the facts of a step's newest job.
type Job struct {
	ID            string
	Status        JobStatus
	DesiredDigest string // of a sync or plan job: its desired digest
	CopiedByPlan  bool   // of a sync: it has no job, the plan copies what is missing
	Cancelling    bool   // its cancellation was requested
	Error         string // one sentence, for people
}

// wasCancelled reports whether a job ended early because it was cancelled. If nobody
// cancelled the workflow, the desired state was a different one at that time.
func (j *Job) wasCancelled() bool {
	return j.Status == JobCancelled || j.Cancelling && j.Status != JobSucceeded
}

// Plan holds the facts of a plan.
type Plan struct {
	ID                        string
	Status                    PlanStatus
	DesiredDigest             string    // the desired digest that it leads to
	Destructive               bool      // it deletes or replaces something
	IndividualApproval        bool      // a finding, or RejectedBy, requires a person's individual approval
	RejectedBy                string    // who rejected the last plan for DesiredDigest that a person answered
	Approval                  string    // id of its approval request; empty if there was none
	contentDigest             string    // digest that the approval is bound to; set where a rule approves
	Authority                 Authority // what approved it
	DecidedBy, DecisionReason string    // who approved or rejected it, and why
}

// DesiredState is a component's current desired state, and its progress.
type DesiredState struct {
	Digest          string // desired digest; empty if not known
	Reason          string // what changed, for people
	Absent          bool   // it is to be destroyed
	WaitReason      string // why Digest is not known or must not be planned yet; empty if it may
	Stalled         bool   // WaitReason will not end without a person or a new revision
	NoRole          bool   // WaitReason is only that the role cannot be assumed: Digest is known, and its plan is kept
	Current         bool   // applied = desired
	RejectionReason string // why Digest must not be started again; empty if it may be planned
	Retries         int    // how often a failure is retried automatically
}

// stepGroup holds the steps of one component and its desired state. A restore has no sync,
// since it needs no artifact. A workflow that only plans has neither approve nor apply.
type stepGroup struct {
	sync, plan, approve, apply *Step
	desired                    DesiredState
	g                          *Graph
}

// groups returns the groups that lead to an apply, in the order of their plan steps.
// A component's steps are adjacent.
func (g *Graph) groups() []stepGroup {
	all := make([]stepGroup, 0, len(g.Steps)/4)
	for i, s := range g.Steps {
		if gr := g.groupAt(i); s.Kind == StepPlan && gr.apply != nil {
			all = append(all, gr)
		}
	}
	return all
}

// groupAt returns the group whose plan step is the i-th step.
func (g *Graph) groupAt(i int) stepGroup {
	gr := stepGroup{plan: g.Steps[i], desired: g.desiredOf(g.Steps[i].Component), g: g}
	beside := func(i int, kind StepKind) *Step {
		if i < 0 || i >= len(g.Steps) || g.Steps[i].Kind != kind || g.Steps[i].Component != gr.plan.Component {
			return nil
		}
		return g.Steps[i]
	}
	gr.sync, gr.approve, gr.apply = beside(i-1, StepSync), beside(i+1, StepApprove), beside(i+2, StepApply)
	return gr
}

// steps returns the steps that the group has, in order.
func (gr stepGroup) steps() []*Step {
	var all []*Step
	for _, s := range []*Step{gr.sync, gr.plan, gr.approve, gr.apply} {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

// desiredOf returns the desired state of a component. A component that the install does
// not have is never planned.
func (g *Graph) desiredOf(component string) DesiredState {
	if w, ok := g.Desired[component]; ok {
		return w
	}
	return DesiredState{WaitReason: component + " is not part of this install", Stalled: true}
}

func (g *Graph) stepByID(id string) *Step {
	for _, s := range g.Steps {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// isDone reports whether a step that others need has succeeded. An apply with
// nothing to do counts: its component was up to date, or its plan had no changes.
func (g *Graph) isDone(s *Step) bool {
	if s.Status == StepSucceeded {
		return true
	}
	if s.Kind != StepApply || s.Status != StepSkipped {
		return false
	}
	for _, gr := range g.groups() {
		if gr.apply == s {
			plan := gr.plan.Plan
			return gr.plan.Status == StepSucceeded && gr.approve.Status == StepSkipped &&
				(plan == nil || plan.Status == PlanEmpty)
		}
	}
	return false
}

// hasOpenJob reports whether the step has a job that has not ended.
func (s *Step) hasOpenJob() bool { return s.Job != nil && s.Job.Status == JobOpen }

// ended reports whether all steps of the group have ended.
func (gr stepGroup) ended() bool {
	return !slices.ContainsFunc(gr.steps(), func(s *Step) bool { return !s.Status.Ended() })
}

// supersededReason returns why the group no longer works towards the desired state, or "" if it does.
func (gr stepGroup) supersededReason(desired string) string {
	switch w := gr.desired; {
	case w.Absent && gr.plan.Destroy && w.Current:
		return "" // it is destroyed, as this group intended
	case w.Absent && !gr.plan.Destroy:
		return gr.plan.Component + " is no longer wanted"
	case !w.Absent && gr.plan.Destroy:
		return gr.plan.Component + " is wanted again"
	case w.WaitReason != "" && w.Stalled:
		return "it waits for something that needs an action: " + w.WaitReason
	case w.WaitReason == "" && w.Digest != desired:
		return supersededPrefix + w.Reason
	}
	return ""
}

const supersededPrefix = "superseded by a newer desired state: "

// planSupersededReason returns why the group's plan no longer leads to the desired state, or "" if it
// does. A plan is kept while its role cannot be assumed: it leads to the same state when the customer
// switches the role on again.
func (gr stepGroup) planSupersededReason() string {
	w, plan := gr.desired, gr.plan.Plan
	switch {
	case !w.NoRole || w.Absent != gr.plan.Destroy:
		return gr.supersededReason(plan.DesiredDigest)
	case w.Digest != plan.DesiredDigest:
		return supersededPrefix + w.Reason
	}
	return ""
}

// mustWait reports whether the group must wait now, although it may continue later.
func (gr stepGroup) mustWait() bool {
	return gr.desired.WaitReason != "" && (!gr.desired.Stalled || gr.desired.NoRole)
}
