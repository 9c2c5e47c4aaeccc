package jobs

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// maxOffers is the maximum number of offers in one claim, regardless of the capacity that a runner reports.
const maxOffers = 32

// Lease claims a runner's oldest queued jobs and returns them as offers. It waits for jobs for at
// most LongestPoll, for a shorter time if the request sets one, and not at all for a negative time.
// An empty list of offers is a regular response, after which the runner polls again. While it waits
// it holds no database connection, and a repeated poll without news runs no query. A build runner
// also takes over the builds of build runners that are offline. Lease offers nothing that the
// runner's own file forbids.
//
// beat sends a keepalive byte to the runner while its poll is held. Lease calls it every PollKeepalive,
// never concurrently and not after it has returned. An error of beat ends the poll, because the
// client has disconnected. A nil beat means that the response cannot carry keepalives.
func (s *Service) Lease(
	ctx context.Context, caller runners.Caller, request api.LeaseRequest, beat func() error,
) (api.Offers, error) {
	policy := runners.ReadPolicy(request)
	said := reportOf(runners.PrintableShort(request.Version), policy)
	// Registered before the first query, so that every job queued after it causes a notification.
	idle, quiet := s.polls.startPoll(caller, said)
	defer s.polls.endPoll(idle)
	if err := s.recordPoll(ctx, caller, request.Version, policy, quiet); err != nil {
		return api.Offers{}, fmt.Errorf("note the poll of runner %s: %w", caller.Runner, err)
	}
	free := int32(min(request.Free, maxOffers))
	if free < 1 || runners.AllowsNone(policy) {
		free = 0 // it only reports that it is present
	}
	p := &poll{caller: caller, runner: idle, clock: newPollClock(pollTime(caller, request, beat != nil)), beat: beat}
	defer p.clock.stop()
	for look := free > 0 && !quiet; ; {
		told := s.polls.wakeups(idle)
		if look {
			offers, over, err := s.claim(ctx, caller, free, policy)
			if err != nil || over {
				return api.Offers{Offers: offers}, err
			}
			if free > 0 {
				s.polls.recordEmpty(idle, caller, said, told)
			}
		}
		var over bool
		var err error
		if look, over, err = s.wait(ctx, p, told); err != nil || over {
			return api.Offers{Offers: []api.Offer{}}, err
		}
	}
}

// poll is one held poll.
type poll struct {
	caller runners.Caller
	runner *idleRunner
	clock  *pollClock
	beat   func() error
}

// wait waits until a query may find something (look) or the poll is over (over).
func (s *Service) wait(ctx context.Context, p *poll, told <-chan struct{}) (look, over bool, err error) {
	select {
	case <-p.runner.notification:
		s.polls.notified(p.runner)
		return true, false, nil
	case <-told:
		return true, false, nil
	case <-p.clock.C:
		if p.clock.over() {
			return false, true, nil
		}
		look, err = s.sendKeepalive(ctx, p)
		return look, false, err
	case <-s.draining:
		return false, true, nil
	case <-ctx.Done():
		return false, true, ctx.Err()
	}
}

// sendKeepalive sends a keepalive to the runner and then records its presence. It reports whether the runner
// is due for a query.
func (s *Service) sendKeepalive(ctx context.Context, p *poll) (look bool, err error) {
	if err := p.beat(); err != nil {
		return false, fmt.Errorf("confirm to runner %s that its poll is held: %w", p.caller.Runner, err)
	}
	p.clock.next()
	if err := s.recordSeen(ctx, p.caller); err != nil {
		return false, fmt.Errorf("record that runner %s is online: %w", p.caller.Runner, err)
	}
	return s.polls.needsRefresh(p.runner), nil
}

// recordSeen records the presence of a runner that reports nothing new. At intervals, one statement
// writes it for all runners of its org.
func (s *Service) recordSeen(ctx context.Context, caller runners.Caller) error {
	here := s.polls.recordPresence(caller)
	if len(here) == 0 {
		return nil
	}
	return s.store.InTx(ctx, caller.Org,
		func(ctx context.Context, tx *store.Tx) error { return tx.SeenRunners(ctx, tx.Org, here) })
}

// recordPoll stores that a runner is present and what it reports about itself, and assigns a build
// runner the builds of runners that are offline. For a quiet runner it records only the presence.
func (s *Service) recordPoll(
	ctx context.Context, caller runners.Caller, version string, policy api.RunnerPolicy, quiet bool,
) error {
	if quiet {
		return s.recordSeen(ctx, caller)
	}
	return s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		if err := runners.RecordSeen(ctx, tx, caller.Runner, version, &policy); err != nil ||
			!runners.AllowsJob(policy, "build") {
			return err
		}
		return tx.AdoptBuilds(ctx, store.AdoptBuildsParams{
			OrgID: tx.Org, RunnerID: caller.Runner, OnlineSeconds: timing.Online.Seconds(), Most: maxOffers,
		})
	})
}

// claim queries for jobs once and reports whether the poll is over: with offers, or because the key
// with which it started was voided (the next request with that key gets the error). With free below
// 1 it checks only the key.
func (s *Service) claim(
	ctx context.Context, caller runners.Caller, free int32, policy api.RunnerPolicy,
) (offers []api.Offer, over bool, err error) {
	claim := store.ClaimJobsParams{
		OrgID: caller.Org, RunnerID: caller.Runner, Most: free, OfferSeconds: timing.OfferLife.Seconds(),
		Allowed: runners.AllowedKinds(policy),
	}
	if policy.Components != nil {
		claim.ComponentsLimited, claim.Components = true, *policy.Components
	}
	err = s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		claim.NeedGrant, claim.Granted = runners.GrantPatterns(policy, tx.Now())
		claim.Unusable = runners.UnusableRoles(policy)
		offers, over = []api.Offer{}, true
		if good, err := runners.KeyIsCurrent(ctx, tx, caller); err != nil || !good {
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
				Copies: row.Copies, AcceptWithinSeconds: int(timing.AcceptWithin.Seconds()),
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
