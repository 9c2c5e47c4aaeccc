package workflow

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

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

// maxReasonBytes bounds a person's reason, in bytes.
const maxReasonBytes = 4 << 10

func reasonTooLong() error {
	return conflict(CodeTooLong, "Write a shorter reason.", "the reason is longer than %d bytes", maxReasonBytes)
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
// that were displayed; if two people answer, the first one counts. The same answer of
// the same person again (the response to it may have been lost) changes nothing:
// recorded is false. The caller writes the audit entry of one that is recorded.
// Errors: store.ErrNotFound; a *refusal.Error if the approval no longer waits, something
// else was displayed, or the person may not approve their own request.
func Respond(ctx context.Context, tx *store.Tx, r Response) (recorded bool, err error) {
	if r.Answer != Approve && r.Answer != Reject {
		return false, fmt.Errorf("an answer must be %s or %s, not %.20q", Approve, Reject, r.Answer)
	}
	if len(r.Reason) > maxReasonBytes {
		return false, reasonTooLong()
	}
	installID, err := tx.ApprovalInstall(ctx, tx.Org, r.Approval)
	if err != nil {
		return false, fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	install, err := tx.LockInstall(ctx, tx.Org, installID)
	if err != nil {
		return false, fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	row, err := tx.LockApproval(ctx, tx.Org, r.Approval)
	if err != nil {
		return false, fmt.Errorf("approval %s: %w", r.Approval, err)
	}
	a, what := row.Approval, subjectOf(row)
	if a.Status != string(ApprovalWaiting) {
		if again, err := r.wasRecorded(ctx, tx, a); again || err != nil {
			return false, err
		}
	}
	plan := a.Kind == ApprovalOfPlan
	switch {
	case a.Status != string(ApprovalWaiting) || plan && row.PlanStatus != string(PlanReady):
		return false, conflict(CodeApprovalGone, "See what is waiting now (nuon review).", "%s is no longer waiting: %s",
			what, approvalEndText(a))
	case plan && *a.PlanID != r.Plan:
		return false, conflict(CodePlanChanged, readAgainRemedy(a),
			"your answer is for another plan than the one that is waiting (plan %s)", *a.PlanID)
	case a.ContentDigest != r.ContentDigest:
		return false, conflict(CodePlanChanged, readAgainRemedy(a),
			"your answer is for other content than %s has now (%s)", what, a.ContentDigest)
	case r.Answer == Approve && row.Denied > 0:
		return false, conflict(CodePolicyDenies, "Change what the policy denies and push, or reject the plan; its report "+
			"has the messages (nuon review "+a.ID+").", "a policy of the app denies %s, so nobody can approve it", what)
	}
	if r.Answer == Approve {
		if err := checkOwnChange(install, a.Author, a.Kind != ApprovalOfSettings, r.Actor); err != nil {
			return false, err
		}
	}
	if err := r.recordAnswer(ctx, tx, row); err != nil {
		return false, err
	}
	if a.Kind == ApprovalOfSettings {
		return true, r.applySettingsAnswer(ctx, tx, install, row)
	}
	return true, r.continueWorkflow(ctx, tx, row)
}

// checkOwnChange returns an error if an install does not allow a person to approve something because they requested it.
// A workflow may also follow from a change of the desired state that was requested while another one ran, so until the
// install has reached that state, nobody who changed it approves the work of a workflow.
func checkOwnChange(install store.Install, requester string, work bool, person string) error {
	remedy := "Ask another approver, or have the install changed: nuon installs update " + install.ID +
		" --approvals-by-others=false."
	switch {
	case !install.ApprovalsByOthers:
		return nil
	case requester == person:
		return conflict(CodeOwnChange, remedy,
			"%s requested this, and install %s does not allow people to approve what they requested themselves", person,
			install.Name)
	case work && slices.Contains(install.DesiredBy, person):
		return conflict(CodeOwnChange, remedy,
			"%s changed the desired state of install %s, which has not reached it yet and does not allow people to approve "+
				"what they requested themselves", person, install.Name)
	}
	return nil
}

// wasRecorded reports whether the same person has given exactly this answer before. An approval by a rule,
// which names the person who set it, is no answer.
func (r Response) wasRecorded(ctx context.Context, tx *store.Tx, a store.Approval) (bool, error) {
	given, err := tx.ViewResponses(ctx, tx.Org, []string{a.ID})
	if err != nil {
		return false, fmt.Errorf("read the answer to approval %s: %w", a.ID, err)
	}
	samePlan := a.PlanID == nil && r.Plan == "" || a.PlanID != nil && *a.PlanID == r.Plan
	return samePlan && slices.ContainsFunc(given, func(g store.ApprovalResponse) bool {
		return g.Actor == r.Actor && g.Rule == nil && g.Answer == string(r.Answer) && g.Reason == r.Reason &&
			g.ContentDigest == r.ContentDigest
	}), nil
}

func readAgainRemedy(a store.Approval) string {
	return "Read what is waiting (nuon review " + a.ID + "), then answer."
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

// approvalEndText returns how an approval request ended, and when.
func approvalEndText(a store.Approval) string {
	words := a.Reason
	if a.Status == string(ApprovalWithdrawn) {
		words = "withdrawn: " + words
	}
	if a.EndedAt != nil {
		words += ", on " + a.EndedAt.UTC().Format("2006-01-02 at 15:04:05 UTC")
	}
	return words
}

// text returns the answer as it is shown.
func (r Response) text() string {
	words := "approved by " + r.Actor
	if r.Answer == Reject {
		words = "rejected by " + r.Actor
	}
	if r.Reason != "" {
		words += ": " + r.Reason
	}
	return words
}

// recordAnswer stores the answer, and ends the approval request.
func (r Response) recordAnswer(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
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
	return expectOneRow(tx.EndApproval(ctx, store.EndApprovalParams{OrgID: tx.Org, ID: row.Approval.ID,
		Status: string(status),
		Reason: r.text()}))
}

// continueWorkflow applies an answer about the work of a workflow, which then continues.
func (r Response) continueWorkflow(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
	if err := r.recordScriptAnswers(ctx, tx, row); err != nil {
		return err
	}
	if plan := row.Approval.PlanID; plan != nil {
		to := PlanApproved
		if r.Answer == Reject {
			to = PlanRejected
		}
		err := expectOneRow(tx.SetPlanStatus(ctx, store.SetPlanStatusParams{OrgID: tx.Org, ID: *plan, Status: string(to),
			Reason: r.text(),
			Was:    string(PlanReady)}))
		if err != nil {
			return err
		}
	}
	workflow := *row.Approval.WorkflowID
	if err := r.recordApprovalSpan(ctx, tx, row); err != nil {
		return err
	}
	if err := touchWorkflow(ctx, tx, workflow); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: workflow})
}

// recordApprovalSpan adds a span to the workflow's trace: how long the plan waited for an answer.
func (r Response) recordApprovalSpan(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
	of, err := tx.FindWorkflow(ctx, tx.Org, *row.Approval.WorkflowID)
	if err != nil {
		return err
	}
	_, span := telemetry.StartSpanAt(telemetry.Extract(ctx, of.Trace), row.Approval.CreatedAt, "approval",
		slog.String("org", tx.Org),
		slog.String("install", row.Approval.InstallID), slog.String("workflow", *row.Approval.WorkflowID),
		slog.String("answer", string(r.Answer)))
	span.End(nil)
	return nil
}
