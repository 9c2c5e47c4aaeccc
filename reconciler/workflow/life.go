package workflow

import "slices"

// Kind is what a workflow is for.
type Kind string

// The kinds of workflow, as the database's constraint has them.
const (
	KindProvision   Kind = "provision"   // everything, onto an install that has nothing yet
	KindDeploy      Kind = "deploy"      // just what is behind
	KindTeardown    Kind = "teardown"    // destroys components that left the app, were switched off or torn down
	KindDeprovision Kind = "deprovision" // destroys everything, in reverse order
	KindAction      Kind = "action"      // one action
	KindRestore     Kind = "restore"     // makes a state version of one component the newest
)

// destroys says that a workflow of the kind removes components.
func (k Kind) destroys() bool { return k == KindTeardown || k == KindDeprovision }

// StepKind is what a step does.
type StepKind string

// The kinds of step, as the database's constraint has them.
const (
	StepSync    StepKind = "sync" // the artifact's copy into the install's own registry
	StepPlan    StepKind = "plan"
	StepApprove StepKind = "approve"
	StepApply   StepKind = "apply"
	StepAction  StepKind = "action"
)

// Status is where a workflow is in its life.
type Status string

// The statuses of a workflow.
const (
	Running    Status = "running"
	Succeeded  Status = "succeeded"
	Failed     Status = "failed"     // something failed
	Rejected   Status = "rejected"   // nothing failed, and a person rejected a plan or a script
	Cancelled  Status = "cancelled"  // a person ended it
	Superseded Status = "superseded" // nothing was left for it to do: what was wanted has moved
)

// StepStatus is where a step is in its life.
type StepStatus string

// The statuses of a step.
const (
	StepPending   StepStatus = "pending"   // waits for other steps, or for what it needs to be known
	StepRunning   StepStatus = "running"   // has a job
	StepWaiting   StepStatus = "waiting"   // waits for a person
	StepSucceeded StepStatus = "succeeded" // did what it was for
	StepFailed    StepStatus = "failed"    // did not; of an approval: a person rejected the plan
	StepSkipped   StepStatus = "skipped"   // there was nothing to do, or no point in doing it
	StepCancelled StepStatus = "cancelled" // a person ended it
)

// PlanStatus is where a plan is in its life.
type PlanStatus string

// The statuses of a plan.
const (
	PlanReady      PlanStatus = "ready"      // made; nobody has said anything yet
	PlanEmpty      PlanStatus = "empty"      // not applyable: what is wanted is what is there
	PlanApproved   PlanStatus = "approved"   // by a person, or let through by the install's rule
	PlanRejected   PlanStatus = "rejected"   // by a person
	PlanSuperseded PlanStatus = "superseded" // withdrawn before it was applied
	PlanStale      PlanStatus = "stale"      // its apply saw that the world had moved, and did nothing
	PlanConsumed   PlanStatus = "consumed"   // its apply was accepted; it is never applied again
	PlanApplied    PlanStatus = "applied"
	PlanFailed     PlanStatus = "failed" // its apply failed, was cancelled or was lost
)

// ApprovalStatus is where the question about a plan is in its life.
type ApprovalStatus string

// The statuses of an approval.
const (
	ApprovalWaiting   ApprovalStatus = "waiting"
	ApprovalApproved  ApprovalStatus = "approved"
	ApprovalRejected  ApprovalStatus = "rejected"
	ApprovalWithdrawn ApprovalStatus = "withdrawn" // what it asked about is no longer what would be applied
)

// The kinds of approval: what it is about, as the database's constraint has them.
const (
	ApprovalOfPlan     = "plan"
	ApprovalOfScripts  = "scripts"
	ApprovalOfSettings = "settings"
)

// RefusalKind is why something that is behind is left alone.
type RefusalKind string

// The kinds of refusal. A person who asks again, or a newer desired, ends each of them.
const (
	RefusalRejected  RefusalKind = "rejected"  // a person said no to the plan, or to a script before it
	RefusalCancelled RefusalKind = "cancelled" // a person ended the work
	RefusalStalled   RefusalKind = "stalled"   // it failed, and trying again by itself would not help
)

// moves are a life cycle's legal moves. A status without moves is an end.
type moves[S ~string] []move[S]

type move[S ~string] struct {
	from S
	to   []S
}

// The tables are the law of the four life cycles. docs/states.md is drawn from them.
var (
	statusMoves = moves[Status]{
		{Running, []Status{Succeeded, Failed, Rejected, Cancelled, Superseded}},
	}
	// What ended may become pending again only as a part of its component's group, which is then planned anew.
	stepMoves = moves[StepStatus]{
		{StepPending, []StepStatus{StepRunning, StepWaiting, StepSucceeded, StepFailed, StepSkipped, StepCancelled}},
		{StepRunning, []StepStatus{StepSucceeded, StepFailed, StepCancelled, StepPending}},
		{StepWaiting, []StepStatus{StepSucceeded, StepFailed, StepSkipped, StepCancelled, StepPending}},
		{StepSucceeded, []StepStatus{StepPending}},
	}
	// What a person's retry may begin again besides.
	retryMoves = moves[StepStatus]{
		{StepSucceeded, []StepStatus{StepPending}},
		{StepFailed, []StepStatus{StepPending}},
		{StepSkipped, []StepStatus{StepPending}},
		{StepCancelled, []StepStatus{StepPending}},
	}
	planMoves = moves[PlanStatus]{
		{PlanReady, []PlanStatus{PlanApproved, PlanRejected, PlanSuperseded}},
		{PlanApproved, []PlanStatus{PlanConsumed, PlanSuperseded}},
		{PlanConsumed, []PlanStatus{PlanApplied, PlanStale, PlanFailed}},
	}
	approvalMoves = moves[ApprovalStatus]{
		{ApprovalWaiting, []ApprovalStatus{ApprovalApproved, ApprovalRejected, ApprovalWithdrawn}},
		{ApprovalApproved, []ApprovalStatus{ApprovalWithdrawn}},
	}
)

// allows says whether one move is legal. Staying is always legal: a reason may change.
func (m moves[S]) allows(from, to S) bool {
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

// Ended says that nothing will happen to the step any more, unless its group is planned anew.
func (s StepStatus) Ended() bool {
	return s == StepSucceeded || s == StepFailed || s == StepSkipped || s == StepCancelled
}

// Live says that the plan may still be asked about or applied.
func (s PlanStatus) Live() bool { return s == PlanReady || s == PlanApproved }
