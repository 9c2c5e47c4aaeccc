package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// This file applies commands to the database and the job queue. Every write names the
// status that the command was computed from. A write that changes no row is an error,
// and rolls back the transaction.

// errMoved reports that a row was not as it was read, which the install's lock should
// make impossible.
var errMoved = errors.New("the record has moved in the meantime; it is looked at again")

// itself is the actor of what no person requested.
const itself = "nuon"

func (f *flow) do(ctx context.Context, c Command) error {
	var err error
	switch c := c.(type) {
	case Begin:
		return f.begin(ctx, c) // applies c itself, because the job gets its id here
	case Stop:
		return f.stop(ctx, c)
	case Ask:
		err = f.ask(ctx, c)
	case AskScripts:
		return f.askScripts(ctx, c) // applies c itself, because the question gets its id here
	case EndQuestion:
		err = f.endQuestion(ctx, c.Reason)
	case Allow:
		err = f.allow(ctx, c)
	case ApproveByRule:
		err = f.approveByRule(ctx, c)
	case Set:
		err = f.move(ctx, c.Step, c.To, c.Reason)
	case Deny:
		if err = f.move(ctx, c.Step, StepFailed, c.Reason); err == nil {
			err = one(f.tx.DenyStep(ctx, c.By, f.tx.Org, c.Step))
		}
	case EndPlan:
		err = f.endPlan(ctx, c)
	case Again:
		err = f.again(ctx, c)
	case Refuse:
		err = f.refuse(ctx, c)
	case Renew:
		err = f.renew(ctx, c)
	case Forgive:
		err = f.forgive(ctx, c)
	case Pass:
		if err = f.move(ctx, c.Step, StepSkipped, c.Reason); err == nil {
			err = one(f.tx.PassStep(ctx, f.tx.Org, c.Step))
		}
	case Finish:
		err = one(f.tx.FinishWorkflow(ctx, store.FinishWorkflowParams{OrgID: f.tx.Org, ID: f.row.ID, Status: string(c.Status),
			Outcome: c.Outcome}))
	}
	if err != nil {
		return fmt.Errorf("%T: %w", c, err)
	}
	f.graph.Apply(c)
	return nil
}

// one returns an error for a write that did not change exactly one row.
func one(changed int64, err error) error {
	if err == nil && changed != 1 {
		return errMoved
	}
	return err
}

func (f *flow) move(ctx context.Context, step string, to StepStatus, reason string) error {
	was := f.graph.step(step).Status
	if !stepMoves.allows(was, to) {
		return fmt.Errorf("a step does not move from %s to %s", was, to)
	}
	return one(f.tx.MoveStep(ctx, store.MoveStepParams{OrgID: f.tx.Org, ID: step, Status: string(to), Reason: reason,
		Was: string(was)}))
}

func (f *flow) movePlan(ctx context.Context, plan *Plan, to PlanStatus, reason string) error {
	if !planMoves.allows(plan.Status, to) {
		return fmt.Errorf("a plan does not move from %s to %s", plan.Status, to)
	}
	return one(f.tx.MovePlan(ctx, store.MovePlanParams{OrgID: f.tx.Org, ID: plan.ID, Status: string(to), Reason: reason,
		Was: string(plan.Status)}))
}

// plan returns the plan that a step is about.
func (f *flow) plan(step string) *Plan {
	s := f.graph.step(step)
	if s.Kind != StepPlan {
		s = f.graph.group(s.Component).plan
	}
	return s.Plan
}

func (f *flow) ask(ctx context.Context, c Ask) error {
	with, err := f.showScripts(ctx, f.graph.unseenWith(f.graph.step(c.Step).Component))
	if err != nil {
		return err
	}
	if err := f.addApproval(ctx, c.Step, ApprovalWaiting, c.Reason, with); err != nil {
		return err
	}
	return f.move(ctx, c.Step, StepWaiting, c.Reason)
}

