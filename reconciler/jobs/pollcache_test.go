package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// handBell is a notifier that the test triggers.
type handBell struct {
	deaf    bool
	waiters map[string]chan struct{}
}

func (b *handBell) Wait(_, payload string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	b.waiters[payload] = c
	return c, func() { delete(b.waiters, payload) }
}

func (b *handBell) Listening() error {
	if b.deaf {
		return errors.New("deaf")
	}
	return nil
}

func (b *handBell) ring(payload string) {
	select {
	case b.waiters[payload] <- struct{}{}:
	default:
	}
}

// anIdleOne returns a runner that has found nothing.
func anIdleOne() (*pollCache, *handBell, runners.Caller) {
	bell := &handBell{waiters: map[string]chan struct{}{}}
	i := newPollCache(bell)
	caller := runners.Caller{Org: "org_a", Runner: "run_a", KeyHash: "hash", Kind: runners.KindInstall}
	i.findsNothing(caller)
	return i, bell, caller
}

// findsNothing runs one poll that queries and finds nothing.
func (c *pollCache) findsNothing(caller runners.Caller) {
	r, _ := c.startPoll(caller, "said")
	c.recordEmpty(r, caller, "said", c.wakeups(r))
	c.endPoll(r)
}

// asks runs one poll and reports whether it was admitted without a lookup, and whether it needs no
// query.
func (c *pollCache) asks(caller runners.Caller, said string) (known, quiet bool) {
	_, known = c.knownCaller(caller.Org, caller.Runner, caller.KeyHash)
	r, quiet := c.startPoll(caller, said)
	c.endPoll(r)
	return known, quiet
}

func TestARunnerThatFoundNothingNeedNotLookAgain(t *testing.T) {
	for name, c := range map[string]struct {
		happens      func(*pollCache, *handBell, *runners.Caller)
		said         string
		known, quiet bool
	}{
		"nothing": {func(*pollCache, *handBell, *runners.Caller) {}, "said", true, true},
		"somebody rang": {
			func(_ *pollCache, b *handBell, _ *runners.Caller) { b.ring("org_a/run_a") }, "said", false, false,
		},
		"rang for another": {
			func(_ *pollCache, b *handBell, _ *runners.Caller) { b.ring("org_a/run_b") }, "said", true, true,
		},
		"the bell is deaf": {func(_ *pollCache, b *handBell, _ *runners.Caller) { b.deaf = true }, "said", false, false},
		"another key": {
			func(_ *pollCache, _ *handBell, c *runners.Caller) { c.KeyHash = "other" }, "said", false, false,
		},
		"it says another thing": {func(*pollCache, *handBell, *runners.Caller) {}, "other", true, false},
		"long ago": {
			func(*pollCache, *handBell, *runners.Caller) { time.Sleep(timing.PollRefresh) }, "said", false, false,
		},
		"another poll was told": {func(i *pollCache, _ *handBell, c *runners.Caller) {
			r, _ := i.startPoll(*c, "said")
			i.notified(r) // and has not queried yet
		}, "said", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i, bell, caller := anIdleOne()
				c.happens(i, bell, &caller)
				if known, quiet := i.asks(caller, c.said); known != c.known || quiet != c.quiet {
					t.Errorf("let in unseen %v, nothing to look up %v; want %v and %v", known, quiet, c.known, c.quiet)
				}
			})
		})
	}
}

func TestBuildRunnersAlwaysLook(t *testing.T) {
	i, _, caller := anIdleOne()
	caller.Kind, caller.Runner = runners.KindBuild, "run_build"
	i.findsNothing(caller)
	if known, quiet := i.asks(caller, "said"); known || quiet {
		t.Error("a build runner that does not look never takes over the builds of one that is gone")
	}
}

