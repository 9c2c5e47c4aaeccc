package workflow

import "fmt"

// Conflict says that something can no longer be done because the world has moved, in words for the person who asked. The control
// API answers it with 409.
type Conflict struct {
	Code   string // stable word for programs
	Title  string // what is the case
	Remedy string // what to do next, as sentences
}

// The codes of Conflict.
const (
	CodeApprovalGone  = "approval_gone"  // the question was answered or withdrawn
	CodePlanChanged   = "plan_changed"   // the digest is not that of the plan that waits
	CodeWorkflowEnded = "workflow_ended" // there is nothing left to cancel
	CodeTooLong       = "too_long"       // the reason
	CodeNotCovered    = "not_covered"    // no approver's rule can be about such a workflow
	CodeHasRule       = "has_rule"       // another approver's rule is in force
	CodeNoRule        = "no_rule"        // the workflow has no rule to take back
	CodeBusy          = "busy"           // a running workflow is at work on the same component
	CodeOwnChange     = "own_change"     // who asked for it may not approve it on this install
	CodeNotRetryable  = "not_retryable"  // nothing failed at the step, or it cannot be begun again
	CodeNotSkippable  = "not_skippable"  // the step is at work, or has ended
)

// Error gives title and remedy.
func (c *Conflict) Error() string { return c.Title + ". " + c.Remedy }

func conflict(code, remedy, title string, args ...any) error {
	return &Conflict{Code: code, Title: fmt.Sprintf(title, args...), Remedy: remedy}
}

// Unavailable is World's word that a step cannot be begun, now or later: its component stalls with the reason, which says what
// a person can do about it. It is never tried again by itself.
type Unavailable struct {
	Reason string
	Gone   bool // an action that the app does not have any more: one that an event was to run is passed over
}

// Error gives the reason.
func (u *Unavailable) Error() string { return u.Reason }
