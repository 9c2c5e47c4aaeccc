package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Spec returns the job spec to an attempt at work. A superseded attempt may still request it,
// because it is to finish and deliver. Errors: ErrNotFound, ErrNotRunning.
func (s *Service) Spec(ctx context.Context, caller runners.Caller, ref api.AttemptRef) (api.JobSpec, error) {
	var spec api.JobSpec
	err := s.store.ReadTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := ReadRunningAttempt(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		spec, err = specOf(h.Job)
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

// Subject is what a job works on: the install component whose Terraform state it may read or write,
// and the version to restore, if any.
type Subject struct {
	Component string
	Restore   api.Restore
}

// SubjectOf reads a job's subject from its spec. It returns refusal.ErrInvalid for a job without a state.
func SubjectOf(job store.Job) (Subject, error) {
	spec, err := specOf(job)
	if err != nil {
		return Subject{}, err
	}
	of := Subject{spec.Plan.Deploy.InstallComponent, spec.Plan.Restore}
	if spec.Kind == api.JobSpecKindApply {
		of = Subject{spec.Apply.Deploy.InstallComponent, spec.Apply.Restore}
	}
	if of.Component == "" {
		return Subject{}, refusal.Invalidf("a job of kind %s has no Terraform state", job.Kind)
	}
	return of, nil
}

// setBase records, when an attempt is accepted, the newest version of its state. It does nothing
// for a job without a state.
func setBase(ctx context.Context, tx *store.Tx, h Attempt) error {
	of, err := SubjectOf(h.Job)
	if errors.Is(err, refusal.ErrInvalid) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.SetBaseVersion(ctx, store.SetBaseVersionParams{
		OrgID: tx.Org, InstallComponentID: of.Component, JobID: h.Job.ID, Number: h.Row.Number,
	})
}
