package timing

import (
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestOrderOfTimings checks the order that the timings must have.
func TestOrderOfTimings(t *testing.T) {
	for _, rule := range []struct {
		shorter, longer time.Duration
		why             string
	}{
		{3 * Heartbeat, Lease, "a lease outlives two lost heartbeats"},
		{AcceptWithin, OfferLife, "the offer is still there for a runner that accepts within the time it was sent"},
		{OfferLife, Lease, "a job whose offer is not accepted is offered again before a lease would expire"},
		{PollKeepalive, Online, "a runner that waits for work counts as online"},
		{PollKeepalive + SeenInterval, Online, "also when its last heartbeat was too soon to be stored"},
		{PollTick, PollKeepalive / 10, "a heartbeat that is moved to the grid is still in time"},
		{5 * PollKeepalive, LongestPoll - PollSpread, "most signs of life are heartbeats, and few are polls"},
		{LongestPoll, PollRefresh, "most polls need no query"},
		{PollKeepalive, PollMemory, "a runner whose poll broke is known when it polls again"},
		{Heartbeat + SeenInterval, Online, "a runner that only sends heartbeats counts as online"},
		{2 * SeenInterval, Online, "last_seen is fresh enough"},
		{StreamKeepalive, StreamWrite, "the stream of a follower that reads does not end between two heartbeats"},
		{7 * 24 * time.Hour, LateDelivery, "a machine that was offline over a holiday delivers its results"},
		{Lease, RegistrationLife, "a registration token is valid long enough to be copied to a machine"},
	} {
		if rule.shorter >= rule.longer {
			t.Errorf("%s: %s is not shorter than %s", rule.why, rule.shorter, rule.longer)
		}
	}
	if RegistrationLife != time.Hour {
		t.Errorf("openapi.yaml states that a registration token is valid for an hour, not %s", RegistrationLife)
	}
	if lease, _ := api.FindOperation("lease"); PollKeepalive != 30*time.Second || LongestPoll != lease.Hold {
		t.Errorf("openapi.yaml states that a poll is held for %s with a heartbeat every 30 seconds, not %s and %s",
			lease.Hold, LongestPoll, PollKeepalive)
	}
	for _, whole := range []time.Duration{Lease, AcceptWithin, LongestPoll} {
		if whole%time.Second != 0 {
			t.Errorf("%s is sent to runners in whole seconds", whole)
		}
	}
}
