package timing

import (
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// The order that the timings must have for any value of Lease.
func TestTimingsKeepTheirOrder(t *testing.T) {
	for _, rule := range []struct {
		shorter, longer time.Duration
		why             string
	}{
		{3 * Heartbeat, Lease, "a lease outlives two lost heartbeats"},
		{AcceptWithin, OfferLife, "a runner that accepts in the time it was told finds its offer"},
		{OfferLife, Lease, "an offer nobody takes is offered again before a lease would run out"},
		{PollKeepalive, Online, "a runner that waits for work counts as online"},
		{PollKeepalive + SeenInterval, Online, "also when its last beat was too soon to be noted"},
		{PollTick, PollKeepalive / 10, "a beat is put on the grid and still comes in its time"},
		{5 * PollKeepalive, LongestPoll - PollSpread, "most signs of life are beats, and few are polls"},
		{LongestPoll, PollRefresh, "most polls find nothing that they would have to look up"},
		{PollKeepalive, PollMemory, "a runner whose poll broke is remembered when it comes again"},
		{Heartbeat + SeenInterval, Online, "a runner that only beats counts as online"},
		{2 * SeenInterval, Online, "last_seen is fresh enough"},
		{StreamKeepalive, StreamWrite, "a follower that reads is not let go between two beats"},
		{7 * 24 * time.Hour, LateDelivery, "a machine that was away over a holiday delivers what it did"},
		{Lease, RegistrationLife, "a registration token lives long enough to be carried to a machine"},
	} {
		if rule.shorter >= rule.longer {
			t.Errorf("%s: %s is not shorter than %s", rule.why, rule.shorter, rule.longer)
		}
	}
	if RegistrationLife != time.Hour {
		t.Errorf("the API's document says that a registration token lives an hour, not %s", RegistrationLife)
	}
	if lease, _ := api.FindOperation("lease"); PollKeepalive != 30*time.Second || LongestPoll != lease.Hold {
		t.Errorf("the API's document says that a poll is held for %s and shown every 30 seconds, not %s and %s",
			lease.Hold, LongestPoll, PollKeepalive)
	}
	for _, whole := range []time.Duration{Lease, AcceptWithin, LongestPoll} {
		if whole%time.Second != 0 {
			t.Errorf("%s is told to runners in whole seconds", whole)
		}
	}
}
