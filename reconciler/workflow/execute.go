package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// This file applies commands to the database and the job queue. Every write names the
// status that the command was computed from. A write that changes no row is an error,
// and rolls back the transaction.

// errRowChanged reports that a row was not as it was read, which the install's lock should
// make impossible.
var errRowChanged = errors.New("the row changed in the meantime; it is read again")

// systemActor is the actor of what no person requested.
const systemActor = "nuon"

func (x *executor) execute(ctx context.Context, c Command) error {
	var err error
	switch c := c.(type) {
	case StartStep:
		return x.startStep(ctx, c) // applies c itself, because the job gets its id here
	case CancelJob:
		return x.cancelJob(ctx, c)
	case RequestApproval:
		err = x.requestApproval(ctx, c)
	case RequestScriptApproval:
		return x.requestScriptApproval(ctx, c) // applies c itself, because the question gets its id here
	case WithdrawScriptApproval:
		err = x.withdrawScriptRequest(ctx, c.Reason)
	case ApproveByInstallRule:
		err = x.approveByInstallRule(ctx, c)
	case ApproveByWorkflowRule:
		err = x.approveByWorkflowRule(ctx, c)
	case SetStatus:
		err = x.setStepStatus(ctx, c.Step, c.To, c.Reason)
	case RejectStep:
		if err = x.setStepStatus(ctx, c.Step, StepFailed, c.Reason); err == nil {
			err = expectOneRow(x.tx.SetStepRejectedBy(ctx, c.By, x.tx.Org, c.Step))
		}
	case ClosePlan:
		err = x.closePlan(ctx, c)
	case Replan:
		err = x.replan(ctx, c)
	case RecordRejection:
		err = x.recordRejection(ctx, c)
	case PostponeApply:
		err = x.postponeApply(ctx, c)
	case RestartStep:
		err = x.restartStep(ctx, c)
	case ClearRejection:
		err = x.clearRejection(ctx, c)
	case MarkSkipped:
		if err = x.setStepStatus(ctx, c.Step, StepSkipped, c.Reason); err == nil {
			err = expectOneRow(x.tx.MarkSkippedByPerson(ctx, x.tx.Org, c.Step))
		}
	case FinishWorkflow:
		err = expectOneRow(x.tx.FinishWorkflow(ctx, store.FinishWorkflowParams{OrgID: x.tx.Org, ID: x.row.ID,
			Status:  string(c.Status),
			Outcome: c.Outcome}))
	}
	if err != nil {
		return fmt.Errorf("%T: %w", c, err)
	}
	x.graph.Apply(c)
	return nil
}

// expectOneRow returns an error for a write that did not change exactly one row.
func expectOneRow(changed int64, err error) error {
	if err == nil && changed != 1 {
		return errRowChanged
	}
	return err
}

func (x *executor) setStepStatus(ctx context.Context, step string, to StepStatus, reason string) error {
	was := x.graph.stepByID(step).Status
	if !stepTransitions.allows(was, to) {
		return fmt.Errorf("a step cannot change from %s to %s", was, to)
	}
	return expectOneRow(x.tx.SetStepStatus(ctx, store.SetStepStatusParams{OrgID: x.tx.Org, ID: step, Status: string(to),
		Reason: reason,
		Was:    string(was)}))
}

func (x *executor) setPlanStatus(ctx context.Context, plan *Plan, to PlanStatus, reason string) error {
	if !planTransitions.allows(plan.Status, to) {
		return fmt.Errorf("a plan cannot change from %s to %s", plan.Status, to)
	}
	return expectOneRow(x.tx.SetPlanStatus(ctx, store.SetPlanStatusParams{OrgID: x.tx.Org, ID: plan.ID, Status: string(to),
		Reason: reason,
		Was:    string(plan.Status)}))
}

// planOf returns the plan that a step is about.
func (x *executor) planOf(step string) *Plan {
	s := x.graph.stepByID(step)
	if s.Kind != StepPlan {
		s = x.graph.groupOf(s.Component).plan
	}
	return s.Plan
}

func (x *executor) requestApproval(ctx context.Context, c RequestApproval) error {
	with, err := x.prepareScripts(ctx, x.graph.unseenScriptsWith(x.graph.stepByID(c.Step).Component))
	if err != nil {
		return err
	}
	if err := x.addApproval(ctx, c.Step, ApprovalWaiting, c.Reason, with); err != nil {
		return err
	}
	return x.setStepStatus(ctx, c.Step, StepWaiting, c.Reason)
}

