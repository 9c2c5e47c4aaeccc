package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// NewJob describes a job to enqueue.
type NewJob struct {
	Runner    string      // id of the only runner that may take it, registered or not
	Kind      string      // build, sync, plan, apply, action, health, secrets, logs, debug_command or shell
	OwnerKind string      // "build", "refresh", "step", "health", "secrets" or "inspection"
	OwnerID   string      // the owner's id for it
	PlanID    string      // of an apply: a plan never has a second apply job
	InstallID string      // empty for a build
	Reason    string      // why the job exists, as a sentence
	Spec      api.JobSpec // Enqueue sets Job, Attempt, Org and Trace, and Kind if it is empty

	ComponentKind string // kind of the component it works on; empty for an action. The runner's file may forbid it
	Trace         string // W3C traceparent of the request behind it; empty for none
}

// defaultTimeout applies to a job whose spec sets none, in seconds.
const defaultTimeout = 60 * 60

// Enqueue queues a job under a new id and returns that id. It wakes the job's runner when the
// transaction commits.
func Enqueue(ctx context.Context, tx *store.Tx, j NewJob) (jobID string, err error) {
	jobs, err := EnqueueAll(ctx, tx, []NewJob{j})
	if err != nil {
		return "", err
	}
	return jobs[0], nil
}

// EnqueueAll is Enqueue for any number of jobs, with as many statements as for one. It returns
// their ids in order.
func EnqueueAll(ctx context.Context, tx *store.Tx, jobs []NewJob) (ids []string, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	add := store.InsertJobsParams{OrgID: tx.Org}
	var runnerIDs []string
	for _, j := range jobs {
		jobID, spec, err := j.encode(tx.Org)
		if err != nil {
			return nil, fmt.Errorf("enqueue %s for %s %s: %w", j.Kind, j.OwnerKind, j.OwnerID, err)
		}
		add.Ids, add.RunnerIds, add.Kinds = append(add.Ids, jobID), append(add.RunnerIds, j.Runner),
			append(add.Kinds, j.Kind)
		add.OwnerKinds, add.OwnerIds = append(add.OwnerKinds, j.OwnerKind), append(add.OwnerIds, j.OwnerID)
		add.ComponentKinds, add.Traces = append(add.ComponentKinds, j.ComponentKind), append(add.Traces, j.Trace)
		add.PlanIds, add.InstallIds = append(add.PlanIds, j.PlanID), append(add.InstallIds, j.InstallID)
		add.Specs, add.Reasons = append(add.Specs, spec), append(add.Reasons, j.Reason)
		runnerIDs = append(runnerIDs, j.Runner)
	}
	if err := tx.InsertJobs(ctx, add); err != nil {
		return nil, fmt.Errorf("enqueue %s for %s %s: %w", jobs[0].Kind, jobs[0].OwnerKind, jobs[0].OwnerID, err)
	}
	slices.Sort(runnerIDs)
	if err := runners.Wake(ctx, tx, slices.Compact(runnerIDs)...); err != nil {
		return nil, fmt.Errorf("enqueue job %s: %w", add.Ids[0], err)
	}
	return add.Ids, nil
}

// encode assigns a job an id and returns the id and the spec as it is stored.
func (j NewJob) encode(org string) (jobID, encoded string, err error) {
	spec := j.Spec
	spec.Job, spec.Attempt, spec.Org = id.New("job"), 0, org
	spec.Trace = j.Trace
	if spec.Kind == "" {
		spec.Kind = api.JobSpecKind(j.Kind)
	}
	if spec.TimeoutSeconds == 0 {
		spec.TimeoutSeconds = defaultTimeout
	}
	if string(spec.Kind) != j.Kind {
		return "", "", fmt.Errorf("its spec is of kind %s", spec.Kind)
	}
	raw, err := json.Marshal(spec)
	return spec.Job, string(raw), err
}