// addApproval adds the approval of the plan that a step is about, and of the scripts
// that are shown with it.
func (f *flow) addApproval(ctx context.Context, step string, status ApprovalStatus, reason string,
	with shownScripts) error {
	plan := f.plan(step)
	row, err := f.tx.FindPlan(ctx, f.tx.Org, plan.ID)
	if err != nil {
		return err
	}
	plan.Approval = id.New("apr")
	content, group := row.ContentDigest, row.GroupDigest
	if with.report != nil {
		content = Hash(fmt.Appendf(nil, "nuon plan and scripts 1\n%s\n%s\n", content, with.content))
		if with.alone {
			group = ""
		}
		if group != "" {
			group = Hash(fmt.Appendf(nil, "nuon plan and scripts group 1\n%s\n%s\n", group, with.group))
		}
	}
	because := f.graph.want(f.graph.step(step).Component).Reason
	if f.graph.Kind == KindRestore {
		because = f.row.Reason
	}
	return f.tx.AddApproval(ctx, store.AddApprovalParams{
		OrgID: f.tx.Org, ID: plan.Approval, Kind: ApprovalOfPlan, PlanID: &plan.ID, StepID: &step, WorkflowID: &f.row.ID,
		InstallID:     f.install.ID,
		ContentDigest: content, Status: string(status), Reason: reason, Because: because, Author: f.row.RequestedBy,
		GroupDigest: group, Subject: with.subject, Report: with.report,
		IndividualApproval: row.IndividualApproval || with.alone,
	})
}

// allow approves a plan by the install's rule, and records the rule and who set it.
func (f *flow) allow(ctx context.Context, c Allow) error {
	rule, err := RuleRecord(f.install)
	if err != nil {
		return err
	}
	if err := f.approve(ctx, c.Step, byARule{actor: itsRule, reason: c.Reason, words: c.Reason, rule: rule}); err != nil {
		return err
	}
	plan := f.plan(c.Step)
	detail := map[string]any{"reason": c.Reason, "workflow": f.row.ID, "approval": plan.Approval,
		"content_digest": plan.content, "rule": rule}
	if err := f.tx.Audit(ctx, itself, "plan.allow", plan.ID, detail); err != nil {
		return err
	}
	return f.move(ctx, c.Step, StepSucceeded, c.Reason)
}

// byARule is the approval of a plan by a rule.
type byARule struct {
	actor, reason string
	words         string // actor and reason, as shown
	rule          api.ApprovalRule
}

// approve approves a plan by a rule, ends the approval request that may wait, and records the rule.
func (f *flow) approve(ctx context.Context, step string, by byARule) error {
	plan := f.plan(step)
	if err := f.movePlan(ctx, plan, PlanApproved, by.words); err != nil {
		return err
	}
	if plan.Approval == "" {
		if err := f.addApproval(ctx, step, ApprovalApproved, by.words, shownScripts{}); err != nil {
			return err
		}
	} else {
		err := one(f.tx.EndApproval(ctx, store.EndApprovalParams{OrgID: f.tx.Org, ID: plan.Approval,
			Status: string(ApprovalApproved), Reason: by.words}))
		if err != nil {
			return err
		}
	}
	row, err := f.tx.LockApproval(ctx, f.tx.Org, plan.Approval)
	if err != nil {
		return err
	}
	plan.content = row.Approval.ContentDigest
	raw, err := encode(by.rule)
	if err != nil {
		return err
	}
	return f.tx.AddResponse(ctx, store.AddResponseParams{
		OrgID: f.tx.Org, ID: id.New("rsp"), ApprovalID: plan.Approval, ContentDigest: plan.content, Answer: string(Approve),
		Reason: by.reason,
		Actor:  by.actor, Rule: raw,
	})
}

