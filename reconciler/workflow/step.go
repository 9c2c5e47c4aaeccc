package workflow

import (
	"context"
	"fmt"
	"maps"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// RetryStep restarts what failed at a step, in the step's own workflow while that
// runs. It records the actor as one who changed the desired state, because it deletes
// rejections: the next plan is in the name of the workflow's requester. Errors:
// store.ErrNotFound; a *refusal.Error with CodeWorkflowEnded if the workflow has ended,
// so that a new one is needed, or with CodeNotRetryable.
func (e *Engine) RetryStep(ctx context.Context, tx *store.Tx, workflowID, stepID, actor string) error {
	err := e.applyRequest(ctx, tx, workflowID, stepID, func(f *executor, s *Step) ([]Command, error) {
		if err := tx.AddDesiredBy(ctx, actor, tx.Org, f.install.ID); err != nil {
			return nil, err
		}
		return Retry(f.graph, s, actor)
	})
	if err != nil {
		return fmt.Errorf("retry step %s: %w", stepID, err)
	}
	return nil
}

// SkipStep continues a running workflow without what the step belongs to. Errors:
// store.ErrNotFound; a *refusal.Error with CodeWorkflowEnded or CodeNotSkippable.
func (e *Engine) SkipStep(ctx context.Context, tx *store.Tx, workflowID, stepID, actor, reason string) error {
	if len(reason) > maxReasonBytes {
		return reasonTooLong()
	}
	err := e.applyRequest(ctx, tx, workflowID, stepID, func(f *executor, s *Step) ([]Command, error) {
		return Skip(f.graph, s, actor, reason)
	})
	if err != nil {
		return fmt.Errorf("skip step %s: %w", stepID, err)
	}
	return nil
}

// applyRequest applies a person's request about one step. It first advances the workflow until
// the core returns no more commands, then runs the request's commands and advances again.
func (e *Engine) applyRequest(ctx context.Context, tx *store.Tx, workflowID, stepID string,
	ask func(*executor, *Step) ([]Command, error)) error {
	f, s, err := e.loadStep(ctx, tx, workflowID, stepID)
	if err != nil {
		return err
	}
	if err := f.advance(ctx); err != nil {
		return err
	}
	if f.graph.Status != Running {
		return conflict(CodeWorkflowEnded, "Nothing can be retried or skipped.", "workflow %d has ended: %s",
			f.row.Number,
			f.graph.Status)
	}
	todo, err := ask(f, s)
	if err != nil {
		return err
	}
	// The components of steps that had ended were free for other workflows.
	if err := checkComponentsFree(ctx, tx, f.install.ID, workflowID, f.graph.restartedComponents(todo)); err != nil {
		return err
	}
	for _, c := range todo {
		if err := f.execute(ctx, c); err != nil {
			return err
		}
	}
	if err := touchWorkflow(ctx, tx, workflowID); err != nil {
		return err
	}
	if err := tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: f.install.ID}); err != nil {
		return err
	}
	// Loaded again: refusals affect the desired state.
	if f, err = e.load(ctx, tx, f.install, workflowID); err != nil {
		return err
	}
	return f.advance(ctx)
}

// loadStep loads the workflow of a step under its install's lock.
func (e *Engine) loadStep(ctx context.Context, tx *store.Tx, workflowID, stepID string) (*executor, *Step, error) {
	row, err := tx.FindWorkflow(ctx, tx.Org, workflowID)
	if err != nil {
		return nil, nil, err
	}
	install, err := tx.LockInstall(ctx, tx.Org, row.InstallID)
	if err != nil {
		return nil, nil, err
	}
	f, err := e.load(ctx, tx, install, workflowID)
	if err != nil {
		return nil, nil, err
	}
	if f.graph.Status != Running {
		return nil, nil, conflict(CodeWorkflowEnded, "Nothing can be retried or skipped.", "workflow %d has ended: %s",
			f.row.Number, f.row.Status)
	}
	s := f.graph.stepByID(stepID)
	if s == nil {
		return nil, nil, store.ErrNotFound
	}
	return f, s, nil
}

// Failure describes what failed at a step of a workflow that has ended: components, or one action.
type Failure struct {
	Workflow         store.Workflow
	Components       []string // including those that were skipped because of the failure
	FailedComponents []string // those at which it failed
	Action           TriggeredAction
	OfComponent      string // the component that the action is about
	Params           WorkflowParams
}

// FailureAt returns what failed at a step, so that a new workflow can retry it.
// Errors: store.ErrNotFound; a *refusal.Error with CodeNotRetryable.
func (e *Engine) FailureAt(ctx context.Context, tx *store.Tx, workflowID, stepID string) (Failure, error) {
	row, err := tx.FindWorkflow(ctx, tx.Org, workflowID)
	if err != nil {
		return Failure{}, fmt.Errorf("retry step %s: %w", stepID, err)
	}
	f := &executor{engine: e, tx: tx, row: row, stepRows: map[string]store.Step{},
		graph: &Graph{Kind: Kind(row.Kind), PlanOnly: row.PlanOnly}}
	for _, load := range []func(context.Context) error{f.loadSteps, f.loadPlans} {
		if err := load(ctx); err != nil {
			return Failure{}, err
		}
	}
	s := f.graph.stepByID(stepID)
	if s == nil {
		return Failure{}, fmt.Errorf("retry step %s: %w", stepID, store.ErrNotFound)
	}
	failure := Failure{Workflow: row}
	if failure.Params, err = decodeParams(row); err != nil {
		return Failure{}, err
	}
	again := map[*Step]bool{}
	if err := f.graph.collectFailed(s, again); err != nil {
		return Failure{}, err
	}
	asked := maps.Clone(again)
	f.graph.collectSkipped(again)
	switch {
	case f.graph.PlanOnly:
		return Failure{}, notRetryable("Start another with `nuon deploy --plan-only`.",
			"the workflow only planned, and has ended")
	case f.graph.Kind == KindRestore:
		return Failure{}, notRetryable("Request it again with `nuon state restore`.", "the restore has ended")
	case s.Kind == StepAction && !s.isPreAction():
		failure.Action, failure.OfComponent = TriggeredAction{Action: s.Action, Trigger: s.Trigger}, s.Component
		return failure, nil
	}
	for _, gr := range f.graph.groups() {
		if again[gr.plan] {
			failure.Components = append(failure.Components, gr.plan.Component)
		}
		if asked[gr.plan] {
			failure.FailedComponents = append(failure.FailedComponents, gr.plan.Component)
		}
	}
	if len(failure.Components) == 0 {
		return Failure{}, notRetryable("There is nothing to do.", "nothing was stopped by action %s", s.Action)
	}
	return failure, nil
}
