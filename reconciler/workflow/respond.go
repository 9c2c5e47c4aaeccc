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

// Answer is a person's word about a plan.
type Answer string

// The answers, as the database's constraint has them.
const (
	Approve Answer = "approve"
	Reject  Answer = "reject"
)

// mostReason bounds what a person may say, in bytes.
const mostReason = 4 << 10

func tooLong() error {
	return conflict(CodeTooLong, "Say it in fewer words.", "the reason is longer than %d bytes", mostReason)
}

// Response is a person's word about one plan.
type Response struct {
	Approval      string // id
	Answer        Answer
	ContentDigest string // of what was shown to the person
	Actor         string
	Reason        string // may be empty
}

// Respond takes a person's word. It binds to the content digest that was shown; of two that answer, one wins. The audit is the
// caller's. Errors: store.ErrNotFound; a *Conflict when the question no longer waits or the digest is another's.
func Respond(ctx context.Context, tx *store.Tx, r Response) error {
	if r.Answer != Approve && r.Answer != Reject {
		return fmt.Errorf("an answer is %s or %s, not %.20q", Approve, Reject, r.Answer)
	}
	if len(r.Reason) > mostReason {
		return tooLong()
	}
	install, err := tx.ApprovalInstall(ctx, tx.Org, r.Approval)
	if err != nil {
		return fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	if _, err := tx.LockInstall(ctx, tx.Org, install); err != nil {
		return fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	row, err := tx.LockApproval(ctx, tx.Org, r.Approval)
	if err != nil {
		return fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	switch a := row.Approval; {
	case a.Status != string(ApprovalWaiting) || row.PlanStatus != string(PlanReady):
		return conflict(CodeApprovalGone, "Look at what waits now (nuon review).", "this plan of %s no longer waits for an answer: %s", row.Component, answered(a))
	case a.ContentDigest != r.ContentDigest || row.PlanContent != r.ContentDigest:
		return conflict(CodePlanChanged, "Read the plan again (nuon review), then answer.", "what you answered is not the plan of %s that waits", row.Component)
	}
	return r.record(ctx, tx, row)
}

// answered says who or what ended a question, and when.
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

func (r Response) record(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
	status, plan, words := ApprovalApproved, PlanApproved, "approved by "+r.Actor
	if r.Answer == Reject {
		status, plan, words = ApprovalRejected, PlanRejected, "rejected by "+r.Actor
	}
	if r.Reason != "" {
		words += ": " + r.Reason
	}
	err := tx.AddResponse(ctx, store.AddResponseParams{
		OrgID: tx.Org, ID: id.New("rsp"), ApprovalID: r.Approval, ContentDigest: r.ContentDigest,
		Answer: string(r.Answer), Reason: r.Reason, Actor: r.Actor,
	})
	if err != nil {
		return fmt.Errorf("record the answer: %w", err)
	}
	err = one(tx.EndApproval(ctx, store.EndApprovalParams{OrgID: tx.Org, ID: r.Approval, Status: string(status), Reason: words}))
	if err != nil {
		return err
	}
	err = one(tx.MovePlan(ctx, store.MovePlanParams{OrgID: tx.Org, ID: row.Approval.PlanID, Status: string(plan), Reason: words, Was: string(PlanReady)}))
	if err != nil {
		return err
	}
	if err := r.told(ctx, tx, row); err != nil {
		return err
	}
	if err := touch(ctx, tx, row.WorkflowID); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: row.WorkflowID})
}

// told adds to the workflow's trace how long the plan waited for a person.
func (r Response) told(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
	of, err := tx.FindWorkflow(ctx, tx.Org, row.WorkflowID)
	if err != nil {
		return err
	}
	_, span := telemetry.BeginAt(telemetry.Extract(ctx, of.Trace), row.Approval.CreatedAt, "approval", slog.String("org", tx.Org),
		slog.String("install", row.Approval.InstallID), slog.String("workflow", row.WorkflowID), slog.String("answer", string(r.Answer)))
	span.End(nil)
	return nil
}
