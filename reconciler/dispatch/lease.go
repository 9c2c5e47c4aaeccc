package dispatch

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// mostOffers is the maximum number of offers in one claim, whatever capacity a runner reports.
const mostOffers = 32

// Lease claims a runner's oldest queued jobs and returns them as offers. It waits for jobs for at
// most LongestPoll, for a shorter time if the request sets one, and not at all for a negative time.
// An empty list of offers is a regular response, after which the runner polls again. While it waits
// it holds no database connection, and a repeated poll without news runs no query. A build runner
// also takes over the builds of build runners that are offline. Lease offers nothing that the
// runner's own file forbids.
//
// beat sends a keepalive byte to the runner while its poll is held. Lease calls it every PollBeat,
// never concurrently and not after it has returned. An error of beat ends the poll, because the
// client has disconnected. A nil beat means that the response cannot carry keepalives.
func (d *Dispatch) Lease(
	ctx context.Context, caller Caller, request api.LeaseRequest, beat func() error,
) (api.Offers, error) {
	policy := policyOf(request)
	said := saidOf(request.Version, policy)
	// Registered before the first query, so that every job queued after it causes a notification.
	idle, quiet := d.idle.enter(caller, said)
	defer d.idle.leave(idle)
	if err := d.noteHere(ctx, caller, request.Version, policy, quiet); err != nil {
		return api.Offers{}, fmt.Errorf("note the poll of runner %s: %w", caller.Runner, err)
	}
	free := int32(min(request.Free, mostOffers))
	if free < 1 || takesNone(policy) {
		free = 0 // it only reports that it is present
	}
	p := &poll{caller: caller, idle: idle, clock: newPollClock(pollTime(caller, request, beat != nil)), beat: beat}
	defer p.clock.stop()
	for look := free > 0 && !quiet; ; {
		told := d.idle.ear(idle)
		if look {
			offers, over, err := d.claim(ctx, caller, free, policy)
			if err != nil || over {
				return api.Offers{Offers: offers}, err
			}
			if free > 0 {
				d.idle.found(idle, caller, said, told)
			}
		}
		var over bool
		var err error
		if look, over, err = d.wait(ctx, p, told); err != nil || over {
			return api.Offers{Offers: []api.Offer{}}, err
		}
	}
}

// poll is one held poll.
type poll struct {
	caller Caller
	idle   *idleRunner
	clock  *pollClock
	beat   func() error
}

// wait waits until a query may find something (look) or the poll is over (over).
func (d *Dispatch) wait(ctx context.Context, p *poll, told <-chan struct{}) (look, over bool, err error) {
	select {
	case <-p.idle.rung:
		d.idle.hear(p.idle)
		return true, false, nil
	case <-told:
		return true, false, nil
	case <-p.clock.C:
		if p.clock.over() {
			return false, true, nil
		}
		look, err = d.show(ctx, p)
		return look, false, err
	case <-d.draining:
		return false, true, nil
	case <-ctx.Done():
		return false, true, ctx.Err()
	}
}

// show sends a keepalive to the runner and then records its presence. It reports whether the runner
// is due for a query.
func (d *Dispatch) show(ctx context.Context, p *poll) (look bool, err error) {
	if err := p.beat(); err != nil {
		return false, fmt.Errorf("show runner %s that its poll is held: %w", p.caller.Runner, err)
	}
	p.clock.next()
	if err := d.seen(ctx, p.caller); err != nil {
		return false, fmt.Errorf("note that runner %s is there: %w", p.caller.Runner, err)
	}
	return d.idle.stale(p.idle), nil
}

// seen records the presence of a runner that reports nothing new. At intervals, one statement
// writes it for all runners of its org.
func (d *Dispatch) seen(ctx context.Context, caller Caller) error {
	here := d.idle.here(caller)
	if len(here) == 0 {
		return nil
	}
	return d.store.InTx(ctx, caller.Org,
		func(ctx context.Context, tx *store.Tx) error { return tx.SeenRunners(ctx, tx.Org, here) })
}

// noteHere stores that a runner is present and what it reports about itself, and assigns a build
// runner the builds of runners that are offline. For a quiet runner it records only the presence.
func (d *Dispatch) noteHere(
	ctx context.Context, caller Caller, version string, policy api.RunnerPolicy, quiet bool,
) error {
	if quiet {
		return d.seen(ctx, caller)
	}
	return d.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		if err := touch(ctx, tx, caller.Runner, version, &policy); err != nil || !takes(policy, "build") {
			return err
		}
		return tx.AdoptBuilds(ctx, store.AdoptBuildsParams{
			OrgID: tx.Org, RunnerID: caller.Runner, OnlineSeconds: Online.Seconds(), Most: mostOffers,
		})
	})
}

// claim queries for jobs once and reports whether the poll is over: with offers, or because the key
// with which it started was voided (the next request with that key gets the error). With free below
// 1 it checks only the key.
func (d *Dispatch) claim(
	ctx context.Context, caller Caller, free int32, policy api.RunnerPolicy,
) (offers []api.Offer, over bool, err error) {
	claim := store.ClaimJobsParams{
		OrgID: caller.Org, RunnerID: caller.Runner, Most: free, OfferSeconds: offerLife.Seconds(),
	}
	if policy.Jobs != nil {
		claim.Limited, claim.Allowed = true, *policy.Jobs
	}
	if policy.Components != nil {
		claim.ComponentsLimited, claim.Components = true, *policy.Components
	}
	err = d.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		offers, over = []api.Offer{}, true
		if good, err := stillGood(ctx, tx, caller); err != nil || !good {
			return err
		}
		if free < 1 {
			over = false
			return nil
		}
		rows, err := tx.ClaimJobs(ctx, claim)
		for _, row := range rows {
			offers = append(offers, api.Offer{
				Job: row.ID, Attempt: int(row.Attempt), Kind: row.Kind, ComponentKind: row.ComponentKind,
				Copies: row.Copies, AcceptWithinSeconds: int(AcceptWithin.Seconds()),
			})
		}
		over = len(offers) > 0
		return err
	})
	if err != nil {
		return nil, true, fmt.Errorf("claim jobs for runner %s: %w", caller.Runner, err)
	}
	return offers, over, nil
}
