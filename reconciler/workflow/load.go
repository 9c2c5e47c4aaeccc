package workflow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Asked is the request behind a workflow, apart from its kind. It is stored with the
// workflow as JSON.
type Asked struct {
	Env      map[string]string `json:"env,omitempty"`      // of an action run
	Inputs   map[string]string `json:"inputs,omitempty"`   // of an action run
	Restore  Restore           `json:"restore,omitzero"`   // of a restore
	Redeploy []string          `json:"redeploy,omitempty"` // components that are planned even if they are up to date
	Supposed *Supposed         `json:"supposed,omitempty"` // of one that only plans
	Cancel   *Cancellation     `json:"cancel,omitempty"`
}

// Supposed is the desired state that a plan-only workflow assumes, as if a person's
// request had been applied.
type Supposed struct {
	Absent   bool     `json:"absent,omitempty"`    // the install is to be removed
	TornDown []string `json:"torn_down,omitempty"` // components to be removed
	Wanted   []string `json:"wanted,omitempty"`    // components to be deployed although they were torn down
}

// load reads a workflow of a locked install into a graph, and computes the desired state.
func (e *Engine) load(ctx context.Context, tx *store.Tx, install store.Install, id string) (*flow, error) {
	row, err := tx.FindWorkflow(ctx, tx.Org, id)
	if err != nil {
		return nil, err
	}
	f := &flow{engine: e, tx: tx, install: install, row: row, rows: map[string]store.Step{}}
	f.graph = &Graph{
		Kind: Kind(row.Kind), PlanOnly: row.PlanOnly, Status: Status(row.Status),
		Rule: ruleOf(install),
	}
	if f.graph.Status != Running {
		return f, nil
	}
	if f.asked, err = decodeAsked(row); err != nil {
		return nil, err
	}
	if row.Cancelled {
		f.graph.Cancelled = f.asked.Cancel
		if f.graph.Cancelled == nil {
			f.graph.Cancelled = &Cancellation{Actor: "a person"}
		}
	}
	if f.graph.Wants, err = f.wants(ctx); err != nil {
		return nil, fmt.Errorf("work out what %s wants: %w", install.Name, err)
	}
	if f.graph.WorkflowRule, err = f.workflowRule(ctx); err != nil {
		return nil, err
	}
	if err := f.loadSteps(ctx); err != nil {
		return nil, err
	}
	if err := f.loadJobs(ctx); err != nil {
		return nil, err
	}
	if err := f.loadScripts(ctx); err != nil {
		return nil, err
	}
	return f, f.loadPlans(ctx)
}

func decodeAsked(row store.Workflow) (Asked, error) {
	var asked Asked
	if err := json.Unmarshal(row.Request, &asked); err != nil {
		return asked, fmt.Errorf("decode what was asked of workflow %s: %w", row.ID, err)
	}
	return asked, nil
}

// ruleOf returns the install's approval rule that is in force now.
func ruleOf(install store.Install) Rule {
	rule := Rule{ApproveAll: install.Approval == appconfig.ApproveAll, AllowDestroy: install.AllowDestroy}
	if record, err := RuleRecord(install); err == nil {
		rule.By = record.By
	}
	return rule
}

func (f *flow) loadSteps(ctx context.Context) error {
	rows, err := f.tx.StepsOfWorkflow(ctx, f.tx.Org, f.row.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		s := &Step{
			ID: r.ID, Kind: StepKind(r.Kind), Component: r.Component, Action: r.Action, Trigger: r.Trigger, Destroy: r.Destroy,
			Status: StepStatus(r.Status), Reason: r.Reason, Passed: r.Passed, RejectedBy: r.RejectedBy, Tries: int(r.Tries),
			Broken: int(r.Broken),
		}
		if err := json.Unmarshal(r.Needs, &s.Needs); err != nil {
			return fmt.Errorf("decode the needs of step %s: %w", r.ID, err)
		}
		f.rows[r.ID] = r
		f.graph.Steps = append(f.graph.Steps, s)
	}
	return nil
}

func (f *flow) loadPlans(ctx context.Context) error {
	rows, err := f.tx.PlansUnderWay(ctx, f.tx.Org, f.row.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		plan := &Plan{
			ID: r.ID, Status: PlanStatus(r.Status), Desired: r.DesiredDigest, Destructive: r.Destructive,
			Individual: r.IndividualApproval,
			Approval:   r.ApprovalID, Authority: Authority(r.Authority), By: r.Actor, Because: r.Because,
		}
		s := f.graph.step(r.StepID)
		s.Plan = plan
		if apply := f.graph.group(s.Component).apply; r.Problem != "" && apply != nil && apply.Job != nil {
			apply.Job.Status, apply.Job.Error = JobFailed, r.Problem
		}
	}
	begun, err := f.tx.BegunBefore(ctx, f.tx.Org, f.row.ID)
	for _, component := range begun {
		if apply := f.graph.group(component).apply; apply != nil {
			apply.Begun = true
		}
	}
	return err
}

func (f *flow) loadJobs(ctx context.Context) error {
	rows, err := f.tx.JobsUnderWay(ctx, f.tx.Org, f.row.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		job := &Job{
			ID: r.ID, Status: jobStatus(r.Status, r.Result), Desired: r.DesiredDigest, WithPlan: r.ID == "",
			Cancelling: r.Cancel, Error: r.Error,
		}
		switch {
		case r.Problem != "":
			job.Status, job.Error = JobFailed, r.Problem
		case r.Stale != "":
			job.Status, job.Error = JobStale, r.Stale
		case r.Begun && job.Status == JobStale && f.graph.step(r.StepID).Kind == StepAction:
			job.Status = JobFailed // an action that ran cannot be stale, even if its runner reports so
		}
		f.graph.step(r.StepID).Job = job
	}
	return nil
}

// jobStatus converts a job's status for the workflow. A stale apply is recorded as
// failed; its result holds the status stale.
func jobStatus(status, result string) JobStatus {
	switch status {
	case "succeeded":
		return JobSucceeded
	case "failed":
		if result == string(api.JobResultStatusStale) {
			return JobStale
		}
		return JobFailed
	case "cancelled":
		return JobCancelled
	case "lost":
		return JobLost
	}
	return JobOpen
}
