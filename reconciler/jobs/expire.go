package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// expiry is the decision about an attempt whose time may have run out.
type expiry int

const (
	expiryNothing  expiry = iota // it has ended, or was marked expired before
	expiryLater                  // its lease was extended, or the control plane was down
	expiryWithdraw               // the runner did not accept it: it is offered again
	expiryRequeue                // contact lost with a repeatable job: another attempt is made
	expiryGiveUp                 // the same, for the last time: the job ends as lost
	expiryAbandon                // contact lost while the job was being cancelled: it ends as cancelled
	expiryEnd                    // contact lost with a request of a person, who can ask again: it ends as lost
	expiryWait                   // contact lost with a job that must not run twice: wait for the runner or for a person
)

// maxLosses is the number of lost or broken-off attempts after which a job is not tried again: the
// cause would probably end the next runner, too.
const maxLosses = 5

// decideExpiry decides what the end of a lease means. losses counts the job's earlier attempts that
// lost contact or were broken off. Builds, plans and health checks change nothing in a customer's
// account, and a sync only adds objects named by their digest, so another attempt is safe. An apply
// or an action never runs again because of silence (design, section 6: expired means lost contact,
// not dead).
func decideExpiry(h Attempt, losses int) expiry {
	status := AttemptStatus(h.Row.Status)
	switch {
	case status != AttemptOffered && status != AttemptRunning:
		return expiryNothing
	case !h.Over:
		return expiryLater
	case status == AttemptOffered:
		return expiryWithdraw
	case !repeatable(h.Job.Kind) && !api.IsInspection(h.Job.Kind):
		return expiryWait
	case h.Job.Cancel:
		return expiryAbandon
	case api.IsInspection(h.Job.Kind):
		return expiryEnd
	case losses+1 >= maxLosses:
		return expiryGiveUp
	}
	return expiryRequeue
}

// repeatable reports whether running a job of the kind twice has the same effect as once.
func repeatable(kind string) bool {
	return slices.Contains([]string{"build", "sync", "plan", "health", "secrets"}, kind)
}

// Expire handles one attempt whose time may have run out, or a job that was cancelled before it
// started. what is "job/number", as in queue.Expire. Expire returns no error if the attempt does
// not exist or its time has not run out.
func (s *Service) Expire(ctx context.Context, org, what string) error {
	jobID, number, ok := strings.Cut(what, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil {
		return fmt.Errorf("expire %q: not the id of an attempt", what)
	}
	err = s.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		job, err := lockJob(ctx, tx, jobID)
		if errors.Is(err, store.ErrNotFound) {
			return tx.ClearDue(ctx, tx.Org, store.DueAttempt, what)
		}
		if err != nil {
			return err
		}
		if err := s.notifyCancelled(ctx, tx, job); err != nil {
			return err
		}
		row, err := tx.AttemptToExpire(ctx, store.AttemptToExpireParams{
			OrgID: tx.Org, JobID: jobID, Number: int32(n), LeaseSeconds: timing.Lease.Seconds(),
			GapSeconds: store.UptimeGap.Seconds(),
		})
		if errors.Is(err, store.ErrNotFound) {
			return tx.ClearDue(ctx, tx.Org, store.DueAttempt, what)
		}
		if err != nil {
			return err
		}
		return s.expire(ctx, tx, Attempt{Job: job, Row: row.Attempt, Over: row.Over})
	})
	if err != nil {
		return fmt.Errorf("expire attempt %s: %w", what, err)
	}
	return nil
}

// expire carries out the decision of decideExpiry.
func (s *Service) expire(ctx context.Context, tx *store.Tx, h Attempt) error {
	losses, err := tx.CountBrokenAttempts(ctx, tx.Org, h.Job.ID)
	if err != nil {
		return err
	}
	decision := decideExpiry(h, int(losses))
	switch decision {
	case expiryNothing:
		return tx.ClearDue(ctx, tx.Org, store.DueAttempt, dueID(h.Row))
	case expiryLater:
		return tx.PutOffExpiry(ctx, store.PutOffExpiryParams{
			OrgID: tx.Org, JobID: h.Job.ID, Number: h.Row.Number, LeaseSeconds: timing.Lease.Seconds(),
		})
	case expiryWithdraw:
		return withdraw(ctx, tx, h, "the runner did not accept the offer in time; it is offered again")
	}
	runner, err := tx.JobWithRunner(ctx, tx.Org, h.Job.ID)
	if err != nil {
		return err
	}
	if err := moveAttempt(ctx, tx, h.Row, AttemptExpired); err != nil {
		return err
	}
	if err := tx.ClearDue(ctx, tx.Org, store.DueAttempt, dueID(h.Row)); err != nil {
		return err
	}
	silent := fmt.Sprintf("lost contact with runner %s since %s",
		runner.Runner.Name, h.Row.LeaseUntil.Add(-timing.Lease).UTC().Format(time.DateTime+" MST"))
	return s.applyExpiry(ctx, tx, h, decision, runner.Runner.Name, silent)
}

// applyExpiry applies the loss of contact to the job.
func (s *Service) applyExpiry(ctx context.Context, tx *store.Tx, h Attempt, decision expiry, runner,
	silent string) error {
	if !h.AtWork() {
		return nil // the job has continued without this attempt
	}
	if decision == expiryWait {
		return tx.SetJobWaits(ctx, fmt.Sprintf("%s; start the runner again: it knows how the job ended. If its machine is "+
			"permanently gone, run `nuon runners replace %s`",
			silent, runner), tx.Org, h.Job.ID)
	}
	// The attempt is superseded from here on, so a lock that it still holds protects nothing.
	if err := tx.FreeStateLocks(ctx, tx.Org, h.Job.ID, h.Row.Number); err != nil {
		return err
	}
	switch decision {
	case expiryAbandon:
		return s.endJob(ctx, tx, h.Job, JobCancelled, api.JobResult{
			Status: api.JobResultStatusCancelled, Error: silent + " while the job was being cancelled",
		})
	case expiryEnd:
		return s.endJob(ctx, tx, h.Job, JobLost, api.JobResult{
			Status: api.JobResultStatusLost, Error: silent + "; request it again",
		})
	case expiryGiveUp:
		return s.endJob(ctx, tx, h.Job, JobLost, api.JobResult{
			Status: api.JobResultStatusLost,
			Error: fmt.Sprintf("%s, the %dth time that this job's runner lost contact; see the runner's log, then "+
				"request it again", silent, maxLosses),
		})
	}
	return requeue(ctx, tx, h, silent+"; another attempt is made as soon as the runner is online again")
}

// withdraw withdraws an offer and makes the job wait for the next one.
func withdraw(ctx context.Context, tx *store.Tx, h Attempt, waits string) error {
	if err := endAttempt(ctx, tx, h.Row, AttemptWithdrawn); err != nil {
		return err
	}
	if err := tx.DropWithdrawn(ctx, tx.Org, h.Job.ID, h.Row.Number); err != nil {
		return err
	}
	return requeue(ctx, tx, h, waits)
}

// requeue returns a job to its runner's queue if the attempt is the job's current one.
func requeue(ctx context.Context, tx *store.Tx, h Attempt, waits string) error {
	if !h.current() {
		return nil
	}
	if _, err := moveJob(ctx, tx, h.Job, jobMove{to: JobQueued, waits: waits}); err != nil {
		return err
	}
	return runners.Wake(ctx, tx, h.Job.RunnerID)
}
