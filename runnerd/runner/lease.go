package runner

import (
	"context"
	"encoding/json"
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
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// leaseLoop polls for work while there is capacity, and reports the rule of the runner file.
// It waits for the long poll, which ends early when the rule changes, or for an attempt to end.
// It returns when ctx ends; attempts run with after, which outlives ctx.
func (r *runner) leaseLoop(ctx, after context.Context) {
	var told policy.Rule
	task := status.Register(ctx, "lease")
	defer task.Unregister()
	for ctx.Err() == nil {
		rule, changed := r.rules.currentRule()
		free := r.freeSlots(rule)
		if free == 0 && reflect.DeepEqual(rule, told) {
			task.SetWaiting("for a job to end, or for another rule in the runner file")
			select {
			case <-r.changed:
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		task.SetWaiting("for the control plane to have work")
		offers, err := r.pollForWork(ctx, free, rule, changed)
		task.ReportResult(err)
		if err != nil {
			continue // only the end of ctx and a new rule end the retries
		}
		told = rule
		taken := 0
		for _, offer := range offers {
			if taken < free && r.takeOffer(after, offer) {
				taken++
			}
		}
		if taken == 0 && free > 0 {
			// An empty poll took its time; this prevents a busy loop with a server that
			// responds immediately.
			backoff.Pause(ctx, r.Timing.BackoffMin)
		}
	}
}

// pollForWork makes one poll. Without capacity it only reports the rule, and the server
// responds immediately.
func (r *runner) pollForWork(ctx context.Context, free int, rule policy.Rule,
	changed <-chan struct{}) (offers []api.Offer, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() { // waits for a new rule, or the end of the poll
		select {
		case <-changed:
			stop()
		case <-ctx.Done():
		}
	})
	pace := r.retryPolicy()
	pace.IsFinal = func(*apiclient.ResponseError) bool { return false }
	request := api.LeaseRequest{Free: free, Version: r.Version, Policy: rule.RunnerPolicy}
	err = apiclient.Retry(ctx, pace, func(ctx context.Context) error {
		key := r.keys.currentKey()
		answer, err := r.poll.lease(ctx, request, key)
		if err == nil {
			err = apiclient.CheckResponse("ask for work", answer.HTTPResponse, answer.Body)
		}
		if apiclient.HasStatus(err, http.StatusUnauthorized) {
			return errors.Join(err, r.handleRejectedKey(ctx, key))
		}
		if err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return errors.New("ask for work: the response contains no offers")
		}
		offers = answer.JSON200.Offers
		r.keys.markValid(key)
		return nil
	})
	return offers, err
}

// handleRejectedKey handles a key that the control plane does not know: it switches to the other one,
// or registers again. An error that a person has to fix ends this runner.
func (r *runner) handleRejectedKey(ctx context.Context, key seal.Secret) error {
	if !r.keys.markRejected(key) {
		return nil
	}
	err := r.registerAgain(ctx)
	if err != nil {
		select {
		case r.stuck <- err:
		default: // the first error counts
		}
	}
	return err
}

// maxAccept bounds how long an offer may be accepted.
const maxAccept = 10 * time.Minute

// takeOffer creates an attempt from an offer. It returns false when this runner does
// not accept the offer.
func (r *runner) takeOffer(ctx context.Context, offer api.Offer) bool {
	within := time.Duration(offer.AcceptWithinSeconds) * time.Second
	if within <= 0 {
		within = r.Timing.CallTimeout
	}
	// The rule may have changed since the poll started, and the control plane is not
	// trusted to follow it.
	rule, _ := r.rules.currentRule()
	if err := checkOffer(rule, offer.Kind, offer.ComponentKind, offer.Copies); err != nil {
		r.log.Warn("a job was offered that this runner does not take", "job", offer.Job, "attempt", offer.Attempt,
			"kind", offer.Kind, "component_kind", offer.ComponentKind, "reason", err)
		return false
	}
	record, err := withRule(spool.Record{
		Job: offer.Job, Attempt: offer.Attempt, Kind: offer.Kind, ComponentKind: offer.ComponentKind, Copies: offer.Copies,
		AcceptBy: time.Now().Add(min(within, maxAccept)),
	}, rule)
	if err != nil {
		r.log.Error("cannot take a job", "job", offer.Job, "attempt", offer.Attempt, "error", err)
		return false
	}
	dir, err := r.spool.Create(record)
	if errors.Is(err, fs.ErrExist) {
		return false // offered twice; the first offer is being accepted
	}
	if err != nil {
		r.log.Error("cannot take a job", "job", offer.Job, "attempt", offer.Attempt, "error", err)
		return false
	}
	return r.startSupervising(ctx, newAttempt(r, dir, record))
}

// withRule returns a record with the rule of the runner file that the attempt is checked against.
func withRule(record spool.Record, rule policy.Rule) (spool.Record, error) {
	record.Policy, record.Executor = rule.RunnerPolicy, nil
	var err error
	if record.Secrets, err = json.Marshal(rule.Secrets); err != nil {
		return record, err
	}
	if rule.Executor.Kind == policy.ExecutorKubernetes {
		record.Executor, err = json.Marshal(rule.Executor)
	}
	return record, err
}

// checkOffer returns an error if an offered job is not allowed. A plan that copies its artifact
// also needs permission for a sync, without which it would fail after it was started.
func checkOffer(rule policy.Rule, kind, component string, copies bool) error {
	if copies {
		if err := rule.Check(string(api.JobSpecKindSync), component); err != nil {
			return err
		}
	}
	return rule.Check(kind, component)
}

// startSupervising starts the goroutines that supervise an attempt.
func (r *runner) startSupervising(ctx context.Context, a *attempt) bool {
	if !r.addAttempt(a) {
		return false
	}
	r.working.Go(func() { a.superviseLoop(ctx) })
	return true
}

// adopt takes over the attempts that an earlier runnerd left in the spool.
func (r *runner) adopt(ctx context.Context) error {
	found, err := r.spool.List()
	if err != nil {
		return err
	}
	for _, dir := range found {
		record, err := dir.Record()
		if err != nil {
			aside, moveErr := r.spool.MoveToUndelivered(dir)
			r.log.Error("the spool holds what is no attempt; it is set aside", "now_at", aside, "error",
				errors.Join(err, moveErr))
			continue
		}
		a := newAttempt(r, dir, record)
		a.adopted = true
		r.startSupervising(ctx, a)
	}
	return nil
}
