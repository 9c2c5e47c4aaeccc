package workflow

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// The codes of the refusals of this package; the kind of all of them is refusal.Conflict.
const (
	CodeApprovalGone  = "approval_gone"  // the question was answered or withdrawn
	CodePolicyDenies  = "policy_denies"  // a policy of the app denies the plan
	CodePlanChanged   = "plan_changed"   // the digest is not that of the plan that waits
	CodeWorkflowEnded = "workflow_ended" // there is nothing left to cancel
	CodeTooLong       = "too_long"       // the reason
	CodeNotCovered    = "not_covered"    // an approver's rule cannot cover such a workflow
	CodeHasRule       = "has_rule"       // another approver's rule is in force
	CodeNoRule        = "no_rule"        // the workflow has no rule to withdraw
	CodeBusy          = "busy"           // a running workflow is changing the same component
	CodeOwnChange     = "own_change"     // on this install, the requester of a change may not approve it
	CodeNotRetryable  = "not_retryable"  // the step did not fail, or cannot be restarted
	CodeNotSkippable  = "not_skippable"  // the step is running, or has ended
)

// conflict returns the refusal of a request that the current state does not allow.
func conflict(code, remedy, title string, args ...any) error {
	return refusal.New(refusal.Conflict, code, fmt.Sprintf(title, args...), remedy)
}

// Unavailable is the error of a DesiredStateSource for a step that cannot start, now or later. Its component
// stalls with the reason, which states the remedy. The step is not retried automatically.
type Unavailable struct {
	Reason string
	Gone   bool // the app no longer has the action; a run that an event triggered is skipped
}

// Error returns the reason.
func (u *Unavailable) Error() string { return u.Reason }
