package timing_test

import (
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

func TestOrder(t *testing.T) {
	for _, tick := range []time.Duration{timing.Tick, 20 * time.Millisecond} {
		at, beat := timing.From(tick), 30*tick // as the API's document states
		for _, rule := range []struct {
			less, more time.Duration
			why        string
		}{
			{0, at.Look, "a loop must pause"},
			{at.Look, at.Gather, "lines are gathered over several looks"},
			{at.BackoffFirst, at.BackoffMost, "a backoff grows"},
			{at.Gather, at.Beat, "a log is seen before the next heartbeat"},
			{at.Beat, at.Call, "a slow answer is no lost contact"},
			{beat + 5*tick, at.PollSilence, "a beat of a poll that is a little late is no lost contact"},
			{at.PollShort + 5*tick, at.PollSilence, "the answer to a short poll comes before it is given up"},
			{2 * at.PollSilence, at.Poll, "most signs of life are no calls"},
			{at.Call, at.PollSilence, "a poll may be quiet for longer than a call that is answered at once"},
			{at.PollSilence, at.Transfer, "a large state may take its time"},
			{at.Call + at.UnlockTry, at.JobGrace, "an interrupted job can still free its lock"},
			{at.ToolGrace + at.UnlockTry, at.JobGrace, "a handler kills its tool and frees the lock before it is killed itself"},
			{at.Beat, at.ToolGrace, "contact is not lost during a graceful cancel"},
			{at.StopWait, at.JobGrace, "stopping runnerd does not wait for a cancel: jobs go on without it"},
			{at.KillWait, at.JobGrace, "killing is quicker than asking"},
			{at.Rules, at.Beat, "a changed runner file is told before the next heartbeat"},
			{at.JobGrace + at.Transfer, at.JobLimit, "a job has time for its work, not only for its end"},
			{at.Clear, at.Keep, "what is old is seen to be"},
			{at.JobLimit, at.Keep, "nothing that a job uses is old"},
			{at.JobLimit, at.KeyLife, "a key lasts longer than a job"},
		} {
			if rule.less >= rule.more {
				t.Errorf("tick %v: %v is not less than %v: %s", tick, rule.less, rule.more, rule.why)
			}
		}
	}
}

func TestBeatWithinALease(t *testing.T) {
	at := timing.Default()
	for lease, want := range map[time.Duration]time.Duration{0: at.Beat, time.Hour: at.Beat,
		3 * time.Second: time.Second} {
		if got := at.BeatWithin(lease); got != want {
			t.Errorf("lease %v: got %v, want %v", lease, got, want)
		}
	}
}
