package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Spec says to an attempt at work what to do. A superseded attempt may still ask: it is to finish and deliver. Errors:
// ErrNotFound, ErrNotRunning.
func (d *Dispatch) Spec(ctx context.Context, caller Caller, ref api.AttemptRef) (api.JobSpec, error) {
	var spec api.JobSpec
	err := d.store.Read(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := reachAtWork(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		spec, err = specOf(h.job)
		return err
	})
	if err != nil {
		return api.JobSpec{}, fmt.Errorf("spec of job %s: %w", ref.Job, err)
	}
	spec.Job, spec.Attempt, spec.Org = ref.Job, ref.Attempt, caller.Org
	return spec, nil
}

// specOf reads a job's spec as it was enqueued.
func specOf(job store.Job) (api.JobSpec, error) {
	var spec api.JobSpec
	if err := json.Unmarshal(job.Spec, &spec); err != nil {
		return spec, fmt.Errorf("read the spec of job %s: %w", job.ID, err)
	}
	return spec, nil
}

// componentOf is the install component whose Terraform state a job works on.
func componentOf(job store.Job) (string, error) {
	spec, err := specOf(job)
	if err != nil {
		return "", err
	}
	component := spec.Plan.Module.InstallComponent
	if spec.Kind == api.JobSpecKindApply {
		component = spec.Apply.Module.InstallComponent
	}
	if component == "" {
		return "", invalid("a job of kind %s has no Terraform state", job.Kind)
	}
	return component, nil
}
