package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// mostOffers bounds one claim, however many jobs a runner says it could take.
const mostOffers = 32

// Lease gives a runner its oldest queued jobs as offers, and waits for some at most LongestPoll (or as long as the request says,
// if that is shorter; not at all for a negative time). No offers is an answer, not an error. While it waits it holds no
// connection, and a runner that asks again where nothing has happened costs no query. A build runner takes over the builds that
// wait for one that is gone. Nothing is offered that the runner's own file forbids.
func (d *Dispatch) Lease(ctx context.Context, caller Caller, request api.LeaseRequest) (api.Offers, error) {
	policy := policyOf(request)
	said := saidOf(request.Version, policy)
	// Before the first look: what is queued from now on is heard.
	idle, quiet := d.idle.enter(caller, said)
	defer d.idle.leave(idle)
	if err := d.noteHere(ctx, caller, request.Version, policy, quiet); err != nil {
		return api.Offers{}, fmt.Errorf("note the poll of runner %s: %w", caller.Runner, err)
	}
	free, rung := int32(min(request.Free, mostOffers)), idle.rung
	if free < 1 || takesNone(policy) {
		free, rung = 0, nil // it only says that it is there
	}
	timer := time.NewTimer(pollTime(request))
	defer timer.Stop()
	for look := !quiet; ; look = true {
		if free > 0 && look {
			offers, over, err := d.claim(ctx, caller, free, policy)
			if err != nil || over {
				return api.Offers{Offers: offers}, err
			}
			d.idle.found(idle, caller, said)
		}
		select {
		case <-rung:
			d.idle.forget(idle)
		case <-timer.C:
			return api.Offers{Offers: []api.Offer{}}, nil
		case <-d.draining:
			return api.Offers{Offers: []api.Offer{}}, nil
		case <-ctx.Done():
			return api.Offers{}, ctx.Err()
		}
	}
}

// noteHere writes down that a runner is there and what it says of itself, and gives a build runner the builds of those that are
// gone. Of a quiet one there is nothing new to write but that it is there, which one statement does now and then for all of its
// org.
func (d *Dispatch) noteHere(ctx context.Context, caller Caller, version string, policy api.RunnerPolicy, quiet bool) error {
	if quiet {
		here := d.idle.toWrite(caller.Org)
		if len(here) == 0 {
			return nil
		}
		return d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error { return tx.SeenRunners(ctx, tx.Org, here) })
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
// asks again with it is told so.
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
		rows, err := tx.ClaimJobs(ctx, claim)
		for _, row := range rows {
			offers = append(offers, api.Offer{
				Job: row.ID, Attempt: int(row.Attempt), Kind: row.Kind, ComponentKind: row.ComponentKind, AcceptWithinSeconds: int(AcceptWithin.Seconds()),
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

func pollTime(request api.LeaseRequest) time.Duration {
	if request.WaitSeconds == 0 || request.WaitSeconds > int(LongestPoll.Seconds()) {
		return LongestPoll
	}
	return time.Duration(max(request.WaitSeconds, 0)) * time.Second
}
