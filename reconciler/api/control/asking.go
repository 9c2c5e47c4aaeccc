package control

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// CreateWorkflow implements POST /v1/installs/{install}/workflows.
func (s *Server) CreateWorkflow(
	ctx context.Context, r CreateWorkflowRequestObject,
) (CreateWorkflowResponseObject, error) {
	if err := checkWish(*r.Body); err != nil {
		return nil, err
	}
	var install store.Install
	var asked api.Asked
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if install, _, err = findInstall(ctx, tx, r.Install); err != nil || !r.Body.DryRun {
			return err
		}
		asked, err = s.sketch(ctx, tx, install, *r.Body)
		return err
	})
	if err != nil || r.Body.DryRun {
		return CreateWorkflow201JSONResponse(asked), err
	}
	create := repeatable{operation: "createWorkflow/" + install.ID, key: r.Params.IdempotencyKey, request: r.Body}
	asked, err = once(ctx, s, create,
		func(ctx context.Context, tx *store.Tx) (api.Asked, error) { return s.ask(ctx, tx, install, *r.Body) })
	if err != nil {
		return nil, err
	}
	logContinueError(ctx, s.services.Rollout.Reconcile(ctx, install.OrgID, install.ID))
	err = s.read(ctx, func(ctx context.Context, tx *store.Tx) error { return s.outcome(ctx, tx, install, &asked) })
	return CreateWorkflow201JSONResponse(asked), err
}

// maxNamed is the maximum number of components that one request may name.
const maxNamed = 1000

// checkWish refuses a request that is invalid for any install.
func checkWish(n api.NewWorkflow) error {
	bad := func(title, detail string) error {
		return problem.New(http.StatusBadRequest, "bad_request", title, detail)
	}
	deploy, teardown := n.Kind == api.NewWorkflowKindDeploy, n.Kind == api.NewWorkflowKindTeardown
	switch {
	case !n.Kind.Valid():
		return oneOf(false, "bad_kind", "kind of workflow that can be requested", string(n.Kind), "deploy", "teardown",
			"deprovision", "action")
	case len(n.Components) > maxNamed:
		return bad(fmt.Sprintf("more than %d components are named", maxNamed), "Name fewer.")
	case len(n.Components) > 0 && !deploy && !teardown:
		return bad(fmt.Sprintf("components can only be set for a deploy or a teardown, not for kind %s", n.Kind),
			"Leave them out.")
	case n.Dependents && (!deploy && !teardown || len(n.Components) == 0):
		return bad("dependents needs components of a deploy or a teardown",
			"Name the components, or omit dependents.")
	case n.Redeploy && !deploy:
		return bad("only a deploy can be a redeploy", "Omit redeploy.")
	case n.PlanOnly && n.Kind == api.NewWorkflowKindAction:
		return bad("an action has no plan", "Omit plan_only; dry_run shows what would run.")
	case n.Kind != api.NewWorkflowKindAction && (n.Action != "" || n.Role != "" || len(n.Env) > 0 || len(n.Inputs) > 0):
		return bad("action, role, env and inputs can only be set for kind action", "Omit them, or set kind to action.")
	}
	return nil
}

func wishOf(n api.NewWorkflow, actor string) rollout.DeployRequest {
	return rollout.DeployRequest{
		Kind: workflow.Kind(n.Kind), Components: n.Components, Dependents: n.Dependents, Redeploy: n.Redeploy,
		PlanOnly: n.PlanOnly, Actor: actor,
	}
}

func runOf(n api.NewWorkflow, actor string) rollout.ActionRequest {
	return rollout.ActionRequest{Action: n.Action, Env: n.Env, Inputs: n.Inputs, Role: n.Role, Actor: actor}
}

func (s *Server) ask(ctx context.Context, tx *store.Tx, install store.Install, n api.NewWorkflow) (api.Asked, error) {
	actor, granted := callerOf(ctx).actor, rollout.RequestResult{}
	var err error
	if n.Kind == api.NewWorkflowKindAction {
		granted.Workflow, err = s.services.Rollout.RequestAction(ctx, tx, install, runOf(n, actor))
	} else {
		granted, err = s.services.Rollout.Request(ctx, tx, install, wishOf(n, actor))
	}
	asked := api.Asked{Outcome: granted.Note, Workflow: api.Workflow{ID: granted.Workflow}}
	if err != nil {
		return asked, err
	}
	detail := map[string]any{
		"kind": n.Kind, "components": n.Components, "dependents": n.Dependents, "redeploy": n.Redeploy,
		"plan_only": n.PlanOnly, "action": n.Action,
	}
	if err := tx.Audit(ctx, actor, "workflow.ask", install.ID, detail); err != nil {
		return asked, err
	}
	return asked, tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: install.ID})
}

