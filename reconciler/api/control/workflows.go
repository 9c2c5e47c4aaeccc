package control

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// ListWorkflows implements GET /v1/workflows.
func (s *Server) ListWorkflows(ctx context.Context, r ListWorkflowsRequestObject) (ListWorkflowsResponseObject, error) {
	var list api.WorkflowList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, err := installFilter(ctx, tx, r.Params.Install)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		rows, err := tx.ViewWorkflows(ctx, store.ViewWorkflowsParams{
			OrgID: tx.Org, InstallID: install, Status: r.Params.Status, Kind: r.Params.Kind,
			Before: before(r.Params.Cursor), Most: most,
		})
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most, func(w store.ViewWorkflowsRow) string { return w.Workflow.ID })
		steps, err := tx.ViewSteps(ctx, tx.Org,
			each(rows, func(w store.ViewWorkflowsRow) string { return w.Workflow.ID }))
		if err != nil {
			return err
		}
		waits, err := waitsOf(ctx, tx, each(steps, jobOf))
		if err != nil {
			return err
		}
		rules, err := workflow.ApproverRules(ctx, tx,
			each(rows, func(w store.ViewWorkflowsRow) store.Workflow { return w.Workflow })...)
		if err != nil {
			return err
		}
		list.Items, err = eachErr(rows, func(w store.ViewWorkflowsRow) (api.Workflow, error) {
			out, err := workflowOf(w.Workflow, w.Install, w.App, w.Commit, steps, waits)
			out.Rule = rules[out.ID]
			return out, err
		})
		return err
	})
	return ListWorkflows200JSONResponse(list), err
}

// installFilter returns the id of the install that a list is limited to, empty for all.
func installFilter(ctx context.Context, tx *store.Tx, key string) (string, error) {
	if key == "" {
		return "", nil
	}
	install, _, err := findInstall(ctx, tx, key)
	return install.ID, err
}

// GetWorkflow implements GET /v1/workflows/{workflow}.
func (s *Server) GetWorkflow(ctx context.Context, r GetWorkflowRequestObject) (GetWorkflowResponseObject, error) {
	var w api.Workflow
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		w, err = viewWorkflow(ctx, tx, r.Workflow)
		return err
	})
	return GetWorkflow200JSONResponse(w), err
}

// CancelWorkflow implements POST /v1/workflows/{workflow}/cancel.
func (s *Server) CancelWorkflow(
	ctx context.Context, r CancelWorkflowRequestObject,
) (CancelWorkflowResponseObject, error) {
	actor := callerOf(ctx).actor
	w, err := s.changeWorkflow(ctx, r.Workflow, func(ctx context.Context, tx *store.Tx, w api.Workflow) error {
		if err := workflow.Cancel(ctx, tx, w.ID, actor, r.Body.Reason); err != nil {
			return err
		}
		return tx.Audit(ctx, actor, "workflow.cancel", w.ID, map[string]any{"reason": r.Body.Reason})
	})
	return CancelWorkflow200JSONResponse(w), err
}

// SetWorkflowRule implements POST /v1/workflows/{workflow}/rule.
func (s *Server) SetWorkflowRule(
	ctx context.Context, r SetWorkflowRuleRequestObject,
) (SetWorkflowRuleResponseObject, error) {
	c := callerOf(ctx)
	by := workflow.Approver{Name: c.actor, Token: c.token, Reason: r.Body.Reason}
	w, err := s.changeWorkflow(ctx, r.Workflow, func(ctx context.Context, tx *store.Tx, w api.Workflow) error {
		if err := workflow.ApproveWorkflow(ctx, tx, w.ID, by); err != nil {
			return err
		}
		return tx.Audit(ctx, c.actor, "workflow.approve", w.ID, map[string]any{
			"install": w.InstallID, "reason": by.Reason,
		})
	})
	return SetWorkflowRule200JSONResponse(w), err
}

// RevokeWorkflowRule implements DELETE /v1/workflows/{workflow}/rule.
func (s *Server) RevokeWorkflowRule(
	ctx context.Context, r RevokeWorkflowRuleRequestObject,
) (RevokeWorkflowRuleResponseObject, error) {
	w, err := s.changeWorkflow(ctx, r.Workflow, func(ctx context.Context, tx *store.Tx, w api.Workflow) error {
		if err := workflow.RevokeWorkflowRule(ctx, tx, w.ID); err != nil {
			return err
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "workflow.revoke", w.ID, map[string]any{
			"install": w.InstallID, "of": w.Rule.By,
		})
	})
	return RevokeWorkflowRule200JSONResponse(w), err
}