func (f *flow) endPlan(ctx context.Context, c EndPlan) error {
	plan := f.plan(c.Step)
	if err := f.movePlan(ctx, plan, c.To, c.Reason); err != nil {
		return err
	}
	if c.To != PlanSuperseded {
		return nil
	}
	return f.tx.WithdrawApproval(ctx, c.Reason, f.tx.Org, plan.ID)
}

func (f *flow) again(ctx context.Context, c Again) error {
	for i, s := range f.graph.group(c.Component).setBack(c) {
		tries, broken := c.counts(i, s)
		err := f.tx.ResetStep(ctx, store.ResetStepParams{
			OrgID: f.tx.Org, ID: s.ID, Reason: c.Reason, Tries: int32(tries), Broken: int32(broken), //nolint:gosec // a handful
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) renew(ctx context.Context, c Renew) error {
	if was := f.graph.step(c.Step).Status; !retryMoves.allows(was, StepPending) {
		return fmt.Errorf("a step does not move from %s to %s", was, StepPending)
	}
	return f.tx.ResetStep(ctx, store.ResetStepParams{OrgID: f.tx.Org, ID: c.Step, Reason: c.Reason})
}

func (f *flow) forgive(ctx context.Context, c Forgive) error {
	f.refused = true
	if c.Own {
		return f.tx.DropRefusalsOfWorkflow(ctx, f.tx.Org, f.row.ID, []string{c.Component})
	}
	return f.tx.DropRefusals(ctx, f.tx.Org, f.install.ID, []string{c.Component})
}

func (f *flow) refuse(ctx context.Context, c Refuse) error {
	f.refused = true
	row := f.rows[f.graph.group(c.Component).plan.ID]
	if row.InstallComponentID == nil {
		return fmt.Errorf("step %s names no install component", row.ID)
	}
	return f.tx.PutRefusal(ctx, store.PutRefusalParams{
		OrgID: f.tx.Org, InstallComponentID: *row.InstallComponentID, DesiredDigest: c.Desired,
		Kind: string(c.Kind), Actor: sentence(c.Actor, itself), Reason: c.Reason, WorkflowID: f.row.ID,
	})
}

// stop cancels a job. A job that no runner had taken ends at once, so the core may continue.
func (f *flow) stop(ctx context.Context, c Stop) error {
	s := f.graph.step(c.Step)
	if err := dispatch.Cancel(ctx, f.tx, s.Job.ID, c.Reason); err != nil {
		return err
	}
	f.graph.Apply(c)
	now, err := f.tx.JobNow(ctx, f.tx.Org, s.Job.ID)
	if err != nil {
		return err
	}
	s.Job.Status = jobStatus(now.Status, "")
	return nil
}

// begin creates the job of a step and queues it for the install's runner.
func (f *flow) begin(ctx context.Context, c Begin) error {
	s := f.graph.step(c.Step)
	job, target, err := f.job(ctx, s, c.Reason)
	var cannot *Unavailable
	if errors.As(err, &cannot) {
		return f.cannot(ctx, s, *cannot)
	}
	if err != nil {
		return fmt.Errorf("begin %s of %s: %w", s.Kind, sentence(s.Component, s.Action), err)
	}
	f.graph.Apply(c)
	begun := store.BeginStepParams{OrgID: f.tx.Org, ID: s.ID, Reason: c.Reason,
		Tries: int32(s.Tries), Target: target} //nolint:gosec // a handful
	if s.Kind == StepSync && job.Spec.Kind == "" {
		s.Job.Status, s.Job.WithPlan = JobSucceeded, true
		return one(f.tx.BeginStep(ctx, begun))
	}
	if s.Job.ID, err = dispatch.Enqueue(ctx, f.tx, job); err != nil {
		return err
	}
	begun.JobID = &s.Job.ID
	return one(f.tx.BeginStep(ctx, begun))
}

// job returns the job of a step, and the target that is stored with the step.
func (f *flow) job(ctx context.Context, s *Step, reason string) (job dispatch.NewJob, target []byte, err error) {
	job = dispatch.NewJob{
		Runner: f.install.RunnerID, Kind: string(s.Kind), OwnerKind: "step", OwnerID: s.ID, InstallID: f.install.ID,
		Reason: reason, Trace: f.row.Trace,
	}
	switch s.Kind {
	case StepSync:
		target, err = f.syncJob(ctx, s, &job)
	case StepPlan:
		target, err = f.planJob(ctx, s, &job)
	case StepApply:
		err = f.applyJob(ctx, s, &job)
	case StepAction:
		err = f.actionJob(ctx, s, &job)
	default:
		err = fmt.Errorf("a step of kind %s has no job", s.Kind)
	}
	return job, target, err
}

// cannot ends what a step belongs to that cannot start according to World.
func (f *flow) cannot(ctx context.Context, s *Step, by Unavailable) error {
	for _, c := range f.graph.cannot(s, by) {
		if err := f.do(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) planJob(ctx context.Context, s *Step, job *dispatch.NewJob) ([]byte, error) {
	target, err := f.wanted(ctx, s)
	if err != nil {
		return nil, err
	}
	job.ComponentKind = target.Deploy.ComponentKind
	job.Spec = api.JobSpec{Kind: api.JobSpecKind(job.Kind), TimeoutSeconds: target.Timeout, Plan: api.PlanSpec{
		Deploy: target.Deploy, DesiredDigest: target.Digest, Destroy: s.Destroy, Restore: target.Restore,
		Inventory: target.Found,
	}}
	if sync := f.graph.group(s.Component).sync; sync != nil && sync.Job != nil && sync.Job.WithPlan {
		job.Spec.Plan.From = target.From
	}
	return encode(target)
}

// wanted returns the target of a sync or plan step's component, from the current desired state.
func (f *flow) wanted(ctx context.Context, s *Step) (Target, error) {
	row := f.rows[s.ID]
	if row.InstallComponentID == nil {
		return Target{}, fmt.Errorf("step %s names no install component", s.ID)
	}
	target, err := f.target(ctx, *row.InstallComponentID, s.Destroy)
	if err != nil {
		return Target{}, err
	}
	if want := f.graph.want(s.Component).Digest; target.Digest != want {
		return Target{}, fmt.Errorf("what would be planned is %s, what is wanted is %s", target.Digest, want)
	}
	return target, nil
}

// target returns what a plan of this workflow works towards.
func (f *flow) target(ctx context.Context, installComponent string, destroy bool) (Target, error) {
	world, err := f.resolve(ctx)
	if err != nil {
		return Target{}, err
	}
	if f.graph.Kind != KindRestore {
		return world.Spec(installComponent, destroy)
	}
	target, err := world.RestoreSpec(installComponent)
	target.Digest, target.Restore = f.asked.Restore.digest(), f.asked.Restore.Restore
	return target, err
}

func (f *flow) applyJob(ctx context.Context, s *Step, job *dispatch.NewJob) error {
	row, err := f.tx.FindPlan(ctx, f.tx.Org, f.plan(s.ID).ID)
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

func (f *flow) actionJob(ctx context.Context, s *Step, job *dispatch.NewJob) error {
	run := ActionRun{Action: s.Action, Trigger: s.Trigger, Component: s.Component, Env: f.asked.Env,
		Inputs: f.asked.Inputs}
	world, err := f.resolve(ctx)
	if err != nil {
		return err
	}
	made, err := world.ActionJob(run)
	if err != nil {
		return err
	}
	if s.Script == nil || !s.Script.Approved || made.Script != s.Script.Digest {
		return errMoved // the app changed since its scripts were read; nobody has approved this version
	}
	job.Spec = api.JobSpec{Kind: api.JobSpecKind(job.Kind), Action: made.Spec, TimeoutSeconds: int(made.Limit.Seconds())}
	return nil
}
