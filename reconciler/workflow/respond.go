package workflow

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Answer is a person's response to an approval request.
type Answer string

// The answers, as in the database's constraint.
const (
	Approve Answer = "approve"
	Reject  Answer = "reject"
)

// mostReason bounds a person's reason, in bytes.
const mostReason = 4 << 10

func tooLong() error {
	return conflict(CodeTooLong, "Say it in fewer words.", "the reason is longer than %d bytes", mostReason)
}

// Response is a person's answer to one approval.
type Response struct {
	Approval      string // id
	Answer        Answer
	Plan          string // id of the plan that was displayed to the person; empty if the approval is not about a plan
	ContentDigest string // of what was displayed
	Actor         string
	Reason        string // may be empty
}

// Respond records a person's answer. It is bound to the plan and the content digest
// that were displayed; if two people answer, the first one counts. The caller writes
// the audit entry. Errors: store.ErrNotFound; a *Conflict if the approval no longer
// waits, something else was displayed, or the person may not approve their own request.
func Respond(ctx context.Context, tx *store.Tx, r Response) error {
	if r.Answer != Approve && r.Answer != Reject {
		return fmt.Errorf("an answer is %s or %s, not %.20q", Approve, Reject, r.Answer)
	}
	if len(r.Reason) > mostReason {
		return tooLong()
	}
	installID, err := tx.ApprovalInstall(ctx, tx.Org, r.Approval)
	if err != nil {
		return fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	install, err := tx.LockInstall(ctx, tx.Org, installID)
	if err != nil {
		return fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	row, err := tx.LockApproval(ctx, tx.Org, r.Approval)
	if err != nil {
		return fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	a, what := row.Approval, subjectOf(row)
	plan := a.Kind == ApprovalOfPlan
	switch {
	case a.Status != string(ApprovalWaiting) || plan && row.PlanStatus != string(PlanReady):
		return conflict(CodeApprovalGone, "Look at what waits now (nuon review).", "%s no longer waits for an answer: %s",
			what, answered(a))
	case plan && *a.PlanID != r.Plan:
		return conflict(CodePlanChanged, readAgain(a), "your answer is about another plan than %s, which waits (plan %s)",
			what, *a.PlanID)
	case a.ContentDigest != r.ContentDigest:
		return conflict(CodePlanChanged, readAgain(a), "your answer is about other content than %s has now (%s)", what,
			a.ContentDigest)
	case r.Answer == Approve && install.ApprovalsByOthers && a.Author == r.Actor:
		return conflict(CodeOwnChange, "Ask another approver, or have the install changed: nuon installs update "+install.ID+
			" --approvals-by-others=false.",
			"%s asked for this, and install %s lets nobody approve what they asked for themselves", r.Actor, install.Name)
	}
	if err := r.record(ctx, tx, row); err != nil {
		return err
	}
	if a.Kind == ApprovalOfSettings {
		return r.answerSettings(ctx, tx, install, row)
	}
	return r.answerWork(ctx, tx, row)
}

func readAgain(a store.Approval) string {
	return "Read what waits (nuon review " + a.ID + "), then answer."
}

// subjectOf returns the subject of an approval, for messages.
func subjectOf(row store.LockApprovalRow) string {
	switch row.Approval.Kind {
	case ApprovalOfSettings:
		return "this change of the approval settings"
	case ApprovalOfScripts:
		return "this approval of scripts"
	}
	return "this plan of " + row.Component
}

// answered returns how an approval request ended, and when.
func answered(a store.Approval) string {
	words := a.Reason
	if a.Status == string(ApprovalWithdrawn) {
		words = "withdrawn: " + words
	}
	if a.EndedAt != nil {
		words += ", on " + a.EndedAt.UTC().Format("2006-01-02 at 15:04:05 UTC")
	}
	return words
}

// words returns the answer as it is shown.
func (r Response) words() string {
	words := "approved by " + r.Actor
	if r.Answer == Reject {
		words = "rejected by " + r.Actor
	}
	if r.Reason != "" {
		words += ": " + r.Reason
	}
	return words
}

// record stores the answer, and ends the approval request.
func (r Response) record(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
	status := ApprovalApproved
	if r.Answer == Reject {
		status = ApprovalRejected
	}
	err := tx.AddResponse(ctx, store.AddResponseParams{
		OrgID: tx.Org, ID: id.New("rsp"), ApprovalID: r.Approval, ContentDigest: r.ContentDigest,
		Answer: string(r.Answer), Reason: r.Reason, Actor: r.Actor,
	})
	if err != nil {
		return fmt.Errorf("record the answer: %w", err)
	}
	return one(tx.EndApproval(ctx, store.EndApprovalParams{OrgID: tx.Org, ID: row.Approval.ID, Status: string(status),
		Reason: r.words()}))
}

// answerWork applies an answer about the work of a workflow, which then continues.
func (r Response) answerWork(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
	if err := r.answerScripts(ctx, tx, row); err != nil {
		return err
	}
	if plan := row.Approval.PlanID; plan != nil {
		to := PlanApproved
		if r.Answer == Reject {
			to = PlanRejected
		}
		err := one(tx.MovePlan(ctx, store.MovePlanParams{OrgID: tx.Org, ID: *plan, Status: string(to), Reason: r.words(),
			Was: string(PlanReady)}))
		if err != nil {
			return err
		}
	}
	workflow := *row.Approval.WorkflowID
	if err := r.told(ctx, tx, row); err != nil {
		return err
	}
	if err := touch(ctx, tx, workflow); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: workflow})
}

// told adds a span to the workflow's trace: how long the plan waited for an answer.
func (r Response) told(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
	of, err := tx.FindWorkflow(ctx, tx.Org, *row.Approval.WorkflowID)
	if err != nil {
		return err
	}
	_, span := telemetry.BeginAt(telemetry.Extract(ctx, of.Trace), row.Approval.CreatedAt, "approval",
		slog.String("org", tx.Org),
		slog.String("install", row.Approval.InstallID), slog.String("workflow", *row.Approval.WorkflowID),
		slog.String("answer", string(r.Answer)))
	span.End(nil)
	return nil
}
