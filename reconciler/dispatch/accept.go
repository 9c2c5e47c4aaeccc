package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// acceptance is the decision on an accept request.
type acceptance int

const (
	acceptGone  acceptance = iota // the offer was withdrawn or superseded
	acceptFirst                   // the attempt starts
	acceptAgain                   // accepted before; the response may have been lost
)

// mostAccepts is how often one attempt may be accepted. A runner repeats the
// request until it gets a response, rarely more than a few times.
const mostAccepts = 16

// acceptanceOf decides on an accept request. An offer that has run out but was not withdrawn yet is
// still valid.
func acceptanceOf(h held) acceptance {
	switch {
	case h.current() && AttemptStatus(h.attempt.Status) == AttemptOffered && JobStatus(h.job.Status) == JobOffered:
		return acceptFirst
	case h.atWork() && len(h.attempt.TokenHashes) < mostAccepts:
		return acceptAgain
	}
	return acceptGone
}

// Accept assigns an offered attempt to its runner and returns the attempt's token. A process of the
// job may start only after Accept. Accept calls Owner.JobAccepted in the same transaction. A
// repeated accept succeeds like the first and returns another token; the earlier tokens stay valid,
// because a duplicate request must not lock out the job that started with the first response.
// Errors: ErrNotFound, ErrOfferGone.
func (d *Dispatch) Accept(ctx context.Context, caller Caller, ref api.AttemptRef) (api.Accepted, error) {
	var plain string
	var begun held // the attempt that this accept started
	err := d.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := hold(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		how := acceptanceOf(h)
		if how == acceptGone {
			return ErrOfferGone
		}
		if plain, err = d.start(ctx, tx, h); err != nil {
			return err
		}
		begun = held{}
		if how == acceptAgain {
			return regained(ctx, tx, h)
		}
		if err := setBase(ctx, tx, h); err != nil {
			return err
		}
		job, err := moveJob(ctx, tx, h.job, jobMove{to: JobRunning})
		if err != nil {
			return err
		}
		owner, err := d.owner(job)
		if err != nil {
			return err
		}
		begun = h
		return owner.JobAccepted(ctx, tx, job)
	})
	var refused refusal
	if errors.As(err, &refused) {
		if err = d.refused(ctx, caller, ref, refused.reason); err == nil {
			err = fmt.Errorf("%w: %s", ErrOfferGone, refused.reason)
		}
	}
	if err != nil {
		return api.Accepted{}, fmt.Errorf("accept attempt %d of job %s: %w", ref.Attempt, ref.Job, err)
	}
	d.meter.accepted(begun)
	return api.Accepted{Token: plain, LeaseSeconds: int(Lease.Seconds())}, nil
}

// start stores a token for the attempt and starts its lease.
func (d *Dispatch) start(ctx context.Context, tx *store.Tx, h held) (plain string, err error) {
	keys, err := tx.Tokens(ctx)
	if err != nil {
		return "", err
	}
	plain, hash := keys.Mint(token.Attempt, tx.Org, h.job.ID, strconv.Itoa(int(h.attempt.Number)))
	changed, err := tx.AcceptAttempt(ctx, store.AcceptAttemptParams{
		OrgID: tx.Org, JobID: h.job.ID, Number: h.attempt.Number, RunnerID: h.attempt.RunnerID,
		FromStatus: h.attempt.Status, TokenHash: hash, LeaseSeconds: Lease.Seconds(),
	})
	if err == nil && changed != 1 {
		err = errFence
	}
	if err != nil {
		return "", err
	}
	return plain, tx.SetDueIn(ctx, store.SetDueInParams{
		OrgID: tx.Org, Kind: store.DueAttempt, ID: dueID(h.attempt), InSeconds: Lease.Seconds(),
	})
}

// regained clears the notice that contact with the runner was lost.
func regained(ctx context.Context, tx *store.Tx, h held) error {
	if AttemptStatus(h.attempt.Status) != AttemptExpired {
		return nil
	}
	return tx.SetJobWaits(ctx, "", tx.Org, h.job.ID)
}

// refused ends a job whose owner refused to start it. The accept was rolled back, so the offer is
// still open here.
func (d *Dispatch) refused(ctx context.Context, caller Caller, ref api.AttemptRef, reason string) error {
	return d.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := hold(ctx, tx, caller, ref)
		if err != nil || acceptanceOf(h) != acceptFirst {
			return err // another request changed the attempt in between
		}
		if err := leave(ctx, tx, h.attempt, AttemptWithdrawn); err != nil {
			return err
		}
		return d.end(ctx, tx, h.job, JobFailed, api.JobResult{Status: api.JobResultStatusStale, Error: reason})
	})
}

// dueID returns the id of an attempt in the table of due work.
func dueID(attempt store.Attempt) string {
	return attempt.JobID + "/" + strconv.Itoa(int(attempt.Number))
}
