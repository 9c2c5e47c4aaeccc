package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

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
	spec := j.Spec
	spec.Job, spec.Attempt, spec.Org = id.New("job"), 0, tx.Org
	spec.Trace = j.Trace
	if spec.Kind == "" {
		spec.Kind = api.JobSpecKind(j.Kind)
	}
	if spec.TimeoutSeconds == 0 {
		spec.TimeoutSeconds = defaultTimeout
	}
	if string(spec.Kind) != j.Kind {
		return "", fmt.Errorf("enqueue a job of kind %s for %s %s: its spec is of kind %s", j.Kind, j.OwnerKind, j.OwnerID, spec.Kind)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("enqueue %s for %s %s: %w", j.Kind, j.OwnerKind, j.OwnerID, err)
	}
	err = tx.InsertJob(ctx, store.InsertJobParams{
		OrgID: tx.Org, ID: spec.Job, RunnerID: j.Runner, Kind: j.Kind, OwnerKind: j.OwnerKind, OwnerID: j.OwnerID,
		ComponentKind: j.ComponentKind, Trace: j.Trace,
		PlanID: optional(j.PlanID), InstallID: optional(j.InstallID), Spec: raw, Reason: j.Reason,
	})
	if err != nil {
		return "", fmt.Errorf("enqueue %s for %s %s: %w", j.Kind, j.OwnerKind, j.OwnerID, err)
	}
	if err := wake(ctx, tx, j.Runner); err != nil {
		return "", fmt.Errorf("enqueue job %s: %w", spec.Job, err)
	}
	return spec.Job, nil
}

// wake makes all polls of a runner look again.
func wake(ctx context.Context, tx *store.Tx, runner string) error {
	return tx.Notify(ctx, store.ChannelJobs, tx.Org+"/"+runner)
}

// optional is nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
