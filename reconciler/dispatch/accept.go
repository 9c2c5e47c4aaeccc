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

// acceptance is what an accept comes to.
type acceptance int

const (
	acceptGone  acceptance = iota // the offer is not there any more
	acceptFirst                   // the attempt begins
	acceptAgain                   // it was accepted before, and the answer may have been lost
)

// mostAccepts is how often an attempt is accepted. A runner asks again until it has an answer, seldom more than a few times.
const mostAccepts = 16

// acceptanceOf decides an accept. An offer whose time is over but that nobody has withdrawn yet is still good.
func acceptanceOf(h held) acceptance {
	switch {
	case h.current() && AttemptStatus(h.attempt.Status) == AttemptOffered && JobStatus(h.job.Status) == JobOffered:
		return acceptFirst
	case h.atWork() && len(h.attempt.TokenHashes) < mostAccepts:
		return acceptAgain
	}
	return acceptGone
}

// Accept gives an offered attempt to its runner. Only after this may a process of the job do anything. The owner is asked in the
// same transaction. Accepting again is answered like the first time, with another token; the ones before stay good, for a
// request that comes twice must not shut out the job that began with the first answer. Errors: ErrNotFound, ErrOfferGone.
func (d *Dispatch) Accept(ctx context.Context, caller Caller, ref api.AttemptRef) (api.Accepted, error) {
	var plain string
	var begun held // what began with this
	err := d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
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

// start gives the attempt its token and its lease.
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

// regained takes back the word that contact was lost.
func regained(ctx context.Context, tx *store.Tx, h held) error {
	if AttemptStatus(h.attempt.Status) != AttemptExpired {
		return nil
	}
	return tx.SetJobWaits(ctx, "", tx.Org, h.job.ID)
}

// refused ends a job that its owner will not let start: the accept was rolled back, so the offer still stands here.
func (d *Dispatch) refused(ctx context.Context, caller Caller, ref api.AttemptRef, reason string) error {
	return d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		h, err := hold(ctx, tx, caller, ref)
		if err != nil || acceptanceOf(h) != acceptFirst {
			return err // somebody else has been here in between
		}
		if err := leave(ctx, tx, h.attempt, AttemptWithdrawn); err != nil {
			return err
		}
		return d.end(ctx, tx, h.job, JobFailed, api.JobResult{Status: api.JobResultStatusStale, Error: reason})
	})
}

// dueID names an attempt on the list of what is due.
func dueID(attempt store.Attempt) string {
	return attempt.JobID + "/" + strconv.Itoa(int(attempt.Number))
}
