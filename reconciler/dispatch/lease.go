package dispatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// mostOffers bounds one claim, however many jobs a runner says it could take.
const mostOffers = 32

// Lease gives a runner its oldest queued jobs as offers, and waits for some at most LongestPoll (or as long as the request says,
// if that is shorter; not at all for a negative time). No offers is an answer, not an error. While it waits it holds no
// connection. A build runner takes over the builds that wait for one that is gone.
func (d *Dispatch) Lease(ctx context.Context, caller Caller, request api.LeaseRequest) (api.Offers, error) {
	// Before the first look: what is queued from now on is heard.
	rung, stop := d.bell.Wait(store.ChannelJobs, caller.Org+"/"+caller.Runner)
	defer stop()
	policy := policyOf(request)
	err := d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		if err := touch(ctx, tx, caller.Runner, request.Version, &policy); err != nil {
			return err
		}
		return tx.AdoptBuilds(ctx, store.AdoptBuildsParams{
			OrgID: tx.Org, RunnerID: caller.Runner, OnlineSeconds: Online.Seconds(), Most: mostOffers,
		})
	})
	if err != nil {
		return api.Offers{}, fmt.Errorf("note the poll of runner %s: %w", caller.Runner, err)
	}
	free := int32(min(request.Free, mostOffers))
	if free < 1 || policy.Allowed != nil && len(*policy.Allowed) == 0 {
		free, rung = 0, nil // it only says that it is there
	}
	timer := time.NewTimer(pollTime(request))
	defer timer.Stop()
	for {
		if free > 0 {
			offers, err := d.claim(ctx, caller, free, policy)
			if err != nil || len(offers) > 0 {
				return api.Offers{Offers: offers}, err
			}
		}
		select {
		case <-rung:
		case <-timer.C:
			return api.Offers{Offers: []api.Offer{}}, nil
		case <-d.draining:
			return api.Offers{Offers: []api.Offer{}}, nil
		case <-ctx.Done():
			return api.Offers{}, ctx.Err()
		}
	}
}

func (d *Dispatch) claim(ctx context.Context, caller Caller, free int32, policy runnerPolicy) ([]api.Offer, error) {
	claim := store.ClaimJobsParams{OrgID: caller.Org, RunnerID: caller.Runner, Most: free, OfferSeconds: offerLife.Seconds()}
	if policy.Allowed != nil {
		claim.Limited, claim.Allowed = true, *policy.Allowed
	}
	var offers []api.Offer
	err := d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ClaimJobs(ctx, claim)
		offers = nil
		for _, row := range rows {
			offers = append(offers, api.Offer{
				Job: row.ID, Attempt: int(row.Attempt), Kind: row.Kind, AcceptWithinSeconds: int(AcceptWithin.Seconds()),
			})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim jobs for runner %s: %w", caller.Runner, err)
	}
	return offers, nil
}

// jobKinds are all that a runner can allow.
var jobKinds = []string{"build", "plan", "apply", "action"}

// policyOf reads what a runner takes; words that are no kind of job are dropped.
func policyOf(request api.LeaseRequest) runnerPolicy {
	if request.Policy.Jobs == nil {
		return runnerPolicy{}
	}
	allowed := slices.DeleteFunc(slices.Clone(jobKinds), func(kind string) bool { return !slices.Contains(*request.Policy.Jobs, kind) })
	return runnerPolicy{Allowed: &allowed}
}

func pollTime(request api.LeaseRequest) time.Duration {
	if request.WaitSeconds == 0 || request.WaitSeconds > int(LongestPoll.Seconds()) {
		return LongestPoll
	}
	return time.Duration(max(request.WaitSeconds, 0)) * time.Second
}
