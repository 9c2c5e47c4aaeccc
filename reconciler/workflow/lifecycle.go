package workflow

import "slices"

// Kind is the purpose of a workflow.
type Kind string

// The kinds of workflow, as in the database's constraint.
const (
	KindProvision   Kind = "provision"   // everything, onto an install that has nothing yet
	KindDeploy      Kind = "deploy"      // only what is behind
	KindTeardown    Kind = "teardown"    // destroys components that left the app, were switched off or torn down
	KindDeprovision Kind = "deprovision" // destroys everything, in reverse order
	KindAction      Kind = "action"      // one action
	KindRestore     Kind = "restore"     // makes a state version of one component the newest
)

// destroys reports whether a workflow of the kind removes components.
func (k Kind) destroys() bool { return k == KindTeardown || k == KindDeprovision }

// StepKind is the work of a step.
type StepKind string

// The kinds of step, as in the database's constraint.
const (
	StepSync    StepKind = "sync" // copies the artifact into the install's own registry
	StepPlan    StepKind = "plan"
	StepApprove StepKind = "approve"
	StepApply   StepKind = "apply"
	StepAction  StepKind = "action"
)

// Status is the status of a workflow.
type Status string

// The statuses of a workflow.
const (
	Running    Status = "running"
	Succeeded  Status = "succeeded"
	Failed     Status = "failed"     // something failed
	Rejected   Status = "rejected"   // nothing failed, and a person rejected a plan or a script
	Cancelled  Status = "cancelled"  // a person cancelled it
	Superseded Status = "superseded" // nothing was left to do: the desired state has changed
)

// StepStatus is the status of a step.
type StepStatus string

// The statuses of a step.
const (
	StepPending   StepStatus = "pending"   // waits for other steps, or for missing data
	StepRunning   StepStatus = "running"   // has a job
	StepWaiting   StepStatus = "waiting"   // waits for a person
	StepSucceeded StepStatus = "succeeded" // did its work
	StepFailed    StepStatus = "failed"    // did not do its work; of an approval: a person rejected the plan
	StepSkipped   StepStatus = "skipped"   // there was nothing to do, or no point in doing it
	StepCancelled StepStatus = "cancelled" // a person cancelled it
)

// PlanStatus is the status of a plan.
type PlanStatus string

// The statuses of a plan.
const (
	PlanReady      PlanStatus = "ready"      // made; nobody has responded yet
	PlanEmpty      PlanStatus = "empty"      // not applyable: the desired state is the current state
	PlanApproved   PlanStatus = "approved"   // by a person or by a rule
	PlanRejected   PlanStatus = "rejected"   // by a person
	PlanSuperseded PlanStatus = "superseded" // withdrawn before it was applied
	PlanStale      PlanStatus = "stale"      // its apply did nothing because its basis had changed
	PlanConsumed   PlanStatus = "consumed"   // its apply was accepted; it is never applied again, unless nothing of it ran
	PlanApplied    PlanStatus = "applied"
	PlanFailed     PlanStatus = "failed" // its apply failed, was cancelled or was lost
)

// ApprovalStatus is the status of an approval.
type ApprovalStatus string

// The statuses of an approval.
const (
	ApprovalWaiting   ApprovalStatus = "waiting"
	ApprovalApproved  ApprovalStatus = "approved"
	ApprovalRejected  ApprovalStatus = "rejected"
	ApprovalWithdrawn ApprovalStatus = "withdrawn" // what it was about would no longer be applied
)

// The kinds of approval by subject, as in the database's constraint.
const (
	ApprovalOfPlan     = "plan"
	ApprovalOfScripts  = "scripts"
	ApprovalOfSettings = "settings"
)

// RejectionKind is why a component that is behind is not deployed.
type RejectionKind string

// The kinds of refusal. A person's new request, or a newer desired digest, ends each of them.
const (
	RejectionByPerson  RejectionKind = "rejected"  // a person rejected the plan, or a script before it
	RejectionCancelled RejectionKind = "cancelled" // a person cancelled the work
	RejectionStalled   RejectionKind = "stalled"   // it failed, and an automatic retry would not help
)

// transitions holds the allowed transitions of a life cycle. A status without transitions is final.
type transitions[S ~string] []transition[S]

type transition[S ~string] struct {
	from S
	to   []S
}

// The tables define the four life cycles. docs/states.md is generated from them.
var (
	workflowTransitions = transitions[Status]{
		{Running, []Status{Succeeded, Failed, Rejected, Cancelled, Superseded}},
	}
	// A step that ended returns to pending only together with its component's group, which is then
	// planned again.
	stepTransitions = transitions[StepStatus]{
		{StepPending, []StepStatus{StepRunning, StepWaiting, StepSucceeded, StepFailed, StepSkipped, StepCancelled}},
		{StepRunning, []StepStatus{StepSucceeded, StepFailed, StepCancelled, StepPending}},
		{StepWaiting, []StepStatus{StepSucceeded, StepFailed, StepSkipped, StepCancelled, StepPending}},
		{StepSucceeded, []StepStatus{StepPending}},
	}
	// The additional transitions of a person's retry.
	retryTransitions = transitions[StepStatus]{
		{StepSucceeded, []StepStatus{StepPending}},
		{StepFailed, []StepStatus{StepPending}},
		{StepSkipped, []StepStatus{StepPending}},
		{StepCancelled, []StepStatus{StepPending}},
	}
	planTransitions = transitions[PlanStatus]{
		{PlanReady, []PlanStatus{PlanApproved, PlanRejected, PlanSuperseded}},
		{PlanApproved, []PlanStatus{PlanConsumed, PlanSuperseded}},
		{PlanConsumed, []PlanStatus{PlanApproved, PlanApplied, PlanStale, PlanFailed}},
	}
	approvalTransitions = transitions[ApprovalStatus]{
		{ApprovalWaiting, []ApprovalStatus{ApprovalApproved, ApprovalRejected, ApprovalWithdrawn}},
		{ApprovalApproved, []ApprovalStatus{ApprovalWithdrawn}},
	}
)

// allows reports whether a transition is allowed. The same status is always allowed: a reason may
// change.
func (m transitions[S]) allows(from, to S) bool {
	if from == to {
		return true
	}
	for _, row := range m {
		if row.from == from {
			return slices.Contains(row.to, to)
		}
	}
	return false
}

// Ended reports whether the step has ended; it changes again only if its group is planned again.
func (s StepStatus) Ended() bool {
	return s == StepSucceeded || s == StepFailed || s == StepSkipped || s == StepCancelled
}

// Live reports whether the plan may still be approved or applied.
func (s PlanStatus) Live() bool { return s == PlanReady || s == PlanApproved }
