package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// JobAccepted decides whether a runner may start the job of a step. Dispatch calls it
// in the transaction in which the runner takes the job. It refuses a job that must
// not start any more. For an apply it consumes the plan: from then on what is applied
// is unknown until the job's end is recorded.
func (e *Engine) JobAccepted(ctx context.Context, tx *store.Tx, job store.Job) error {
	found, err := tx.FindStep(ctx, tx.Org, job.OwnerID)
	if errors.Is(err, store.ErrNotFound) {
		return jobs.Stale("its workflow was deleted")
	}
	if err != nil {
		return err
	}
	install, err := tx.LockInstall(ctx, tx.Org, found.InstallID)
	if err != nil {
		return err
	}
	// Read again: the step may have changed before the lock was taken.
	if found, err = tx.FindStep(ctx, tx.Org, job.OwnerID); err != nil {
		return err
	}
	step := found.Step
	switch {
	case found.Cancelled || found.WorkflowStatus != string(Running):
		return jobs.Stale("its workflow has ended or is being cancelled")
	case step.JobID == nil || *step.JobID != job.ID || step.Status != string(StepRunning):
		return jobs.Stale("its step no longer waits for this job")
	case step.Kind == string(StepAction):
		return e.acceptAction(ctx, tx, install, step)
	case step.Kind != string(StepApply):
		return nil
	}
	return e.acceptApply(ctx, tx, install, job)
}

// acceptAction refuses an action before an apply if the approved plan is no longer valid. The action then
// waits for the next approval.
func (e *Engine) acceptAction(ctx context.Context, tx *store.Tx, install store.Install, step store.Step) error {
	f, err := e.load(ctx, tx, install, step.WorkflowID)
	if err != nil {
		return err
	}
	if why := f.graph.notReadyReason(f.graph.stepByID(step.ID)); why != "" {
		return jobs.Stale(why)
	}
	return nil
}

// acceptApply marks an approved plan as consumed, so that it is applied at most once.
func (e *Engine) acceptApply(ctx context.Context, tx *store.Tx, install store.Install, job store.Job) error {
	if job.PlanID == nil {
		return jobs.Stale("it names no plan")
	}
	plan, err := tx.FindPlan(ctx, tx.Org, *job.PlanID)
	if err != nil {
		return fmt.Errorf("find plan %s: %w", *job.PlanID, err)
	}
	row, err := tx.FindWorkflow(ctx, tx.Org, plan.WorkflowID)
	if err != nil {
		return fmt.Errorf("find workflow %s: %w", plan.WorkflowID, err)
	}
	asked, err := decodeParams(row)
	if err != nil {
		return jobs.Stale(err.Error())
	}
	f := &executor{engine: e, tx: tx, install: install, row: row, params: asked, graph: &Graph{Kind: Kind(row.Kind)}}
	wants, err := f.desiredStates(ctx)
	if err != nil {
		return err
	}
	if f.graph.WorkflowRule, err = f.workflowRule(ctx); err != nil {
		return err
	}
	f.graph.Rule = ruleOf(install)
	approved, err := tx.PlanApproval(ctx, tx.Org, plan.ID)
	if err != nil {
		return fmt.Errorf("who approved plan %s: %w", plan.ID, err)
	}
	apply := acceptedApply{
		component: plan.Component, destroy: plan.Destroy, desired: wants[plan.Component], rules: f.graph.approvalRules(),
		plan: Plan{
			Status: PlanStatus(plan.Status), DesiredDigest: plan.DesiredDigest, Destructive: plan.Destructive,
			IndividualApproval: plan.IndividualApproval, RejectedBy: plan.RejectedBy,
			Authority: Authority(approved.Authority), DecidedBy: approved.Actor,
		},
	}
	if why := apply.blockReason(); why != "" {
		return jobs.Stale(why)
	}
	return consumePlan(ctx, tx, plan)
}

// acceptedApply is the apply of a plan when a runner takes it, with the component's
// desired state at that time.
type acceptedApply struct {
	component string
	destroy   bool
	plan      Plan
	desired   DesiredState
	rules     approvalRules
}

