package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// JobEnded records what a step's job found or did: a plan, what is applied,
// outputs. Dispatch calls it once per job, in the transaction that records the
// job's end. It decides nothing: Advance does, in the task that JobEnded enqueues.
func (e *Engine) JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error {
	found, err := tx.FindStep(ctx, tx.Org, job.OwnerID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // the install was deleted together with its workflows
	}
	if err != nil {
		return err
	}
	install, err := tx.LockInstall(ctx, tx.Org, found.InstallID)
	if err != nil {
		return err
	}
	if found, err = tx.FindStep(ctx, tx.Org, job.OwnerID); err != nil {
		return err
	}
	end := jobEnd{tx: tx, job: job, result: result, step: found.Step, install: install, planOnly: found.PlanOnly}
	switch StepKind(found.Step.Kind) {
	case StepPlan:
		err = end.recordPlan(ctx)
	case StepApply:
		err = end.recordApply(ctx)
	case StepAction:
		err = end.recordAction(ctx)
	}
	if err != nil {
		return fmt.Errorf("record the end of %s %s: %w", found.Step.Kind, orDefault(found.Step.Component, found.Step.Action),
			err)
	}
	if err := touchWorkflow(ctx, tx, found.Step.WorkflowID); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: found.Step.WorkflowID},
		queue.Rollout{Org: tx.Org, Install: found.InstallID})
}

// jobEnd is the end of one job, in one transaction.
type jobEnd struct {
	tx      *store.Tx
	job     store.Job
	result  api.JobResult
	step    store.Step
	install store.Install

	planOnly bool // nothing follows from what the plan found
}

func (e jobEnd) succeeded() bool { return e.result.Status == api.JobResultStatusSucceeded }

// recordPlan stores the plan if it still belongs to the step's current job.
func (e jobEnd) recordPlan(ctx context.Context) error {
	if !e.succeeded() || e.step.JobID == nil || *e.step.JobID != e.job.ID || e.step.InstallComponentID == nil {
		return nil
	}
	target, err := decodeTarget(e.step.Target)
	if err != nil {
		return err
	}
	outputs, problem := checkOutputs(e.result.Plan.Outputs)
	var report *diff.Report
	if problem == nil {
		report, problem = checkPlan(e.result.Plan, target)
	}
	if problem != nil {
		target.Problem = "the runner's plan could not be used: " + problem.Error()
		return e.recordNoPlan(ctx, target)
	}
	if target.Stale, err = e.staleReason(ctx, target); err != nil {
		return err
	}
	if target.Stale != "" {
		return e.recordNoPlan(ctx, target)
	}
	target.Remaining = e.result.Plan.Inventory
	if err := e.saveHealth(ctx, *e.step.InstallComponentID, e.result.Plan.Health); err != nil {
		return err
	}
	if err := e.savePlan(ctx, target, report); err != nil {
		return err
	}
	if e.result.Plan.Applyable || target.restores() || e.planOnly {
		return nil
	}
	if err := e.recordApplied(ctx, *e.step.InstallComponentID, e.step.Destroy, target, outputs); err != nil {
		return err
	}
	return e.saveCluster(ctx, *e.step.InstallComponentID, e.result.Plan.Cluster)
}

// recordNoPlan stores why there is no plan.
func (e jobEnd) recordNoPlan(ctx context.Context, target Target) error {
	raw, err := encode(target)
	if err != nil {
		return err
	}
	return e.tx.SetStepTarget(ctx, raw, e.tx.Org, e.step.ID)
}

// staleReason returns why a plan without changes cannot be trusted: while it was made,
// a state arrived from an attempt that was assumed to be over. A plan with changes is
// checked again by its own apply.
func (e jobEnd) staleReason(ctx context.Context, target Target) (string, error) {
	if e.result.Plan.Applyable || target.restores() {
		return "", nil
	}
	moved, err := stateChange(ctx, e.tx, *e.step.InstallComponentID, e.result.Plan.Basis)
	if err != nil || moved == "" {
		return "", err
	}
	return moved + " while it was planned", nil
}

// stateChange describes how the current state differs from the one that a plan was
// made on, or returns "" if they are the same.
func stateChange(ctx context.Context, tx *store.Tx, installComponent string, basis api.Basis) (string, error) {
	now, err := tx.NewestStateSerial(ctx, tx.Org, installComponent)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	if now.Serial == basis.StateSerial && now.Lineage == basis.StateLineage {
		return "", nil
	}
	return fmt.Sprintf("the state moved from serial %d to %d", basis.StateSerial, now.Serial), nil
}

func (e jobEnd) savePlan(ctx context.Context, target Target, report *diff.Report) error {
	r := e.result.Plan
	basis, err := encode(r.Basis)
	if err != nil {
		return err
	}
	raw, err := encode(target)
	if err != nil {
		return err
	}
	rejectedBy, err := e.tx.LastPersonToReject(ctx, e.tx.Org, *e.step.InstallComponentID, target.Digest)
	if err != nil {
		return fmt.Errorf("who rejected a plan of %s: %w", e.step.Component, err)
	}
	group := ""
	if rejectedBy == "" {
		group = e.groupDigest(target, report)
	}
	status, reason := PlanReady, e.step.Reason
	if !r.Applyable {
		status, reason = PlanEmpty, "no changes"
	}
	planID := id.New("pln")
	err = e.tx.AddPlan(ctx, store.AddPlanParams{
		OrgID: e.tx.Org, ID: planID, StepID: e.step.ID, WorkflowID: e.step.WorkflowID, InstallID: e.install.ID,
		InstallComponentID: *e.step.InstallComponentID, Component: e.step.Component, Destroy: e.step.Destroy,
		Status: string(status), Reason: reason, DesiredDigest: target.Digest, Basis: basis,
		BasisDigest:  sha256digest.Of(basis),
		BundleDigest: r.Bundle.Digest, Report: r.Report, ReportDigest: r.ReportDigest,
		ContentDigest: contentDigest(r.Bundle.Digest, r.ReportDigest, sha256digest.Of(basis)),
		GroupDigest:   group,
		Destructive:   r.Destructive, IndividualApproval: rejectedBy != "" || report.NeedsIndividualApproval(),
		RejectedBy: rejectedBy, Target: raw,
	})
	if err != nil {
		return err
	}
	if err := e.saveDrift(ctx, report); err != nil {
		return err
	}
	return e.tx.LinkPlan(ctx, store.LinkPlanParams{OrgID: e.tx.Org, WorkflowID: e.step.WorkflowID,
		Component: e.step.Component, PlanID: planID})
}

