package runner

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// leaseLoop asks for work while there is room for it, and tells what the runner file allows. It waits for the long poll, which ends
// early when the rule changes, or for an attempt to make room, and ends with ctx. after outlives ctx and is that of the attempts.
func (r *runner) leaseLoop(ctx, after context.Context) {
	var told policy.Rule
	task := status.Enter(ctx, "lease")
	defer task.Leave()
	for ctx.Err() == nil {
		rule, changed := r.rules.now()
		free := r.free(rule)
		if free == 0 && reflect.DeepEqual(rule, told) {
			task.Waits("for a job to end, or for another rule in the runner file")
			select {
			case <-r.changed:
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		task.Waits("for the control plane to have work")
		offers, err := r.askForWork(ctx, free, rule, changed)
		task.Came(err)
		if err != nil {
			continue // only ctx and another rule end the tries
		}
		told = rule
		taken := 0
		for _, offer := range offers {
			if taken < free && r.take(after, offer) {
				taken++
			}
		}
		if taken == 0 && free > 0 {
			// An empty poll took its time; a server that answers at once must not make this loop spin.
			backoff.Pause(ctx, r.Timing.BackoffFirst)
		}
	}
}

// askForWork makes one poll. Without room it only tells the rule, and is answered at once.
func (r *runner) askForWork(ctx context.Context, free int, rule policy.Rule, changed <-chan struct{}) (offers []api.Offer, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() { // waits for another rule, or the end of the poll
		select {
		case <-changed:
			stop()
		case <-ctx.Done():
		}
	})
	pace := r.pace()
	pace.Final = func(*contact.Refusal) bool { return false }
	request := api.LeaseRequest{Free: free, Version: r.Version, Policy: rule.RunnerPolicy}
	err = contact.Persist(ctx, pace, func(ctx context.Context) error {
		key := r.keys.now()
		answer, err := r.poll.lease(ctx, request, key)
		if err == nil {
			err = contact.Check("ask for work", answer.HTTPResponse, answer.Body)
		}
		if contact.HasStatus(err, http.StatusUnauthorized) {
			return errors.Join(err, r.refused(ctx, key))
		}
		if err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return errors.New("ask for work: the answer holds no offers")
		}
		offers = answer.JSON200.Offers
		r.keys.proven(key)
		return nil
	})
	return offers, err
}

// refused does what is to be done when the control plane does not know a key: try the other one, or register again. What a person
// has to mend ends this runner.
func (r *runner) refused(ctx context.Context, key seal.Secret) error {
	if !r.keys.refused(key) {
		return nil
	}
	err := r.registerAgain(ctx)
	if err != nil {
		select {
		case r.stuck <- err:
		default: // the first one counts
		}
	}
	return err
}

// take makes an attempt of an offer; false when it is no offer for this runner.
func (r *runner) take(ctx context.Context, offer api.Offer) bool {
	within := time.Duration(offer.AcceptWithinSeconds) * time.Second
	if within <= 0 {
		within = r.Timing.Call
	}
	// The rule may have changed since the poll began, and whether the control plane keeps to it is not to be relied on.
	rule, _ := r.rules.now()
	if err := checkOffer(rule, offer.Kind, offer.ComponentKind, offer.Copies); err != nil {
		r.log.Warn("a job was offered that this runner does not take", "job", offer.Job, "attempt", offer.Attempt, "kind", offer.Kind, "component_kind", offer.ComponentKind, "reason", err)
		return false
	}
	record := spool.Record{
		Job: offer.Job, Attempt: offer.Attempt, Kind: offer.Kind, ComponentKind: offer.ComponentKind, Copies: offer.Copies,
		Policy: rule.RunnerPolicy, AcceptBy: time.Now().Add(within),
	}
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

// checkOffer returns an error if a job that was offered is not allowed. A plan that copies its artifact does what a sync does, too, and one
// that was begun would fail.
func checkOffer(rule policy.Rule, kind, component string, copies bool) error {
	if copies {
		if err := rule.Check(string(api.JobSpecKindSync), component); err != nil {
			return err
		}
	}
	return rule.Check(kind, component)
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
