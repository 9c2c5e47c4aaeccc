package workflow

import "fmt"

// Conflict reports that a request is no longer possible because the state has
// changed, in words for the requester. The control API responds with 409.
type Conflict struct {
	Code   string // stable code for programs
	Title  string // what is the case
	Remedy string // what to do next, as sentences
}

// The codes of Conflict.
const (
	CodeApprovalGone  = "approval_gone"  // the question was answered or withdrawn
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

// Error returns title and remedy.
func (c *Conflict) Error() string { return c.Title + ". " + c.Remedy }

func conflict(code, remedy, title string, args ...any) error {
	return &Conflict{Code: code, Title: fmt.Sprintf(title, args...), Remedy: remedy}
}

// Unavailable is the error of a DesiredStateSource for a step that cannot start, now or later. Its component
// stalls with the reason, which states the remedy. The step is not retried automatically.
type Unavailable struct {
	Reason string
	Gone   bool // the app no longer has the action; a run that an event triggered is skipped
}

// Error returns the reason.
func (u *Unavailable) Error() string { return u.Reason }