// outcome adds the result of a request: the workflow that was created or already runs, or why there
// is none.
func (s *Server) outcome(ctx context.Context, tx *store.Tx, install store.Install, asked *api.Asked) error {
	var err error
	if asked.Install, err = s.viewInstall(ctx, tx, install.ID); err != nil {
		return err
	}
	if asked.Workflow.ID == "" && asked.Outcome != "" {
		return nil
	}
	if asked.Workflow.ID == "" {
		running, err := tx.ViewWorkflows(ctx, store.ViewWorkflowsParams{
			OrgID: tx.Org, InstallID: install.ID, Status: "running", Before: before(""), Most: maxRunning,
		})
		if err != nil {
			return err
		}
		if asked.Workflow.ID, asked.Outcome = already(running, asked.Install); asked.Outcome != "" {
			return nil
		}
	}
	asked.Workflow, err = viewWorkflow(ctx, tx, asked.Workflow.ID)
	return err
}

// maxRunning is the maximum number of an install's running workflows that are searched.
const maxRunning = 100

// already returns the running workflow that does what the request asks for, or why there is none. A
// workflow that only plans or runs an action does not count.
func already(running []store.ViewWorkflowsRow, install api.Install) (workflowID, outcome string) {
	outcome = "nothing to do: " + install.Reason
	for _, row := range running {
		switch w := row.Workflow; {
		case w.PlanOnly && install.Status != rollout.StatusCurrent:
			outcome = fmt.Sprintf("it starts once workflow %d, which only plans, has ended: %s",
				w.Number, install.Reason)
		case !w.PlanOnly && w.Kind != string(workflow.KindAction):
			return w.ID, ""
		}
	}
	return "", outcome
}

// sketch returns what would be started, without starting it.
func (s *Server) sketch(
	ctx context.Context, tx *store.Tx, install store.Install, n api.NewWorkflow,
) (asked api.Asked, err error) {
	actor := callerOf(ctx).actor
	if asked.Install, err = s.viewInstall(ctx, tx, install.ID); err != nil {
		return asked, err
	}
	var granted rollout.RequestResult
	if n.Kind == api.NewWorkflowKindAction {
		granted.DryRun = make([]rollout.DryRunWorkflow, 1)
		granted.DryRun[0], err = s.services.Rollout.DryRunAction(ctx, tx, install, runOf(n, actor))
	} else {
		granted, err = s.services.Rollout.DryRun(ctx, tx, install, wishOf(n, actor))
	}
	if err != nil {
		return asked, err
	}
	words := []string{}
	if granted.Note != "" {
		words = append(words, granted.Note)
	}
	for i, one := range granted.DryRun {
		if i == 0 {
			asked.Workflow = sketched(one, asked.Install, actor)
			continue
		}
		words = append(words, fmt.Sprintf("another workflow, a %s, starts too: %s", one.Request.Kind, one.Request.Reason))
	}
	asked.Outcome = strings.Join(words, "; ")
	return asked, nil
}

// sketched returns a workflow that would be started. It has no id, and the ids of its steps are
// valid only within it.
func sketched(of rollout.DryRunWorkflow, install api.Install, actor string) api.Workflow {
	r := of.Request
	w := api.Workflow{
		Install: install.Name, InstallID: install.ID, App: install.App, Kind: api.WorkflowKind(r.Kind),
		PlanOnly: r.PlanOnly, Release: int(r.Release),
		Status: api.WorkflowStatusRunning, Reason: r.Reason, RequestedBy: actor,
		CreatedAt: time.Now(), Steps: []api.Step{},
	}
	for _, s := range of.Steps {
		w.Steps = append(w.Steps, api.Step{
			ID: s.ID, Kind: api.StepKind(s.Kind), Component: s.Component, Action: s.Action,
			Trigger: s.Trigger, Destroy: s.Destroy,
			Status: api.StepStatus(s.Status), Reason: s.Reason, Needs: append([]string{}, s.Needs...),
		})
	}
	return w
}
