package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// acceptance is the decision on an accept request.
type acceptance int

const (
	acceptGone  acceptance = iota // the offer was withdrawn or superseded
	acceptFirst                   // the attempt starts
	acceptAgain                   // accepted before; the response may have been lost
)

// maxAccepts is how often one attempt may be accepted. A runner repeats the
// request until it gets a response, rarely more than a few times.
const maxAccepts = 16

// decideAcceptance decides on an accept request. An offer that has run out but was not withdrawn yet is
// still valid.
func decideAcceptance(h Attempt) acceptance {
	switch {
	case h.current() && AttemptStatus(h.Row.Status) == AttemptOffered && JobStatus(h.Job.Status) == JobOffered:
		return acceptFirst
	case h.AtWork() && len(h.Row.TokenHashes) < maxAccepts:
		return acceptAgain
	}
	return acceptGone
}

// Accept assigns an offered attempt to its runner and returns the attempt's token. A process of the
// job may start only after Accept. Accept calls Owner.JobAccepted in the same transaction. A
// repeated accept succeeds like the first and returns another token; the earlier tokens stay valid,
// because a duplicate request must not lock out the job that started with the first response.
// Errors: ErrNotFound, ErrOfferGone.
func (s *Service) Accept(ctx context.Context, caller runners.Caller, ref api.AttemptRef) (api.Accepted, error) {
	var plain string
	var begun Attempt // the attempt that this accept started
	err := s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := LockAttempt(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		how := decideAcceptance(h)
		if how == acceptGone {
			return ErrOfferGone
		}
		if plain, err = s.startAttempt(ctx, tx, h); err != nil {
			return err
		}
		begun = Attempt{}
		if how == acceptAgain {
			return clearContactLost(ctx, tx, h)
		}
		if err := setBase(ctx, tx, h); err != nil {
			return err
		}
		job, err := moveJob(ctx, tx, h.Job, jobMove{to: JobRunning})
		if err != nil {
			return err
		}
		owner, err := s.owner(job)
		if err != nil {
			return err
		}
		begun = h
		return owner.JobAccepted(ctx, tx, job)
	})
	var stale staleJob
	if errors.As(err, &stale) {
		if err = s.endStale(ctx, caller, ref, stale.reason); err == nil {
			err = ErrOfferGone.With("%s", stale.reason)
		}
	}
	if err != nil {
		return api.Accepted{}, fmt.Errorf("accept attempt %d of job %s: %w", ref.Attempt, ref.Job, err)
	}
	s.meter.accepted(begun)
	return api.Accepted{Token: plain, LeaseSeconds: int(timing.Lease.Seconds())}, nil
}

// startAttempt stores a token for the attempt and starts its lease.
func (s *Service) startAttempt(ctx context.Context, tx *store.Tx, h Attempt) (plain string, err error) {
	keys, err := tx.Tokens(ctx)
	if err != nil {
		return "", err
	}
	plain, hash := keys.Mint(token.Attempt, tx.Org, h.Job.ID, strconv.Itoa(int(h.Row.Number)))
	changed, err := tx.AcceptAttempt(ctx, store.AcceptAttemptParams{
		OrgID: tx.Org, JobID: h.Job.ID, Number: h.Row.Number, RunnerID: h.Row.RunnerID,
		FromStatus: h.Row.Status, TokenHash: hash, LeaseSeconds: timing.Lease.Seconds(),
	})
	if err == nil && changed != 1 {
		err = ErrChanged
	}
	if err != nil {
		return "", err
	}
	return plain, tx.SetDueIn(ctx, store.SetDueInParams{
		OrgID: tx.Org, Kind: store.DueAttempt, ID: dueID(h.Row), InSeconds: timing.Lease.Seconds(),
	})
}

// clearContactLost clears the notice that contact with the runner was lost.
func clearContactLost(ctx context.Context, tx *store.Tx, h Attempt) error {
	if AttemptStatus(h.Row.Status) != AttemptExpired {
		return nil
	}
	return tx.SetJobWaits(ctx, "", tx.Org, h.Job.ID)
}

// endStale ends a job whose owner refused to start it. The accept was rolled back, so the offer is
// still open here.
func (s *Service) endStale(ctx context.Context, caller runners.Caller, ref api.AttemptRef, reason string) error {
	return s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := LockAttempt(ctx, tx, caller, ref)
		if err != nil || decideAcceptance(h) != acceptFirst {
			return err // another request changed the attempt in between
		}
		if err := endAttempt(ctx, tx, h.Row, AttemptWithdrawn); err != nil {
			return err
		}
		return s.endJob(ctx, tx, h.Job, JobFailed, api.JobResult{Status: api.JobResultStatusStale, Error: reason})
	})
}

// dueID returns the id of an attempt in the table of due work.
func dueID(attempt store.Attempt) string {
	return attempt.JobID + "/" + strconv.Itoa(int(attempt.Number))
}
