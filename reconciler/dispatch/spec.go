package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Spec returns the job spec to an attempt at work. A superseded attempt may still request it,
// because it is to finish and deliver. Errors: ErrNotFound, ErrNotRunning.
func (d *Dispatch) Spec(ctx context.Context, caller Caller, ref api.AttemptRef) (api.JobSpec, error) {
	var spec api.JobSpec
	err := d.store.ReadTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
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

// specOf decodes a job's spec as it was enqueued.
func specOf(job store.Job) (api.JobSpec, error) {
	var spec api.JobSpec
	if err := json.Unmarshal(job.Spec, &spec); err != nil {
		return spec, fmt.Errorf("read the spec of job %s: %w", job.ID, err)
	}
	return spec, nil
}

// subject is what a job works on: the install component whose Terraform state it may read or write,
// and the version to restore, if any.
type subject struct {
	component string
	restore   api.Restore
}

// subjectOf reads a job's subject from its spec. It returns ErrInvalid for a job without a state.
func subjectOf(job store.Job) (subject, error) {
	spec, err := specOf(job)
	if err != nil {
		return subject{}, err
	}
	of := subject{spec.Plan.Deploy.InstallComponent, spec.Plan.Restore}
	if spec.Kind == api.JobSpecKindApply {
		of = subject{spec.Apply.Deploy.InstallComponent, spec.Apply.Restore}
	}
	if of.component == "" {
		return subject{}, invalid("a job of kind %s has no Terraform state", job.Kind)
	}
	return of, nil
}

// writes reports which states a job of a kind may write. An apply, which includes a restore, may
// write any number of versions. A plan may deliver again the newest version that its runner
// delivered before, for a control plane that was restored from an older backup.
func writes(kind string) (any, again bool) {
	return kind == string(api.JobSpecKindApply), kind == string(api.JobSpecKindPlan)
}

// setBase records, when an attempt is accepted, the newest version of its state. It does nothing
// for a job without a state.
func setBase(ctx context.Context, tx *store.Tx, h held) error {
	of, err := subjectOf(h.job)
	if errors.Is(err, ErrInvalid) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.SetBaseVersion(ctx, store.SetBaseVersionParams{
		OrgID: tx.Org, InstallComponentID: of.component, JobID: h.job.ID, Number: h.attempt.Number,
	})
}
