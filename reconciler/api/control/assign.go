package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// The words that stand for an assignee: the caller, and nobody.
const (
	assigneeMe   = "me"
	assigneeNone = "none"
)

// assigneeFilter returns the assignee that a filter means, empty for nobody.
func assigneeFilter(ctx context.Context, word string) string {
	switch word {
	case assigneeMe:
		return callerOf(ctx).actor
	case assigneeNone:
		return ""
	}
	return word
}

// AssignApproval implements PUT /v1/approvals/{approval}/assignee. An assignment forbids no answer: it
// only shows a team who reads what.
func (s *Server) AssignApproval(
	ctx context.Context, r AssignApprovalRequestObject,
) (AssignApprovalResponseObject, error) {
	var a api.Approval
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		a, err = assign(ctx, tx, r.Approval, *r.Body)
		return err
	})
	return AssignApproval200JSONResponse(a), err
}

func assign(ctx context.Context, tx *store.Tx, key string, body api.Assignment) (a api.Approval, err error) {
	if a, err = viewApproval(ctx, tx, key); err != nil {
		return a, err
	}
	locked, err := tx.LockApproval(ctx, tx.Org, a.ID)
	if err != nil {
		return a, err
	}
	to, actor := assigneeFilter(ctx, body.Assignee), callerOf(ctx).actor
	switch was := locked.Approval.Assignee; {
	case locked.Approval.Status != string(workflow.ApprovalWaiting):
		return a, refusal.New(refusal.Conflict, workflow.CodeApprovalGone,
			"this approval is no longer waiting: "+locked.Approval.Reason, "See what is waiting now (nuon review).")
	case body.Expected != nil && *body.Expected != was && was != to:
		return a, refusal.New(refusal.Conflict, "assignee_changed", fmt.Sprintf(
			"the approval of %s on %s is assigned to %s now (by %s)", orElse(a.Component, string(a.Kind)), a.Install,
			orElse(was, "nobody"), locked.Approval.AssignedBy), "Ask them, or assign it again.")
	case was == to:
		return a, nil
	}
	if to != "" && to != actor {
		if err := checkAssignee(ctx, tx, to, a); err != nil {
			return a, err
		}
	}
	if _, err := tx.AssignApproval(ctx, store.AssignApprovalParams{
		OrgID: tx.Org, ID: a.ID, Assignee: to, AssignedBy: actor,
	}); err != nil {
		return a, err
	}
	detail := map[string]any{"install": a.InstallID, "assignee": to, "was": locked.Approval.Assignee}
	if err := tx.Audit(ctx, actor, "approval.assign", a.ID, detail); err != nil {
		return a, err
	}
	return viewApproval(ctx, tx, a.ID)
}

// checkAssignee returns an error unless a person or program of this name may answer the approval. A caller that sees
// one app alone gets the same error for every token that may not: the org's tokens are not for it.
func checkAssignee(ctx context.Context, tx *store.Tx, name string, a api.Approval) error {
	no := func(why, remedy string) error {
		return refusal.New(refusal.Invalid, "no_approver", fmt.Sprintf("cannot assign to %.100q: %s", name, why), remedy)
	}
	found, err := tx.ViewToken(ctx, tx.Org, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	why := "there is no token of this name"
	if err == nil {
		why = cannotAnswer(tx, found, name, a)
	}
	switch {
	case why == "":
		return nil
	case tx.App != "":
		return no("there is no token of this name that may answer it", "Ask an admin of the org who can approve.")
	}
	return no(why, "List who can approve (nuon tokens list).")
}

// cannotAnswer returns why a token may not answer an approval, or "".
func cannotAnswer(tx *store.Tx, found store.ViewTokenRow, name string, a api.Approval) string {
	t := found.Token
	switch {
	case t.Name != name:
		return "use the name of the token, " + t.Name
	case t.RevokedAt != nil:
		return "the token is revoked"
	case t.ExpiresAt != nil && t.ExpiresAt.Before(tx.Now()):
		return "the token has expired"
	case roleNamed(t.Role) < approver:
		return fmt.Sprintf("the token is %s, and only approvers and admins can answer", t.Role)
	case t.AppID != nil && found.App != a.App: // without a name, the app is none that the caller sees
		return "the token is only for app " + found.App
	}
	return ""
}
