package workflow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// WorkflowParams is the request behind a workflow, apart from its kind. It is stored with the
// workflow as JSON.
type WorkflowParams struct {
	Env         map[string]string `json:"env,omitempty"`         // of an action run
	Inputs      map[string]string `json:"inputs,omitempty"`      // of an action run
	Role        string            `json:"role,omitempty"`        // the same
	Restore     Restore           `json:"restore,omitzero"`      // of a restore
	Redeploy    []string          `json:"redeploy,omitempty"`    // components that are planned even if they are up to date
	Assumptions *Assumptions      `json:"assumptions,omitempty"` // of one that only plans
	Cancel      *Cancellation     `json:"cancel,omitempty"`
}

// Assumptions is the desired state that a plan-only workflow assumes, as if a person's
// request had been applied.
type Assumptions struct {
	Absent   bool     `json:"absent,omitempty"`    // the install is to be removed
	TornDown []string `json:"torn_down,omitempty"` // components to be removed
	Deployed []string `json:"deployed,omitempty"`  // components to be deployed although they were torn down
}

// load reads a workflow of a locked install into a graph, and computes the desired state.
func (e *Engine) load(ctx context.Context, tx *store.Tx, install store.Install, id string) (*executor, error) {
	row, err := tx.FindWorkflow(ctx, tx.Org, id)
	if err != nil {
		return nil, err
	}
	f := &executor{engine: e, tx: tx, install: install, row: row, stepRows: map[string]store.Step{}}
	f.graph = &Graph{
		Kind: Kind(row.Kind), PlanOnly: row.PlanOnly, Status: Status(row.Status),
		Rule: ruleOf(install),
	}
	if f.graph.Status != Running {
		return f, nil
	}
	if f.params, err = decodeParams(row); err != nil {
		return nil, err
	}
	if row.Cancelled {
		f.graph.Cancelled = f.params.Cancel
		if f.graph.Cancelled == nil {
			f.graph.Cancelled = &Cancellation{Actor: "a person"}
		}
	}
	if f.graph.Desired, err = f.desiredStates(ctx); err != nil {
		return nil, fmt.Errorf("resolve the desired state of %s: %w", install.Name, err)
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

func decodeParams(row store.Workflow) (WorkflowParams, error) {
	var asked WorkflowParams
	if err := json.Unmarshal(row.Request, &asked); err != nil {
		return asked, fmt.Errorf("decode what was asked of workflow %s: %w", row.ID, err)
	}
	return asked, nil
}

// ruleOf returns the install's approval rule that is in force now.
func ruleOf(install store.Install) Rule {
	rule := Rule{ApproveAll: install.Approval == appconfig.ApproveAll, AllowDestroy: install.AllowDestroy}
	if record, err := ApprovalRuleOf(install); err == nil {
		rule.By = record.By
	}
	return rule
}

func (x *executor) loadSteps(ctx context.Context) error {
	rows, err := x.tx.StepsOfWorkflow(ctx, x.tx.Org, x.row.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		s := &Step{
			ID: r.ID, Kind: StepKind(r.Kind), Component: r.Component, Action: r.Action, Trigger: r.Trigger, Destroy: r.Destroy,
			Status: StepStatus(r.Status), Reason: r.Reason, SkippedByPerson: r.SkippedByPerson, RejectedBy: r.RejectedBy,
			Tries:         int(r.Tries),
			Interruptions: int(r.Interruptions),
		}
		if err := json.Unmarshal(r.Needs, &s.Needs); err != nil {
			return fmt.Errorf("decode the needs of step %s: %w", r.ID, err)
		}
		x.stepRows[r.ID] = r
		x.graph.Steps = append(x.graph.Steps, s)
	}
	return nil
}

func (x *executor) loadPlans(ctx context.Context) error {
	rows, err := x.tx.CurrentPlans(ctx, x.tx.Org, x.row.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		plan := &Plan{
			ID: r.ID, Status: PlanStatus(r.Status), DesiredDigest: r.DesiredDigest, Destructive: r.Destructive,
			IndividualApproval: r.IndividualApproval, RejectedBy: r.RejectedBy,
			Approval: r.ApprovalID, Authority: Authority(r.Authority), DecidedBy: r.Actor,
			DecisionReason: r.DecisionReason,
		}
		s := x.graph.stepByID(r.StepID)
		s.Plan = plan
		if apply := x.graph.groupOf(s.Component).apply; r.Problem != "" && apply != nil && apply.Job != nil {
			apply.Job.Status, apply.Job.Error = JobFailed, r.Problem
		}
	}
	begun, err := x.tx.ComponentsWithFailedApply(ctx, x.tx.Org, x.row.ID)
	for _, component := range begun {
		if apply := x.graph.groupOf(component).apply; apply != nil {
			apply.EarlierApplyFailed = true
		}
	}
	return err
}

func (x *executor) loadJobs(ctx context.Context) error {
	rows, err := x.tx.CurrentJobs(ctx, x.tx.Org, x.row.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		job := &Job{
			ID: r.ID, Status: jobStatus(r.Status, r.Result), DesiredDigest: r.DesiredDigest, CopiedByPlan: r.ID == "",
			Cancelling: r.Cancel, Error: r.Error,
		}
		switch {
		case r.Problem != "":
			job.Status, job.Error = JobFailed, r.Problem
		case r.Stale != "":
			job.Status, job.Error = JobStale, r.Stale
		case r.Started && job.Status == JobStale && x.graph.stepByID(r.StepID).Kind == StepAction:
			job.Status = JobFailed // an action that ran cannot be stale, even if its runner reports so
		}
		x.graph.stepByID(r.StepID).Job = job
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
