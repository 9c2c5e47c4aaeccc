package control

import (
	"context"
	"errors"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// RetryStep implements POST /v1/workflows/{workflow}/steps/{step}/retry.
func (s *Server) RetryStep(ctx context.Context, r RetryStepRequestObject) (RetryStepResponseObject, error) {
	var w api.Workflow
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if w, err = viewStepOf(ctx, tx, r.Workflow, r.Step); err != nil {
			return err
		}
		actor := callerOf(ctx).actor
		in, err := s.retryStep(ctx, tx, w.ID, r.Step, actor)
		if err != nil {
			return err
		}
		detail := map[string]any{"step": r.Step, "in": in}
		w.ID = in
		return tx.Audit(ctx, actor, "step.retry", r.Step, detail)
	})
	if err != nil {
		return nil, err
	}
	w, err = s.advanced(ctx, w.ID)
	return RetryStep200JSONResponse(w), err
}

// SkipStep implements POST /v1/workflows/{workflow}/steps/{step}/skip.
func (s *Server) SkipStep(ctx context.Context, r SkipStepRequestObject) (SkipStepResponseObject, error) {
	var w api.Workflow
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if w, err = viewStepOf(ctx, tx, r.Workflow, r.Step); err != nil {
			return err
		}
		actor := callerOf(ctx).actor
		if err := s.services.Workflows.SkipStep(ctx, tx, w.ID, r.Step, actor, r.Body.Reason); err != nil {
			return err
		}
		return tx.Audit(ctx, actor, "step.skip", r.Step, map[string]any{"workflow": w.ID, "reason": r.Body.Reason})
	})
	if err != nil {
		return nil, err
	}
	w, err = s.advanced(ctx, w.ID)
	return SkipStep200JSONResponse(w), err
}

// retryStep retries what failed at a step, in its workflow while that runs and otherwise in a new one.
// It returns the id of the workflow that retries it.
func (s *Server) retryStep(ctx context.Context, tx *store.Tx, workflowID, step, actor string) (string, error) {
	err := s.services.Workflows.RetryStep(ctx, tx, workflowID, step, actor)
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Code != workflow.CodeWorkflowEnded {
		return workflowID, err
	}
	failure, err := s.services.Workflows.FailureAt(ctx, tx, workflowID, step)
	if err != nil {
		return "", err
	}
	return s.services.Rollout.Retry(ctx, tx, failure, actor)
}

// viewStepOf returns the workflow of a step, and requires that the step is part of it.
func viewStepOf(ctx context.Context, tx *store.Tx, workflow, step string) (api.Workflow, error) {
	w, err := viewWorkflow(ctx, tx, workflow)
	if err != nil {
		return w, err
	}
	for _, s := range w.Steps {
		if s.ID == step {
			return w, nil
		}
	}
	return w, named("step", step, store.ErrNotFound)
}

// advanced continues a workflow after a person's decision, and returns it.
func (s *Server) advanced(ctx context.Context, id string) (w api.Workflow, err error) {
	logContinueError(ctx, s.services.Workflows.Reconcile(ctx, callerOf(ctx).org.ID, id))
	err = s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		w, err = viewWorkflow(ctx, tx, id)
		return err
	})
	return w, err
}
