package jobs

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/runners"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Replacement is a person's decision that a runner's machine is gone.
type Replacement struct {
	Runner string // id
	Reason string // as the person wrote it
	// NewKey means that the install key is lost with the machine: the next machine brings another.
	// What is sealed to the old key cannot be read any more, and sensitive inputs must be entered
	// again.
	NewKey bool
}

// Replaced is the result of a Replacement.
type Replaced struct {
	Runner            store.Runner
	RegistrationToken string           // of the machine that takes the place
	Lost              []api.AttemptRef // attempts that this ended
}

// loss is the decision about an attempt on a machine that is gone.
type loss int

const (
	lossNothing  loss = iota // it has ended
	lossWithdraw             // it was never accepted: the job is offered again
	lossAttempt              // another attempt has the job: only this one ends
	lossRequeue              // it changes nothing where it runs, and its spec fits any machine: another attempt is made
	lossCancel               // the same, and the job was being cancelled
	lossJob                  // the job ends as lost; its owner finds out what it may have done
)

// decideLoss makes that decision. A plan also ends as lost: its spec may be sealed to a key that is
// gone, so its owner makes a new job.
func decideLoss(h Attempt) loss {
	switch status := AttemptStatus(h.Row.Status); {
	case status.Ended():
		return lossNothing
	case status == AttemptOffered:
		return lossWithdraw
	case !h.AtWork():
		return lossAttempt
	case repeatable(h.Job.Kind) && h.Job.Cancel:
		return lossCancel
	case h.Job.Kind == "build":
		return lossRequeue
	}
	return lossJob
}

// Replace revokes everything that was issued to a runner's machine, in the caller's transaction: it
// voids the key and unused registration tokens, ends the attempts with their state locks, and
// notifies the owners of their jobs. States that the attempts wrote before may still be delivered
// with the attempts' own tokens, so a machine that was wrongly declared dead loses nothing. The
// caller audits the replacement.
//
// It locks rows in the common order: installs, the runner, jobs.
func (s *Service) Replace(ctx context.Context, tx *store.Tx, r Replacement) (Replaced, error) {
	if err := tx.LockInstallsInHand(ctx, tx.Org, r.Runner); err != nil {
		return Replaced{}, fmt.Errorf("replace runner %s: %w", r.Runner, err)
	}
	runner, err := tx.LockRunner(ctx, tx.Org, r.Runner)
	if err != nil {
		return Replaced{}, fmt.Errorf("replace runner %s: %w", r.Runner, err)
	}
	lost, err := s.endAttempts(ctx, tx, runner, r.Reason)
	if err != nil {
		return Replaced{}, fmt.Errorf("replace runner %s: %w", runner.Name, err)
	}
	if runner, err = tx.VoidRunner(ctx, r.NewKey, tx.Org, runner.ID); err != nil {
		return Replaced{}, fmt.Errorf("replace runner %s: %w", r.Runner, err)
	}
	replaced := Replaced{Runner: runner, Lost: lost}
	if replaced.RegistrationToken, err = runners.AddRegistrationToken(ctx, tx, runner); err != nil {
		return Replaced{}, err
	}
	if err := reconcileInstalls(ctx, tx, runner); err != nil {
		return Replaced{}, fmt.Errorf("replace runner %s: %w", runner.Name, err)
	}
	return replaced, nil
}

// endAttempts ends every attempt in flight on a runner and returns those that may have been at work.
func (s *Service) endAttempts(
	ctx context.Context, tx *store.Tx, runner store.Runner, reason string,
) ([]api.AttemptRef, error) {
	if err := tx.LockJobsInHand(ctx, tx.Org, runner.ID); err != nil {
		return nil, err
	}
	rows, err := tx.AttemptsInHand(ctx, tx.Org, runner.ID)
	if err != nil {
		return nil, err
	}
	why, lost := "runner "+runner.Name+" was replaced: "+reason, []api.AttemptRef{}
	for _, row := range rows {
		h := Attempt{Job: row.Job, Row: row.Attempt}
		decision := decideLoss(h)
		if err := s.applyLoss(ctx, tx, h, decision, why); err != nil {
			return nil, err
		}
		if decision != lossWithdraw && decision != lossNothing {
			lost = append(lost, api.AttemptRef{Job: h.Job.ID, Attempt: int(h.Row.Number)})
		}
	}
	return lost, nil
}

// applyLoss carries out the decision of decideLoss.
func (s *Service) applyLoss(ctx context.Context, tx *store.Tx, h Attempt, decision loss, why string) error {
	switch decision {
	case lossNothing:
		return nil
	case lossWithdraw:
		return withdraw(ctx, tx, h, why+"; it is offered to the machine that takes its place")
	}
	if err := endAttempt(ctx, tx, h.Row, AttemptLost); err != nil {
		return err
	}
	switch decision {
	case lossRequeue:
		return requeue(ctx, tx, h, why+"; another attempt is made by the machine that takes its place")
	case lossCancel:
		return s.endJob(ctx, tx, h.Job, JobCancelled, api.JobResult{
			Status: api.JobResultStatusCancelled, Error: why + ", while the job was being cancelled",
		})
	case lossJob:
		return s.endJob(ctx, tx, h.Job, JobLost, api.JobResult{
			Status: api.JobResultStatusLost, Error: why + "; the next plan finds what it may have done",
		})
	}
	return nil
}

// reconcileInstalls ends the polls of the replaced machine and enqueues a reconcile of its installs,
// because what they wait for may have changed.
func reconcileInstalls(ctx context.Context, tx *store.Tx, runner store.Runner) error {
	if err := runners.Wake(ctx, tx, runner.ID); err != nil {
		return err
	}
	installs, err := tx.InstallsOfRunner(ctx, tx.Org, runner.ID)
	if err != nil {
		return err
	}
	work := make([]river.JobArgs, 0, len(installs))
	for _, install := range installs {
		work = append(work, queue.Rollout{Org: tx.Org, Install: install})
	}
	return tx.Enqueue(ctx, work...)
}
