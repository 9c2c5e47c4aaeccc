package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// NewJob is a job to be queued.
type NewJob struct {
	Runner    string      // id of the one runner that may take it, registered or not
	Kind      string      // build, sync, plan, apply, action or health
	OwnerKind string      // "build" or "step"
	OwnerID   string      // what the owner knows it by
	PlanID    string      // of an apply: a plan has one apply job, for ever
	InstallID string      // empty for a build
	Reason    string      // why there is this job, as a sentence
	Spec      api.JobSpec // Job, Attempt, Org and Trace are filled in here; Kind when it is empty

	ComponentKind string // of what it works on; empty for an action. A runner's own file may forbid it
	Trace         string // W3C traceparent of what asked for it; empty for none
}

// defaultTimeout is a job's when its spec says none, in seconds.
const defaultTimeout = 60 * 60

// Enqueue queues a job and, when the transaction commits, wakes its runner. The job's id is new.
func Enqueue(ctx context.Context, tx *store.Tx, j NewJob) (jobID string, err error) {
	jobs, err := EnqueueAll(ctx, tx, []NewJob{j})
	if err != nil {
		return "", err
	}
	return jobs[0], nil
}

// EnqueueAll is Enqueue for any number of jobs, with as many statements as for one. It returns their ids, in order.
func EnqueueAll(ctx context.Context, tx *store.Tx, jobs []NewJob) (ids []string, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	add := store.InsertJobsParams{OrgID: tx.Org}
	var runners []string
	for _, j := range jobs {
		jobID, spec, err := j.encode(tx.Org)
		if err != nil {
			return nil, fmt.Errorf("enqueue %s for %s %s: %w", j.Kind, j.OwnerKind, j.OwnerID, err)
		}
		add.Ids, add.RunnerIds, add.Kinds = append(add.Ids, jobID), append(add.RunnerIds, j.Runner), append(add.Kinds, j.Kind)
		add.OwnerKinds, add.OwnerIds = append(add.OwnerKinds, j.OwnerKind), append(add.OwnerIds, j.OwnerID)
		add.ComponentKinds, add.Traces = append(add.ComponentKinds, j.ComponentKind), append(add.Traces, j.Trace)
		add.PlanIds, add.InstallIds = append(add.PlanIds, j.PlanID), append(add.InstallIds, j.InstallID)
		add.Specs, add.Reasons = append(add.Specs, spec), append(add.Reasons, j.Reason)
		runners = append(runners, j.Runner)
	}
	if err := tx.InsertJobs(ctx, add); err != nil {
		return nil, fmt.Errorf("enqueue %s for %s %s: %w", jobs[0].Kind, jobs[0].OwnerKind, jobs[0].OwnerID, err)
	}
	slices.Sort(runners)
	if err := wake(ctx, tx, slices.Compact(runners)...); err != nil {
		return nil, fmt.Errorf("enqueue job %s: %w", add.Ids[0], err)
	}
	return add.Ids, nil
}

// encode gives a job an id and returns its spec as it is stored.
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

// wake makes all polls of runners look again.
func wake(ctx context.Context, tx *store.Tx, runners ...string) error {
	payloads := make([]string, 0, len(runners))
	for _, runner := range runners {
		payloads = append(payloads, tx.Org+"/"+runner)
	}
	return tx.Notify(ctx, store.ChannelJobs, payloads...)
}
