package timing_test

import (
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// TestLongPoll: a runner polls as long as the API's document lets the server hold the poll.
func TestLongPoll(t *testing.T) {
	if lease, _ := api.FindOperation("lease"); timing.Default().LongPoll != lease.Hold {
		t.Errorf("a poll may be held for %s, not %s", lease.Hold, timing.Default().LongPoll)
	}
}

func TestOrder(t *testing.T) {
	for _, tick := range []time.Duration{timing.Tick, 20 * time.Millisecond} {
		at, beat := timing.From(tick), 30*tick // as the API's document states
		for _, rule := range []struct {
			less, more time.Duration
			why        string
		}{
			{0, at.PollInterval, "a loop must pause"},
			{at.PollInterval, at.BatchInterval, "lines are gathered over several looks"},
			{at.BackoffMin, at.BackoffMax, "a backoff grows"},
			{at.BatchInterval, at.HeartbeatInterval, "a log is seen before the next heartbeat"},
			{at.HeartbeatInterval, at.CallTimeout, "a slow answer is no lost contact"},
			{beat + 5*tick, at.LongPollSilence, "a beat of a poll that is a little late is no lost contact"},
			{at.ShortPoll + 5*tick, at.LongPollSilence, "the answer to a short poll comes before it is given up"},
			{2 * at.LongPollSilence, at.LongPoll, "most signs of life are no calls"},
			{at.CallTimeout, at.LongPollSilence, "a poll may be quiet for longer than a call that is answered at once"},
			{at.LongPollSilence, at.TransferTimeout, "a large state may take its time"},
			{at.CallTimeout + at.UnlockTimeout, at.JobGrace, "an interrupted job can still free its lock"},
			{at.ToolGrace + at.UnlockTimeout, at.JobGrace, "a handler kills its tool and frees the lock before it is " +
				"killed itself"},
			{at.HeartbeatInterval, at.ToolGrace, "contact is not lost during a graceful cancel"},
			{at.StopWait, at.JobGrace, "stopping runnerd does not wait for a cancel: jobs go on without it"},
			{at.KillWait, at.JobGrace, "killing is quicker than asking"},
			{at.PolicyInterval, at.HeartbeatInterval, "a changed runner file is told before the next heartbeat"},
			{at.JobGrace + at.TransferTimeout, at.JobLimit, "a job has time for its work, not only for its end"},
			{at.CleanupInterval, at.MaxAge, "what is old is seen to be"},
			{at.JobLimit, at.MaxAge, "nothing that a job uses is old"},
			{at.JobLimit, at.KeyMaxAge, "a key lasts longer than a job"},
		} {
			if rule.less >= rule.more {
				t.Errorf("tick %v: %v is not less than %v: %s", tick, rule.less, rule.more, rule.why)
			}
		}
	}
}

func TestBeatWithinALease(t *testing.T) {
	at := timing.Default()
	for lease, want := range map[time.Duration]time.Duration{0: at.HeartbeatInterval, time.Hour: at.HeartbeatInterval,
		3 * time.Second: time.Second} {
		if got := at.HeartbeatFor(lease); got != want {
			t.Errorf("lease %v: got %v, want %v", lease, got, want)
		}
	}
}
