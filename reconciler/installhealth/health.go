// Package installhealth enqueues jobs by which runners check, between deploys, the health of what they
// deployed: a pod that crashes at night shows in nuon status although nobody deploys anything.
//
// It reads what is applied of an install's components, adds jobs for its runner, one at a time, and
// stores their results. Health is never a reason to deploy. The main program calls Reconcile when a
// check is due; package jobs calls JobAccepted and JobEnded.
package installhealth

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/installcheck"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// OwnerKind is the owner kind of health jobs in package jobs. Their owner id is the install's id.
const OwnerKind = string(installcheck.Health)

// The intervals between checks: if everything is ready, if it is not, and while the runner cannot
// check.
const (
	readyInterval    = 15 * time.Minute
	notReadyInterval = time.Minute
	idleInterval     = 2 * time.Minute
)

// jobTimeout bounds one check, in seconds.
const jobTimeout = 120

// SpecSource returns what to check.
type SpecSource interface {
	// HealthSpec returns a spec without parts if nothing was deployed into a cluster, and why the install has no role
	// to check with now.
	HealthSpec(ctx context.Context, tx *store.Tx, install store.Install) (spec api.JobSpec, why string, err error)
}

// Health enqueues checks and stores their results. It is safe for concurrent use, by any number of
// replicas.
type Health struct {
	store *store.Store
	specs SpecSource
}

// New returns the service.
func New(s *store.Store, world SpecSource) *Health { return &Health{store: s, specs: world} }

// Reconcile enqueues a check for the runner of an install, unless one is queued or running or the
// runner cannot check. It returns no error for a deleted install.
func (h *Health) Reconcile(ctx context.Context, org, installID string) error {
	return installcheck.Health.Reconcile(ctx, h.store, org, installID, h.reconcile)
}

func (h *Health) reconcile(ctx context.Context, tx *store.Tx, install store.Install) error {
	spec, why, err := h.specs.HealthSpec(ctx, tx, install)
	if err != nil {
		return err
	}
	if len(spec.Health.Parts) == 0 { // the next deploy makes it due again
		return installcheck.Health.ClearDue(ctx, tx, install.ID)
	}
	runner, available, err := installcheck.Runner(ctx, tx, install)
	if err != nil {
		return err
	}
	spec.Health.Parts = slices.DeleteFunc(spec.Health.Parts, func(part api.HealthPart) bool {
		return !runners.AllowsComponents(runner, part.Deploy.ComponentKind)
	})
	started := false
	if available && len(spec.Health.Parts) > 0 && why == "" { // a deploy that waits for the role states why
		spec.TimeoutSeconds = jobTimeout
		started, err = installcheck.Health.Start(ctx, tx, install, "it is time to check the health of what is deployed",
			spec)
	}
	if err != nil {
		return err
	}
	next := idleInterval
	if started {
		next = readyInterval
	}
	return installcheck.Health.SetDueIn(ctx, tx, install.ID, next)
}

// JobAccepted accepts every check.
func (h *Health) JobAccepted(context.Context, *store.Tx, store.Job) error { return nil }

// JobEnded stores the results of a check and schedules the next one. It ignores results about
// components of other installs.
func (h *Health) JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error {
	next := readyInterval
	if len(result.Health.Parts) == 0 {
		next = notReadyInterval
	}
	for _, part := range result.Health.Parts {
		own, err := tx.ComponentOnInstall(ctx, tx.Org, job.OwnerID, part.InstallComponent)
		if err != nil {
			return fmt.Errorf("store the health of %s: %w", part.InstallComponent, err)
		}
		if !own {
			continue
		}
		if err := workflow.SaveHealth(ctx, tx, part.InstallComponent, part.Health); err != nil {
			return fmt.Errorf("store the health of %s: %w", part.InstallComponent, err)
		}
		if part.Health.Status != api.HealthStatusReady {
			next = notReadyInterval
		}
	}
	return installcheck.Health.End(ctx, tx, job, next)
}

var _ jobs.Owner = (*Health)(nil)