// recordApply records what an apply did. A change that was really made is never discarded,
// even if the workflow has ended since.
func (e jobEnd) recordApply(ctx context.Context) error {
	if e.job.PlanID == nil {
		return nil
	}
	plan, err := e.tx.FindPlan(ctx, e.tx.Org, *e.job.PlanID)
	if err != nil {
		return err
	}
	if plan.Status != string(PlanConsumed) {
		return nil // it was never accepted
	}
	target, err := decodeTarget(plan.Target)
	if err != nil {
		return err
	}
	if err := e.saveHealth(ctx, plan.InstallComponentID, e.result.Apply.Health); err != nil {
		return err
	}
	switch applyResultOf(applyObservation{consumed: true, job: jobStatus(e.job.Status, string(e.result.Status))}).applied {
	case claimUnchanged:
		return restoreApplied(ctx, e.tx, plan, target)
	case claimUnknown:
		return nil // since the plan was accepted, the applied state is unknown
	}
	if err := e.saveCluster(ctx, plan.InstallComponentID, e.result.Apply.Cluster); err != nil {
		return err
	}
	if plan.Destroy {
		return e.recordApplied(ctx, plan.InstallComponentID, true, target, nil)
	}
	outputs, problem := checkOutputs(e.result.Apply.Outputs)
	if problem != nil {
		target.Problem = "it was applied, but the runner's outputs could not be used: " + problem.Error()
		raw, err := encode(target)
		if err != nil {
			return err
		}
		return e.tx.SetPlanTarget(ctx, raw, e.tx.Org, plan.ID)
	}
	if target.restores() {
		return e.recordRestore(ctx, plan.InstallComponentID, target, outputs)
	}
	return e.recordApplied(ctx, plan.InstallComponentID, false, target, outputs)
}

// restoreApplied records that an accepted apply did nothing: the applied state is again that
// before it, unless a state arrived meanwhile from an attempt that was assumed to be over.
func restoreApplied(ctx context.Context, tx *store.Tx, plan store.FindPlanRow, target Target) error {
	if target.PreviouslyApplied == nil {
		return nil
	}
	basis, err := decodeBasis(plan.Basis)
	if err != nil {
		return err
	}
	before := *target.PreviouslyApplied
	moved, err := stateChange(ctx, tx, plan.InstallComponentID, basis)
	if err != nil {
		return err
	}
	if moved != "" {
		before.Digest = ""
	}
	return setApplied(ctx, tx, plan.InstallComponentID, before)
}

// recordApplied records the state of a target as applied.
func (e jobEnd) recordApplied(ctx context.Context, installComponent string, destroyed bool, target Target,
	outputs []output) error {
	if destroyed {
		if err := e.saveOutputs(ctx, "component", e.step.Component, nil); err != nil {
			return err
		}
		return setApplied(ctx, e.tx, installComponent, Applied{})
	}
	applied, err := target.applied(true)
	if err != nil {
		return err
	}
	if err := e.saveOutputs(ctx, "component", e.step.Component, outputs); err != nil {
		return err
	}
	return setApplied(ctx, e.tx, installComponent, applied)
}

// recordAction stores how a run of an action ended, and its outputs if it succeeded.
func (e jobEnd) recordAction(ctx context.Context) error {
	status := string(e.result.Status)
	if !e.succeeded() && e.result.Status != api.JobResultStatusCancelled {
		status = string(api.JobResultStatusFailed)
	}
	err := e.tx.PutActionRun(ctx, store.PutActionRunParams{OrgID: e.tx.Org, InstallID: e.install.ID,
		Action: e.step.Action, WorkflowID: e.step.WorkflowID, Status: status})
	if err != nil {
		return err
	}
	if !e.succeeded() {
		return nil
	}
	outputs, problem := checkOutputs(e.result.Action.Outputs)
	if problem == nil {
		return e.saveOutputs(ctx, "action", e.step.Action, outputs)
	}
	raw, err := encode(Target{Problem: "the action ran, but its outputs could not be used: " + problem.Error()})
	if err != nil {
		return err
	}
	return e.tx.SetStepTarget(ctx, raw, e.tx.Org, e.step.ID)
}

// saveOutputs replaces all outputs of one component or action.
func (e jobEnd) saveOutputs(ctx context.Context, scope, owner string, outputs []output) error {
	err := e.tx.DeleteOutputs(ctx, store.DeleteOutputsParams{OrgID: e.tx.Org, InstallID: e.install.ID, Scope: scope,
		Owner: owner})
	if err != nil {
		return err
	}
	for _, o := range outputs {
		err := e.tx.PutOutput(ctx, store.PutOutputParams{
			OrgID: e.tx.Org, InstallID: e.install.ID, Scope: scope, Owner: owner,
			Name: o.name, Value: o.value, Sealed: o.sealed, Hash: o.hash,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