// The poll that receives a notification wakes all polls of the runner, those that wait and those
// that queried too early.
func TestEveryPollOfARunnerIsToldOfARing(t *testing.T) {
	i, bell, caller := anIdleOne()
	isTold := func(told <-chan struct{}) bool {
		select {
		case <-told:
			return true
		default:
			return false
		}
	}
	one, _ := i.startPoll(caller, "said")
	two, _ := i.startPoll(caller, "said")
	first, second := i.wakeups(one), i.wakeups(two)
	if isTold(first) || isTold(second) {
		t.Fatal("told of a ring that nobody rang")
	}
	bell.ring("org_a/run_a")
	<-one.notification
	i.notified(one)
	if !isTold(first) || !isTold(second) {
		t.Error("one of two polls was not told")
	}
	i.recordEmpty(two, caller, "said", second) // it queried before the notification
	if _, quiet := i.startPoll(caller, "said"); quiet {
		t.Error("what was found before a ring counts after it")
	}
	third := i.wakeups(two)
	if isTold(third) {
		t.Error("a poll that asks after the ring is told of it again")
	}
	bell.ring("org_a/run_a")
	if _, quiet := i.startPoll(caller, "said"); quiet || !isTold(third) {
		t.Error("a poll that began took the ring from one that waits")
	}
}

// A runner whose poll is held counts as online for every reader, however rarely its presence is
// written.
func TestPresenceIsWrittenBeforeARunnerCountsAsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, _, _ := anIdleOne()
		var mu sync.Mutex
		written, statements := map[string]time.Time{}, 0
		ctx, stop := context.WithTimeout(t.Context(), 2*timing.LongestPoll)
		defer stop()
		var polls sync.WaitGroup
		for n := range 20 {
			caller := runners.Caller{Org: "org_a", Runner: fmt.Sprint("run_", n), Kind: runners.KindInstall}
			written[caller.Runner] = time.Now() // by its first query
			polls.Go(func() {
				clock := newPollClock(3 * timing.LongestPoll)
				defer clock.stop()
				for ctx.Err() == nil {
					select {
					case <-clock.C:
					case <-ctx.Done():
						return
					}
					clock.next()
					here := i.recordPresence(caller)
					mu.Lock()
					if len(here) > 0 {
						statements++
					}
					for _, runner := range here {
						written[runner] = time.Now()
					}
					mu.Unlock()
				}
			})
		}
		for ctx.Err() == nil {
			<-time.After(time.Second)
			mu.Lock()
			for runner, at := range written {
				if silent := time.Since(at); silent >= timing.Online {
					t.Fatalf("%s is there and was last written down %s ago", runner, silent)
				}
			}
			mu.Unlock()
		}
		polls.Wait()
		if most := int(2*timing.LongestPoll/timing.SeenInterval) + 1; statements > most || statements < most/10 {
			t.Errorf("%d statements, want at most %d", statements, most)
		}
	})
}

func TestWhoDoesNotAskAnyMoreIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, bell, _ := anIdleOne()
		time.Sleep(timing.PollMemory)
		for n := range 20 {
			other := runners.Caller{Org: "org_a", Runner: "run_" + string(rune('b'+n)), KeyHash: "k", Kind: runners.KindInstall}
			r, _ := i.startPoll(other, "said")
			i.endPoll(r)
			if n%5 == 4 {
				time.Sleep(timing.PollMemory)
			}
		}
		if len(i.runners) > 10 || len(bell.waiters) != len(i.runners) {
			t.Errorf("%d runners and %d waiters are kept", len(i.runners), len(bell.waiters))
		}
	})
}

func TestSaidOfTellsPoliciesApart(t *testing.T) {
	none := []string{}
	said := map[string]bool{}
	for _, p := range []api.RunnerPolicy{
		{}, {Off: true}, {Jobs: &none}, {Components: &none},
		{Debug: api.DebugPolicy{Logs: true}}, {Limits: api.RunnerLimits{Capacity: 3}},
	} {
		said[reportOf("1", p)] = true
	}
	if len(said) != 6 || said[reportOf("2", api.RunnerPolicy{})] {
		t.Errorf("%d different texts, want 6, and another for another version", len(said))
	}
}
