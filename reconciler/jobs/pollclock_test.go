package jobs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// quietly returns a service that remembers only that its runner found nothing. It cannot query, for
// it has no database.
func quietly() (*Service, runners.Caller) {
	idle, _, caller := anIdleOne()
	idle.runners["org_a/run_a"].report = reportOf("1", api.RunnerPolicy{})
	idle.presence[caller.Org] = &presence{written: time.Now().Add(24 * time.Hour), runners: map[string]struct{}{}}
	return &Service{polls: idle, draining: make(chan struct{})}, caller
}

// noted reports and clears the recorded presence of a runner.
func (s *Service) noted(caller runners.Caller) bool {
	s.polls.mu.Lock()
	defer s.polls.mu.Unlock()
	_, there := s.polls.presence[caller.Org].runners[caller.Runner]
	clear(s.polls.presence[caller.Org].runners)
	return there
}

// A client closes a connection that is silent for longer than PollKeepalive, so no two bytes of a
// response may be further apart.
func TestAHeldPollKeepalivesUntilItIsOver(t *testing.T) {
	const soonest = timing.LongestPoll - timing.PollSpread - timing.PollTick
	for asked, bounds := range map[int][2]time.Duration{
		0: {soonest, timing.LongestPoll}, 1 << 40: {soonest, timing.LongestPoll},
		100: {100*time.Second - timing.PollTick, 100 * time.Second},
		30:  {timing.PollKeepalive, timing.PollKeepalive}, 7: {7 * time.Second, 7 * time.Second}, -1: {0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, caller := quietly()
			began := time.Now()
			last := began
			heard := func() {
				if silent := time.Since(last); silent > timing.PollKeepalive {
					t.Errorf("asked for %d s: nothing was heard for %s", asked, silent)
				}
				last = time.Now()
			}
			offers, err := d.Lease(t.Context(), caller, api.LeaseRequest{Free: 1, Version: "1", WaitSeconds: asked},
				func() error { heard(); return nil })
			heard()
			if took := time.Since(began); err != nil || len(offers.Offers) != 0 ||
				took < bounds[0] || took > bounds[1] {
				t.Errorf("asked for %d s: it was held for %s, %v", asked, took, err)
			}
		})
	}
}

func TestWhoCannotBeShownThatItIsHeldAsksAgainSoon(t *testing.T) {
	build := runners.Caller{Kind: runners.KindBuild}
	for _, most := range []time.Duration{
		pollTime(runners.Caller{}, api.LeaseRequest{}, false), pollTime(build, api.LeaseRequest{}, true),
		pollTime(build, api.LeaseRequest{WaitSeconds: 300}, true),
	} {
		if most != timing.PollKeepalive {
			t.Errorf("held for %s", most)
		}
	}
}

// A keepalive that was sent shows that the runner is present; one that failed ends the poll.
func TestABeatIsASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, caller := quietly()
		gone, beats := errors.New("broken line"), 0
		time.AfterFunc(time.Second, func() { d.noted(caller) }) // once it arrived
		_, err := d.Lease(t.Context(), caller, api.LeaseRequest{Free: 1, Version: "1"}, func() error {
			if d.noted(caller) {
				t.Errorf("the runner was noted as being there before beat %d went out", beats)
			}
			if beats++; beats == 3 {
				return gone
			}
			time.AfterFunc(time.Second, func() {
				if !d.noted(caller) {
					t.Errorf("after beat %d the runner was not noted as being there", beats)
				}
			})
			return nil
		})
		if !errors.Is(err, gone) || beats != 3 || d.noted(caller) {
			t.Errorf("after %d beats, of which the last did not go out: %v", beats, err)
		}
	})
}

func TestAHeldPollEndsAtOnce(t *testing.T) {
	for name, end := range map[string]func(d *Service, stop func()){
		"with the server":  func(d *Service, _ func()) { d.Drain() },
		"with its request": func(_ *Service, stop func()) { stop() },
	} {
		synctest.Test(t, func(t *testing.T) {
			d, caller := quietly()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			beats := 0
			var at time.Time
			_, err := d.Lease(ctx, caller, api.LeaseRequest{Free: 1, Version: "1"}, func() error {
				beats++
				time.AfterFunc(time.Second, func() { at = time.Now(); end(d, stop) })
				return nil
			})
			if beats != 1 || !time.Now().Equal(at) || (err == nil) != (ctx.Err() == nil) {
				t.Errorf("%s: after %d beats, %s late: %v", name, beats, time.Since(at), err)
			}
		})
	}
}

// Ten thousand polls that start at once must not send keepalives at once, and must not wake the
// machine ten thousand times either.
func TestACrowdBeatsSpreadOverAGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const crowd, beats = 3000, 6
		var mu sync.Mutex
		at := map[time.Time]int{}
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				c := newPollClock(timing.LongestPoll)
				defer c.stop()
				for range beats {
					<-c.C
					mu.Lock()
					at[time.Now()]++
					mu.Unlock()
					c.next()
				}
			})
		}
		all.Wait()
		if most := int((beats+1)*timing.PollKeepalive/timing.PollTick) + 1; len(at) > most {
			t.Errorf("%d moments, want at most %d", len(at), most)
		}
		for moment, n := range at {
			// Half of the ticks hold all: 100 at each on average.
			if n > 200 {
				t.Errorf("%d of %d beat at %s", n, crowd, moment)
			}
		}
	})
}
