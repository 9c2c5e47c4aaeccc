package dispatch

import (
	"math/rand/v2"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// pollClock is the clock of one poll: when it beats, and when it is over. C tells when one of the two is to be done.
type pollClock struct {
	C     <-chan time.Time
	timer *time.Timer
	until time.Time
}

// newPollClock begins a poll of that length. Its first beat comes at a moment of its own, so that those of a crowd which began together
// are spread; from then on it beats every PollBeat.
func newPollClock(length time.Duration) *pollClock {
	now := time.Now()
	if length > PollBeat {
		length = onGrid(now, length)
	}
	c := &pollClock{until: now.Add(length)}
	c.timer = time.NewTimer(c.pause(PollBeat/2 + rand.N(PollBeat/2)))
	c.C = c.timer.C
	return c
}

// onGrid cuts a time from now on such that it ends at a tick.
func onGrid(now time.Time, d time.Duration) time.Duration {
	return now.Add(d).Truncate(pollTick).Sub(now)
}

// pause is how long to wait for a beat in that time, or for the end if that is sooner.
func (c *pollClock) pause(beat time.Duration) time.Duration {
	now := time.Now()
	return min(onGrid(now, beat), c.until.Sub(now))
}

// over says whether C told of the end.
func (c *pollClock) over() bool { return !time.Now().Before(c.until) }

// next waits for another beat.
func (c *pollClock) next() { c.timer.Reset(c.pause(PollBeat)) }

func (c *pollClock) stop() { c.timer.Stop() }

// pollTime is how long a poll is held: as long as its runner asks, and at most LongestPoll. One that nobody can show to be held has
// to end as often as another one beats. So has a build runner's, because builds that wait for another one that is gone are looked
// for when a poll begins.
func pollTime(caller Caller, request api.LeaseRequest, beats bool) time.Duration {
	most := LongestPoll - rand.N(pollSpread)
	if !beats || caller.kind == RunnerBuild {
		most = PollBeat
	}
	if request.WaitSeconds == 0 || request.WaitSeconds > int(most/time.Second) {
		return most
	}
	return time.Duration(max(request.WaitSeconds, 0)) * time.Second
}