// addApproval adds the approval of the plan that a step is about, and of the scripts
// that are shown with it.
func (x *executor) addApproval(ctx context.Context, step string, status ApprovalStatus, reason string,
	with preparedScripts) error {
	plan := x.planOf(step)
	row, err := x.tx.FindPlan(ctx, x.tx.Org, plan.ID)
	if err != nil {
		return err
	}
	plan.Approval = id.New("apr")
	content, group := row.ContentDigest, row.GroupDigest
	if with.report != nil {
		content = sha256digest.Of(fmt.Appendf(nil, "nuon plan and scripts 1\n%s\n%s\n", content, with.contentDigest))
		if with.individualApproval {
			group = ""
		}
		if group != "" {
			group = sha256digest.Of(fmt.Appendf(nil, "nuon plan and scripts group 1\n%s\n%s\n", group, with.groupDigest))
		}
	}
	because := x.graph.desiredOf(x.graph.stepByID(step).Component).Reason
	if x.graph.Kind == KindRestore {
		because = x.row.Reason
	}
	return x.tx.AddApproval(ctx, store.AddApprovalParams{
		OrgID: x.tx.Org, ID: plan.Approval, Kind: ApprovalOfPlan, PlanID: &plan.ID, StepID: &step, WorkflowID: &x.row.ID,
		InstallID:     x.install.ID,
		ContentDigest: content, Status: string(status), Reason: reason, Because: because, Author: x.row.RequestedBy,
		GroupDigest: group, Subject: with.subject, Report: with.report,
		IndividualApproval: row.IndividualApproval || with.individualApproval,
	})
}

// approveByInstallRule approves a plan by the install's rule, and records the rule and who set it.
func (x *executor) approveByInstallRule(ctx context.Context, c ApproveByInstallRule) error {
	rule, err := ApprovalRuleOf(x.install)
	if err != nil {
		return err
	}
	if err := x.approvePlan(ctx, c.Step, ruleApproval{actor: installRuleActor, reason: c.Reason, text: c.Reason,
		rule: rule}); err != nil {
		return err
	}
	plan := x.planOf(c.Step)
	detail := map[string]any{"reason": c.Reason, "workflow": x.row.ID, "approval": plan.Approval,
		"content_digest": plan.contentDigest, "rule": rule}
	if err := x.tx.Audit(ctx, systemActor, "plan.allow", plan.ID, detail); err != nil {
		return err
	}
	return x.setStepStatus(ctx, c.Step, StepSucceeded, c.Reason)
}

// ruleApproval is the approval of a plan by a rule.
type ruleApproval struct {
	actor, reason string
	text          string // actor and reason, as shown
	rule          api.ApprovalRule
}

// approvePlan approves a plan by a rule, ends the approval request that may wait, and records the rule.
func (x *executor) approvePlan(ctx context.Context, step string, by ruleApproval) error {
	plan := x.planOf(step)
	if err := x.setPlanStatus(ctx, plan, PlanApproved, by.text); err != nil {
		return err
	}
	if plan.Approval == "" {
		if err := x.addApproval(ctx, step, ApprovalApproved, by.text, preparedScripts{}); err != nil {
			return err
		}
	} else {
		err := expectOneRow(x.tx.EndApproval(ctx, store.EndApprovalParams{OrgID: x.tx.Org, ID: plan.Approval,
			Status: string(ApprovalApproved), Reason: by.text}))
		if err != nil {
			return err
		}
	}
	row, err := x.tx.LockApproval(ctx, x.tx.Org, plan.Approval)
	if err != nil {
		return err
	}
	plan.contentDigest = row.Approval.ContentDigest
	raw, err := encode(by.rule)
	if err != nil {
		return err
	}
	return x.tx.AddResponse(ctx, store.AddResponseParams{
		OrgID: x.tx.Org, ID: id.New("rsp"), ApprovalID: plan.Approval, ContentDigest: plan.contentDigest,
		Answer: string(Approve),
		Reason: by.reason,
		Actor:  by.actor, Rule: raw,
	})
}

func (x *executor) closePlan(ctx context.Context, c ClosePlan) error {
	plan := x.planOf(c.Step)
	if err := x.setPlanStatus(ctx, plan, c.To, c.Reason); err != nil {
		return err
	}
	if c.To != PlanSuperseded {
		return nil
	}
	return x.tx.WithdrawApproval(ctx, c.Reason, x.tx.Org, plan.ID)
}

