package runner

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// leaseLoop asks for work while there is room for it. It waits for the long poll, or for an attempt to make room, and ends with
// ctx. after outlives ctx and is that of the attempts.
func (r *runner) leaseLoop(ctx, after context.Context) {
	for ctx.Err() == nil {
		free := r.free()
		if free == 0 {
			select {
			case <-r.changed:
			case <-ctx.Done():
			}
			continue
		}
		offers, err := r.askForWork(ctx, free)
		if err != nil {
			continue // only ctx ends the tries
		}
		taken := 0
		for _, offer := range offers {
			if taken < free && r.take(after, offer) {
				taken++
			}
		}
		if taken == 0 {
			// An empty poll took its time; a server that answers at once must not make this loop spin.
			contact.Pause(ctx, r.Timing.BackoffFirst)
		}
	}
}

func (r *runner) askForWork(ctx context.Context, free int) (offers []api.Offer, err error) {
	pace := r.pace()
	pace.Final = func(*contact.Refusal) bool { return false }
	request := api.LeaseRequest{Free: free, Version: r.Version, WaitSeconds: max(1, int(r.Timing.Poll/time.Second))}
	err = contact.Persist(ctx, pace, func(ctx context.Context) error {
		answer, err := r.poll.LeaseWithResponse(ctx, request)
		if err != nil {
			return err
		}
		if err := contact.Check("ask for work", answer.HTTPResponse, answer.Body); err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return errors.New("ask for work: the answer holds no offers")
		}
		offers = answer.JSON200.Offers
		return nil
	})
	return offers, err
}

// take makes an attempt of an offer; false when it is no offer for this runner.
func (r *runner) take(ctx context.Context, offer api.Offer) bool {
	within := time.Duration(offer.AcceptWithinSeconds) * time.Second
	if within <= 0 {
		within = r.Timing.Call
	}
	record := spool.Record{Job: offer.Job, Attempt: offer.Attempt, Kind: offer.Kind, AcceptBy: time.Now().Add(within)}
	dir, err := r.spool.Create(record)
	if errors.Is(err, fs.ErrExist) {
		return false // offered twice; the first is being accepted
	}
	if err != nil {
		r.log.Error("cannot take a job", "job", offer.Job, "attempt", offer.Attempt, "error", err)
		return false
	}
	return r.look(ctx, newAttempt(r, dir, record))
}

// look starts the goroutines that look after an attempt.
func (r *runner) look(ctx context.Context, a *attempt) bool {
	if !r.enter(a) {
		return false
	}
	r.working.Go(func() { a.superviseLoop(ctx) })
	return true
}

// adopt takes over what an earlier runnerd has left in the spool.
func (r *runner) adopt(ctx context.Context) error {
	found, err := r.spool.List()
	if err != nil {
		return err
	}
	for _, dir := range found {
		record, err := dir.Record()
		if err != nil {
			aside, moveErr := r.spool.SetAside(dir)
			r.log.Error("the spool holds what is no attempt; it is set aside", "now_at", aside, "error", errors.Join(err, moveErr))
			continue
		}
		a := newAttempt(r, dir, record)
		a.adopted = true
		r.look(ctx, a)
	}
	return nil
}