// blockReason returns why the apply must not start, or "" if it may. It is pure.
func (a acceptedApply) blockReason() string {
	switch {
	case a.plan.Status != PlanApproved:
		return "its plan is " + string(a.plan.Status)
	case a.desired.Absent != a.destroy:
		return "the desired state of " + a.component + " changed: " + a.desired.Reason
	case a.desired.WaitReason != "":
		return "it waits: " + a.desired.WaitReason
	case a.desired.Digest != a.plan.DesiredDigest:
		return "superseded by a newer desired state: " + a.desired.Reason
	}
	return a.rules.lapsed(&a.plan, a.destroy)
}

func consumePlan(ctx context.Context, tx *store.Tx, plan store.FindPlanRow) error {
	component, err := tx.InstallComponentByID(ctx, tx.Org, plan.InstallComponentID)
	if err != nil {
		return err
	}
	target, err := decodeTarget(plan.Target)
	if err != nil {
		return jobs.Stale(err.Error())
	}
	before := appliedOf(component)
	target.PreviouslyApplied = &before
	raw, err := encode(target)
	if err != nil {
		return err
	}
	if err := expectOneRow(tx.ConsumePlan(ctx, raw, tx.Org, plan.ID)); err != nil {
		return fmt.Errorf("consume plan %s: %w", plan.ID, err)
	}
	during, err := target.applied(false)
	if err != nil {
		return err
	}
	if err := setApplied(ctx, tx, component.ID, during); err != nil {
		return err
	}
	return touchWorkflow(ctx, tx, plan.WorkflowID)
}

// JobReturned makes the plan of an apply approved again, because nothing of the apply ran: it waits until its role
// can be used, and the runner that accepts it then consumes the plan once more.
func (e *Engine) JobReturned(ctx context.Context, tx *store.Tx, job store.Job, waits string) error {
	if job.PlanID == nil {
		return nil
	}
	plan, err := tx.FindPlan(ctx, tx.Org, *job.PlanID)
	if err != nil {
		return fmt.Errorf("find plan %s: %w", *job.PlanID, err)
	}
	target, err := decodeTarget(plan.Target)
	if err != nil {
		return err
	}
	if err := restoreApplied(ctx, tx, plan, target); err != nil {
		return err
	}
	target.PreviouslyApplied = nil
	raw, err := encode(target)
	if err != nil {
		return err
	}
	err = expectOneRow(tx.ReturnPlan(ctx, store.ReturnPlanParams{OrgID: tx.Org, ID: plan.ID, Target: raw, Reason: waits}))
	if err != nil {
		return fmt.Errorf("return plan %s: %w", plan.ID, err)
	}
	if err := touchWorkflow(ctx, tx, plan.WorkflowID); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: plan.WorkflowID})
}

// applySpec returns the job spec for the apply of exactly one plan: its bundle, its basis, and the
// digests that its approval is bound to.
func applySpec(plan store.FindPlanRow) (api.JobSpec, error) {
	target, err := decodeTarget(plan.Target)
	if err != nil {
		return api.JobSpec{}, unreadablePlan(err)
	}
	basis, err := decodeBasis(plan.Basis)
	if err != nil {
		return api.JobSpec{}, unreadablePlan(err)
	}
	spec := api.ApplySpec{
		Deploy: target.Deploy, Plan: plan.ID, Destroy: plan.Destroy, Basis: basis, Restore: target.Restore,
		ReportDigest: plan.ReportDigest, ContentDigest: plan.ContentDigest,
	}
	if plan.BundleDigest != "" {
		spec.Bundle = api.ArtifactRef{Repository: target.Deploy.Repository, Digest: plan.BundleDigest}
	}
	return api.JobSpec{Kind: api.JobSpecKindApply, TimeoutSeconds: target.Timeout, Role: target.Role, Apply: spec}, nil
}

// unreadablePlan returns the error for a stored plan that can no longer be decoded. A
// retry would not help.
func unreadablePlan(err error) error {
	return &Unavailable{Reason: fmt.Sprintf("the approved plan cannot be read (%s); request a new plan", err)}
}
