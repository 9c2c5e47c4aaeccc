// Package installhealth enqueues jobs by which runners check, between deploys, the health of what they
// deployed: a pod that crashes at night shows in nuon status although nobody deploys anything.
//
// It reads what is applied of an install's components, adds jobs for its runner, one at a time, and
// stores their results. Health is never a reason to deploy. The main program calls Reconcile when a
// check is due; package jobs calls JobAccepted and JobEnded.
package installhealth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// OwnerKind is the owner kind of health jobs in package jobs. Their owner id is the install's id.
const OwnerKind = "health"

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
	err := h.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, org, installID)
		if errors.Is(err, store.ErrNotFound) {
			return tx.ClearDue(ctx, org, store.DueHealth, installID)
		}
		if err != nil {
			return err
		}
		return h.reconcile(ctx, tx, install)
	})
	if err != nil {
		return fmt.Errorf("check the health of install %s: %w", installID, err)
	}
	return nil
}

func (h *Health) reconcile(ctx context.Context, tx *store.Tx, install store.Install) error {
	spec, why, err := h.specs.HealthSpec(ctx, tx, install)
	if err != nil {
		return err
	}
	if len(spec.Health.Parts) == 0 { // the next deploy makes it due again
		return tx.ClearDue(ctx, tx.Org, store.DueHealth, install.ID)
	}
	able, err := runnerAccepts(ctx, tx, install, &spec.Health)
	if err != nil {
		return err
	}
	busy, err := tx.HealthJobRunning(ctx, tx.Org, install.ID)
	if err != nil {
		return err
	}
	if busy || !able || why != "" { // a deploy that waits for the role states why
		return setDueIn(ctx, tx, install.ID, idleInterval)
	}
	spec.TimeoutSeconds = jobTimeout
	_, err = jobs.Enqueue(ctx, tx, jobs.NewJob{
		Runner: install.RunnerID, Kind: string(api.JobSpecKindHealth), OwnerKind: OwnerKind, OwnerID: install.ID,
		InstallID: install.ID,
		Reason:    "it is time to see how what is deployed is",
		Spec:      spec,
	})
	if err != nil {
		return err
	}
	return setDueIn(ctx, tx, install.ID, readyInterval)
}

// runnerAccepts removes the parts that the install's runner may not check according to its own file. It
// returns false if no part remains, or if the runner takes no jobs now, because a delayed check is
// worthless.
func runnerAccepts(ctx context.Context, tx *store.Tx, install store.Install, spec *api.HealthSpec) (bool, error) {
	found, err := tx.RunnersByID(ctx, tx.Org, []string{install.RunnerID})
	if err != nil || len(found) == 0 {
		return false, err
	}
	spec.Parts = slices.DeleteFunc(spec.Parts, func(part api.HealthPart) bool {
		return !runners.AllowsComponents(found[0], part.Deploy.ComponentKind)
	})
	return len(spec.Parts) > 0 && runners.UnavailableReason(found[0], tx.Now()) == "", nil
}

func setDueIn(ctx context.Context, tx *store.Tx, install string, in time.Duration) error {
	return tx.SetDueIn(ctx, store.SetDueInParams{
		OrgID: tx.Org, Kind: store.DueHealth, ID: install, InSeconds: in.Seconds(),
	})
}

// JobAccepted accepts every check.
func (h *Health) JobAccepted(context.Context, *store.Tx, store.Job) error { return nil }

// JobEnded stores the results of a check and schedules the next one. It ignores results about
// components of other installs.
func (h *Health) JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error {
	wait := readyInterval
	if len(result.Health.Parts) == 0 {
		wait = notReadyInterval
	}
	for _, part := range result.Health.Parts {
		own, err := tx.ComponentOnInstall(ctx, tx.Org, job.OwnerID, part.InstallComponent)
		if err != nil {
			return fmt.Errorf("keep the health of %s: %w", part.InstallComponent, err)
		}
		if !own {
			continue
		}
		if err := workflow.SaveHealth(ctx, tx, part.InstallComponent, part.Health); err != nil {
			return fmt.Errorf("keep the health of %s: %w", part.InstallComponent, err)
		}
		if part.Health.Status != api.HealthStatusReady {
			wait = notReadyInterval
		}
	}
	if err := tx.DeleteHealthJobs(ctx, tx.Org, job.OwnerID, job.ID); err != nil {
		return err
	}
	return setDueIn(ctx, tx, job.OwnerID, wait)
}

var _ jobs.Owner = (*Health)(nil)