func (x *executor) replan(ctx context.Context, c Replan) error {
	for i, s := range x.graph.groupOf(c.Component).stepsToReset(c) {
		tries, broken := c.counts(i, s)
		err := x.tx.ResetStep(ctx, store.ResetStepParams{
			OrgID: x.tx.Org, ID: s.ID, Reason: c.Reason, Tries: int32(tries), Interruptions: int32(broken), //nolint:gosec // a handful
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// postponeApply detaches the plan from the job that did not start, so that another job may apply it.
func (x *executor) postponeApply(ctx context.Context, c PostponeApply) error {
	s := x.graph.stepByID(c.Step)
	if err := expectOneRow(x.tx.DetachUnstartedApply(ctx, x.tx.Org, s.Job.ID)); err != nil {
		return err
	}
	return x.setStepStatus(ctx, c.Step, StepPending, c.Reason)
}

func (x *executor) restartStep(ctx context.Context, c RestartStep) error {
	if was := x.graph.stepByID(c.Step).Status; !retryTransitions.allows(was, StepPending) {
		return fmt.Errorf("a step cannot change from %s to %s", was, StepPending)
	}
	return x.tx.ResetStep(ctx, store.ResetStepParams{OrgID: x.tx.Org, ID: c.Step, Reason: c.Reason})
}

func (x *executor) clearRejection(ctx context.Context, c ClearRejection) error {
	x.rejectionsChanged = true
	if c.OnlyOfWorkflow {
		return x.tx.DeleteRejectionsOfWorkflow(ctx, x.tx.Org, x.row.ID, []string{c.Component})
	}
	return x.tx.DeleteRejections(ctx, x.tx.Org, x.install.ID, []string{c.Component})
}

func (x *executor) recordRejection(ctx context.Context, c RecordRejection) error {
	x.rejectionsChanged = true
	row := x.stepRows[x.graph.groupOf(c.Component).plan.ID]
	if row.InstallComponentID == nil {
		return fmt.Errorf("step %s names no install component", row.ID)
	}
	return x.tx.RecordRejection(ctx, store.RecordRejectionParams{
		OrgID: x.tx.Org, InstallComponentID: *row.InstallComponentID, DesiredDigest: c.DesiredDigest,
		Kind: string(c.Kind), Actor: orDefault(c.Actor, systemActor), Reason: c.Reason, WorkflowID: x.row.ID,
	})
}

// cancelJob cancels a job. A job that no runner had taken ends at once, so the core may continue.
func (x *executor) cancelJob(ctx context.Context, c CancelJob) error {
	s := x.graph.stepByID(c.Step)
	if err := jobs.Cancel(ctx, x.tx, s.Job.ID, c.Reason); err != nil {
		return err
	}
	x.graph.Apply(c)
	now, err := x.tx.JobStatus(ctx, x.tx.Org, s.Job.ID)
	if err != nil {
		return err
	}
	s.Job.Status = jobStatus(now.Status, "")
	return nil
}

// startStep creates the job of a step and queues it for the install's runner.
func (x *executor) startStep(ctx context.Context, c StartStep) error {
	s := x.graph.stepByID(c.Step)
	job, target, err := x.newJob(ctx, s, c.Reason)
	var cannot *Unavailable
	if errors.As(err, &cannot) {
		return x.failUnavailable(ctx, s, *cannot)
	}
	if err != nil {
		return fmt.Errorf("start %s of %s: %w", s.Kind, orDefault(s.Component, s.Action), err)
	}
	x.graph.Apply(c)
	begun := store.StartStepParams{OrgID: x.tx.Org, ID: s.ID, Reason: c.Reason,
		Tries: int32(s.Tries), Target: target} //nolint:gosec // a handful
	if s.Kind == StepSync && job.Spec.Kind == "" {
		s.Job.Status, s.Job.CopiedByPlan = JobSucceeded, true
		return expectOneRow(x.tx.StartStep(ctx, begun))
	}
	if s.Job.ID, err = jobs.Enqueue(ctx, x.tx, job); err != nil {
		return err
	}
	begun.JobID = &s.Job.ID
	return expectOneRow(x.tx.StartStep(ctx, begun))
}

// newJob returns the job of a step, and the target that is stored with the step.
func (x *executor) newJob(ctx context.Context, s *Step, reason string) (job jobs.NewJob, target []byte, err error) {
	job = jobs.NewJob{
		Runner: x.install.RunnerID, Kind: string(s.Kind), OwnerKind: "step", OwnerID: s.ID, InstallID: x.install.ID,
		Reason: reason, Trace: x.row.Trace,
	}
	switch s.Kind {
	case StepSync:
		target, err = x.fillSyncJob(ctx, s, &job)
	case StepPlan:
		target, err = x.fillPlanJob(ctx, s, &job)
	case StepApply:
		err = x.fillApplyJob(ctx, s, &job)
	case StepAction:
		target, err = x.fillActionJob(ctx, s, &job)
	default:
		err = fmt.Errorf("a step of kind %s has no job", s.Kind)
	}
	return job, target, err
}

// failUnavailable ends what a step belongs to that cannot start according to the DesiredStateSource.
func (x *executor) failUnavailable(ctx context.Context, s *Step, by Unavailable) error {
	for _, c := range x.graph.failUnavailable(s, by) {
		if err := x.execute(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (x *executor) fillPlanJob(ctx context.Context, s *Step, job *jobs.NewJob) ([]byte, error) {
	target, err := x.desiredTarget(ctx, s)
	if err != nil {
		return nil, err
	}
	job.ComponentKind = target.Deploy.ComponentKind
	job.Spec = api.JobSpec{Kind: api.JobSpecKind(job.Kind), TimeoutSeconds: target.Timeout, Role: target.Role,
		Plan: api.PlanSpec{
			Deploy: target.Deploy, DesiredDigest: target.Digest, Destroy: s.Destroy, Restore: target.Restore,
			Inventory: target.Existing,
		}}
	if sync := x.graph.groupOf(s.Component).sync; sync != nil && sync.Job != nil && sync.Job.CopiedByPlan {
		job.Spec.Plan.From = target.From
	}
	return encode(target)
}

// desiredTarget returns the target of a sync or plan step's component, from the current desired state.
func (x *executor) desiredTarget(ctx context.Context, s *Step) (Target, error) {
	row := x.stepRows[s.ID]
	if row.InstallComponentID == nil {
		return Target{}, fmt.Errorf("step %s names no install component", s.ID)
	}
	target, err := x.targetOf(ctx, *row.InstallComponentID, s.Destroy)
	if err != nil {
		return Target{}, err
	}
	if want := x.graph.desiredOf(s.Component).Digest; target.Digest != want {
		return Target{}, fmt.Errorf("%s would be planned, but %s is desired", target.Digest, want)
	}
	return target, nil
}

// targetOf returns what a plan of this workflow works towards.
func (x *executor) targetOf(ctx context.Context, installComponent string, destroy bool) (Target, error) {
	world, err := x.resolve(ctx)
	if err != nil {
		return Target{}, err
	}
	if x.graph.Kind != KindRestore {
		return world.DeployTarget(installComponent, destroy)
	}
	target, err := world.RestoreTarget(installComponent)
	target.Digest, target.Restore = x.params.Restore.digest(), x.params.Restore.Restore
	return target, err
}

func (x *executor) fillApplyJob(ctx context.Context, s *Step, job *jobs.NewJob) error {
	row, err := x.tx.FindPlan(ctx, x.tx.Org, x.planOf(s.ID).ID)
	if err != nil {
		return err
	}
	spec, err := applySpec(row)
	if err != nil {
		return err
	}
	job.PlanID, job.ComponentKind, job.Spec = row.ID, spec.Apply.Deploy.ComponentKind, spec
	return nil
}

// fillActionJob fills in the job of an action. The returned bytes are stored with the step: the code of
// repositories that the run has.
func (x *executor) fillActionJob(ctx context.Context, s *Step, job *jobs.NewJob) ([]byte, error) {
	run := ActionRun{Action: s.Action, Trigger: s.Trigger, Component: s.Component, Env: x.params.Env,
		Inputs: x.params.Inputs, Role: x.params.Role}
	world, err := x.resolve(ctx)
	if err != nil {
		return nil, err
	}
	made, err := world.ActionJob(run)
	if err != nil {
		return nil, err
	}
	if s.Script == nil || !s.Script.Approved || made.ScriptDigest != s.Script.Digest {
		return nil, errRowChanged // the app changed since its scripts were read; nobody has approved this version
	}
	job.Spec = api.JobSpec{Kind: api.JobSpecKind(job.Kind), Action: made.Spec, Role: made.Role,
		TimeoutSeconds: int(made.Timeout.Seconds())}
	return encodeSources(made.Spec)
}
