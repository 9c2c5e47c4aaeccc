package jobs

import (
	"math/rand/v2"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// pollClock is the clock of one poll: when it sends a keepalive, and when it ends. C fires when
// either is due.
type pollClock struct {
	C     <-chan time.Time
	timer *time.Timer
	until time.Time
}

// newPollClock starts the clock of a poll of the given length. Its first keepalive comes at a
// random time, which spreads those of many polls that started together; after that one follows
// every PollKeepalive.
func newPollClock(length time.Duration) *pollClock {
	now := time.Now()
	if length > timing.PollKeepalive {
		length = onGrid(now, length)
	}
	c := &pollClock{until: now.Add(length)}
	c.timer = time.NewTimer(c.pause(timing.PollKeepalive/2 + rand.N(timing.PollKeepalive/2)))
	c.C = c.timer.C
	return c
}

// onGrid shortens a duration from now so that it ends at a tick.
func onGrid(now time.Time, d time.Duration) time.Duration {
	return now.Add(d).Truncate(timing.PollTick).Sub(now)
}

// pause returns how long to wait for the next keepalive, or for the end of the poll if that is
// sooner.
func (c *pollClock) pause(beat time.Duration) time.Duration {
	now := time.Now()
	return min(onGrid(now, beat), c.until.Sub(now))
}

// over reports whether C fired for the end of the poll.
func (c *pollClock) over() bool { return !time.Now().Before(c.until) }

// next sets the timer for another keepalive.
func (c *pollClock) next() { c.timer.Reset(c.pause(timing.PollKeepalive)) }

func (c *pollClock) stop() { c.timer.Stop() }

// pollTime returns how long a poll is held: as long as its runner requests, at most about
// LongestPoll. A poll that cannot send keepalives ends after PollKeepalive, when another would send one.
// So does a poll of a build runner, because builds of a runner that is offline are taken over when
// a poll starts.
func pollTime(caller runners.Caller, request api.LeaseRequest, beats bool) time.Duration {
	most := timing.LongestPoll - rand.N(timing.PollSpread)
	if !beats || caller.Kind == runners.KindBuild {
		most = timing.PollKeepalive
	}
	if request.WaitSeconds == 0 || request.WaitSeconds > int(most/time.Second) {
		return most
	}
	return time.Duration(max(request.WaitSeconds, 0)) * time.Second
}
