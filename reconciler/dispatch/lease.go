package dispatch

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// mostOffers bounds one claim, however many jobs a runner says it could take.
const mostOffers = 32

// Lease gives a runner its oldest queued jobs as offers, and waits for some at most LongestPoll (or as long as the request says,
// if that is shorter; not at all for a negative time). No offers is an answer, not an error: whoever gets it asks again. While it
// waits it holds no connection to the database, and a runner that asks again where nothing has happened costs no query. A build
// runner takes over the builds that wait for one that is gone. Nothing is offered that the runner's own file forbids.
//
// beat shows the runner that its poll is held; it is called every PollBeat, never beside itself, and not after Lease has returned.
// Its error ends the poll: nobody is there. Nil means that there is no way to show it.
func (d *Dispatch) Lease(ctx context.Context, caller Caller, request api.LeaseRequest, beat func() error) (api.Offers, error) {
	policy := policyOf(request)
	said := saidOf(request.Version, policy)
	// Before the first look: what is queued from now on is heard.
	idle, quiet := d.idle.enter(caller, said)
	defer d.idle.leave(idle)
	if err := d.noteHere(ctx, caller, request.Version, policy, quiet); err != nil {
		return api.Offers{}, fmt.Errorf("note the poll of runner %s: %w", caller.Runner, err)
	}
	free := int32(min(request.Free, mostOffers))
	if free < 1 || takesNone(policy) {
		free = 0 // it only says that it is there
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

// poll is one poll that is held.
type poll struct {
	caller Caller
	idle   *idleRunner
	clock  *pollClock
	beat   func() error
}

// wait waits until there may be something to find, or the poll is over.
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

// show shows a runner that its poll is held, and counts it as being there when that went out.
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

// seen notes that a runner of which nothing else is new is there, which one statement does now and then for all of its org.
func (d *Dispatch) seen(ctx context.Context, caller Caller) error {
	here := d.idle.here(caller)
	if len(here) == 0 {
		return nil
	}
	return d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error { return tx.SeenRunners(ctx, tx.Org, here) })
}

// noteHere writes down that a runner is there and what it says of itself, and gives a build runner the builds of those that are
// gone. Of a quiet one there is nothing new to write but that it is there.
func (d *Dispatch) noteHere(ctx context.Context, caller Caller, version string, policy api.RunnerPolicy, quiet bool) error {
	if quiet {
		return d.seen(ctx, caller)
	}
	return d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		if err := touch(ctx, tx, caller.Runner, version, &policy); err != nil || !takes(policy, "build") {
			return err
		}
		return tx.AdoptBuilds(ctx, store.AdoptBuildsParams{
			OrgID: tx.Org, RunnerID: caller.Runner, OnlineSeconds: Online.Seconds(), Most: mostOffers,
		})
	})
}

// claim looks once, and says whether the poll is over: with offers, or because the key with which it began is void by now. Whoever
// asks again with it is told so. Who takes none is only looked at for its key.
func (d *Dispatch) claim(ctx context.Context, caller Caller, free int32, policy api.RunnerPolicy) (offers []api.Offer, over bool, err error) {
	claim := store.ClaimJobsParams{OrgID: caller.Org, RunnerID: caller.Runner, Most: free, OfferSeconds: offerLife.Seconds()}
	if policy.Jobs != nil {
		claim.Limited, claim.Allowed = true, *policy.Jobs
	}
	if policy.Components != nil {
		claim.ComponentsLimited, claim.Components = true, *policy.Components
	}
	err = d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
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
				Job: row.ID, Attempt: int(row.Attempt), Kind: row.Kind, ComponentKind: row.ComponentKind, Copies: row.Copies, AcceptWithinSeconds: int(AcceptWithin.Seconds()),
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