// changeWorkflow changes a workflow, advances it at once, and returns its new state.
func (s *Server) changeWorkflow(
	ctx context.Context, key string, change func(context.Context, *store.Tx, api.Workflow) error,
) (w api.Workflow, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if w, err = viewWorkflow(ctx, tx, key); err != nil {
			return err
		}
		return change(ctx, tx, w)
	})
	if err != nil {
		return w, err
	}
	return s.advanced(ctx, w.ID)
}

func viewWorkflow(ctx context.Context, tx *store.Tx, key string) (api.Workflow, error) {
	row, err := tx.ViewWorkflow(ctx, tx.Org, key)
	if err != nil {
		return api.Workflow{}, named("workflow", key, err)
	}
	steps, err := tx.ViewSteps(ctx, tx.Org, []string{row.Workflow.ID})
	if err != nil {
		return api.Workflow{}, err
	}
	waits, err := waitsOf(ctx, tx, each(steps, jobOf))
	if err != nil {
		return api.Workflow{}, err
	}
	w, err := workflowOf(row.Workflow, row.Install, row.App, row.Commit, steps, waits)
	if err != nil {
		return w, err
	}
	rules, err := workflow.ApproverRules(ctx, tx, row.Workflow)
	w.Rule = rules[w.ID]
	return w, err
}

func jobOf(s store.ViewStepsRow) *string { return s.Step.JobID }

// workflowOf returns a workflow with its own steps among steps. waits explains why jobs have not
// started, by job.
func workflowOf(
	w store.Workflow, install, app, commit string, steps []store.ViewStepsRow, waits map[string]string,
) (api.Workflow, error) {
	out := api.Workflow{
		ID: w.ID, Number: int(w.Number), Install: install, InstallID: w.InstallID, App: app,
		Kind:     api.WorkflowKind(w.Kind),
		PlanOnly: w.PlanOnly, Release: int(w.Release), Commit: commit, Status: api.WorkflowStatus(w.Status),
		Reason: w.Reason, Outcome: w.Outcome, RequestedBy: w.RequestedBy, Revision: w.Revision,
		CreatedAt: w.CreatedAt, Steps: []api.Step{},
	}
	if w.EndedAt != nil {
		out.EndedAt = *w.EndedAt
	}
	for _, s := range steps {
		if s.Step.WorkflowID != w.ID {
			continue
		}
		step, err := viewStep(s, waits)
		if err != nil {
			return api.Workflow{}, err
		}
		out.Steps = append(out.Steps, step)
	}
	return out, nil
}

func viewStep(row store.ViewStepsRow, waits map[string]string) (api.Step, error) {
	s := row.Step
	step := api.Step{
		ID: s.ID, Kind: api.StepKind(s.Kind), Component: s.Component, Action: s.Action,
		Trigger: s.Trigger, Destroy: s.Destroy,
		Status: api.StepStatus(s.Status), Reason: s.Reason, Tries: int(s.Tries), RejectedBy: s.RejectedBy,
		Approval: row.Approval, Needs: []string{},
	}
	if err := json.Unmarshal(s.Needs, &step.Needs); err != nil {
		return api.Step{}, fmt.Errorf("read needs of step %s: %w", s.ID, err)
	}
	if s.Kind == string(workflow.StepAction) {
		var err error
		if step.Sources, err = workflow.StepSources(s.Target); err != nil {
			return api.Step{}, fmt.Errorf("step %s: %w", s.ID, err)
		}
	}
	if s.PlanID != nil {
		step.Plan = *s.PlanID
	}
	if s.JobID != nil {
		step.Job = *s.JobID
		if why := waits[step.Job]; why != "" && s.EndedAt == nil {
			step.Reason = why
		}
	}
	if s.StartedAt != nil {
		step.StartedAt = *s.StartedAt
	}
	if s.EndedAt != nil {
		step.EndedAt = *s.EndedAt
	}
	return step, nil
}
