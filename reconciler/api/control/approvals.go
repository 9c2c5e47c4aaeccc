package control

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// maxReports is the maximum number of plans in one list with reports, each of which may have
// several megabytes.
const maxReports = 50

// ListApprovals implements GET /v1/approvals.
func (s *Server) ListApprovals(ctx context.Context, r ListApprovalsRequestObject) (ListApprovalsResponseObject, error) {
	var list api.ApprovalList
	if err := oneOf(
		r.Params.Status == "" || r.Params.Status.Valid(), "bad_status", "status of an approval",
		string(r.Params.Status), "waiting", "approved", "rejected", "withdrawn",
	); err != nil {
		return nil, err
	}
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, err := installFilter(ctx, tx, r.Params.Install)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		if !r.Params.Brief {
			most = min(most, maxReports+1)
		}
		assignee := assigneeFilter(ctx, r.Params.Assignee)
		rows, err := tx.ViewApprovals(ctx, store.ViewApprovalsParams{
			OrgID: tx.Org, Status: orElse(string(r.Params.Status), "waiting"), InstallID: install,
			GroupDigest: r.Params.Group, Brief: r.Params.Brief,
			OfAssignee: r.Params.Assignee != "", Assignee: assignee,
			Before: before(r.Params.Cursor), Most: most,
		})
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most, func(a store.ViewApprovalsRow) string { return a.ID })
		responses, err := tx.ViewResponses(ctx, tx.Org,
			each(rows, func(a store.ViewApprovalsRow) string { return a.ID }))
		if err != nil {
			return err
		}
		list.Items = make([]api.Approval, len(rows))
		for i, row := range rows {
			if list.Items[i], err = approvalOf(ctx, store.ViewApprovalRow(row), responses); err != nil {
				return err
			}
		}
		return nil
	})
	return ListApprovals200JSONResponse(list), err
}

// GetApproval implements GET /v1/approvals/{approval}.
func (s *Server) GetApproval(ctx context.Context, r GetApprovalRequestObject) (GetApprovalResponseObject, error) {
	var a api.Approval
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		a, err = viewApproval(ctx, tx, r.Approval)
		return err
	})
	return GetApproval200JSONResponse(a), err
}

// RespondApproval implements POST /v1/approvals/{approval}/response.
func (s *Server) RespondApproval(
	ctx context.Context, r RespondApprovalRequestObject,
) (RespondApprovalResponseObject, error) {
	var a api.Approval
	if err := oneOf(
		r.Body.Answer.Valid(), "bad_answer", "answer", string(r.Body.Answer), "approve", "reject",
	); err != nil {
		return nil, err
	}
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if a, err = viewApproval(ctx, tx, r.Approval); err != nil {
			return err
		}
		actor := callerOf(ctx).actor
		recorded, err := workflow.Respond(ctx, tx, workflow.Response{
			Approval: a.ID, Answer: workflow.Answer(r.Body.Answer), Plan: r.Body.Plan,
			ContentDigest: r.Body.ContentDigest, Actor: actor, Reason: r.Body.Reason,
		})
		if err != nil || !recorded {
			return err
		}
		detail := map[string]any{
			"kind": a.Kind, "install": a.InstallID, "content_digest": r.Body.ContentDigest, "reason": r.Body.Reason,
		}
		return tx.Audit(ctx, actor, "approval."+string(r.Body.Answer), a.ID, detail)
	})
	if err != nil {
		return nil, err
	}
	if a.Workflow != "" {
		logContinueError(ctx, s.services.Workflows.Reconcile(ctx, callerOf(ctx).org.ID, a.Workflow))
	}
	err = s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		a, err = viewApproval(ctx, tx, a.ID)
		return err
	})
	return RespondApproval200JSONResponse(a), err
}

func viewApproval(ctx context.Context, tx *store.Tx, key string) (api.Approval, error) {
	row, err := tx.ViewApproval(ctx, tx.Org, key)
	if err != nil {
		return api.Approval{}, named("approval", key, err)
	}
	responses, err := tx.ViewResponses(ctx, tx.Org, []string{row.ID})
	if err != nil {
		return api.Approval{}, err
	}
	return approvalOf(ctx, row, responses)
}

func approvalOf(ctx context.Context, row store.ViewApprovalRow,
	responses []store.ApprovalResponse) (api.Approval, error) {
	out := api.Approval{
		ID: row.ID, Kind: api.ApprovalKind(row.Kind), Status: api.ApprovalStatus(row.Status), Install: row.Install,
		InstallID: row.InstallID, App: row.App,
		Component: row.Component, Workflow: row.WorkflowID, Plan: row.Plan, Author: row.Author,
		ContentDigest: row.ContentDigest, Group: row.GroupDigest,
		Report: row.Report, ScriptReport: row.Scripts, Totals: row.Totals, Destructive: row.Destructive,
		Destroy: row.Destroy, Restore: int(row.Restore),
		IndividualApproval: row.IndividualApproval,
		Reason:             row.Reason, Because: row.Because, CreatedAt: row.CreatedAt,
		Assignee: row.Assignee, AssignedBy: row.AssignedBy,
		Yours: row.Assignee != "" && row.Assignee == callerOf(ctx).actor,
	}
	if err := json.Unmarshal(row.Subject, &out.Scripts); err != nil {
		return out, fmt.Errorf("read the scripts of approval %s: %w", row.ID, err)
	}
	if err := json.Unmarshal(row.DeniedBy, &out.DeniedBy); err != nil {
		return out, fmt.Errorf("read the policies that deny approval %s: %w", row.ID, err)
	}
	for _, r := range responses {
		if r.ApprovalID != row.ID {
			continue
		}
		out.Response = api.GivenResponse{Answer: r.Answer, Actor: r.Actor, Reason: r.Reason, At: r.At}
		if len(r.Rule) > 0 {
			if err := json.Unmarshal(r.Rule, &out.Response.Rule); err != nil {
				return out, fmt.Errorf("read the rule of approval %s: %w", row.ID, err)
			}
		}
	}
	return out, nil
}
