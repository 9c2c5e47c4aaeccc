package dispatch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// handBell is rung by hand.
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

// anIdleOne is a runner that has found nothing.
func anIdleOne() (*idleRunners, *handBell, Caller) {
	bell := &handBell{waiters: map[string]chan struct{}{}}
	i := newIdleRunners(bell)
	caller := Caller{Org: "org_a", Runner: "run_a", key: "hash", kind: RunnerInstall}
	r, _ := i.enter(caller, "said")
	i.found(r, caller, "said")
	i.leave(r)
	return i, bell, caller
}

// asks is one poll: whether it is let in unseen, and whether it has nothing to look up.
func (i *idleRunners) asks(caller Caller, said string) (known, quiet bool) {
	_, known = i.admit(caller.Org, caller.Runner, caller.key)
	r, quiet := i.enter(caller, said)
	i.leave(r)
	return known, quiet
}

func TestARunnerThatFoundNothingNeedNotLookAgain(t *testing.T) {
	for name, c := range map[string]struct {
		happens      func(*idleRunners, *handBell, *Caller)
		said         string
		known, quiet bool
	}{
		"nothing":               {func(*idleRunners, *handBell, *Caller) {}, "said", true, true},
		"somebody rang":         {func(_ *idleRunners, b *handBell, _ *Caller) { b.ring("org_a/run_a") }, "said", false, false},
		"rang for another":      {func(_ *idleRunners, b *handBell, _ *Caller) { b.ring("org_a/run_b") }, "said", true, true},
		"the bell is deaf":      {func(_ *idleRunners, b *handBell, _ *Caller) { b.deaf = true }, "said", false, false},
		"another key":           {func(_ *idleRunners, _ *handBell, c *Caller) { c.key = "other" }, "said", false, false},
		"it says another thing": {func(*idleRunners, *handBell, *Caller) {}, "other", true, false},
		"long ago":              {func(*idleRunners, *handBell, *Caller) { time.Sleep(lookAnyway) }, "said", false, false},
		"another poll was told": {func(i *idleRunners, _ *handBell, c *Caller) {
			r, _ := i.enter(*c, "said")
			i.forget(r) // it heard the bell, and has not looked yet
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
	caller.kind, caller.Runner = RunnerBuild, "run_build"
	r, _ := i.enter(caller, "said")
	i.found(r, caller, "said")
	i.leave(r)
	if known, quiet := i.asks(caller, "said"); known || quiet {
		t.Error("a build runner that does not look never takes over the builds of one that is gone")
	}
}

// A runner that polls is online to whoever looks, however rarely its being there is written down.
func TestPresenceIsWrittenBeforeARunnerCountsAsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, _, first := anIdleOne()
		second := first
		second.Runner, second.key = "run_b", "hash-b"
		r, _ := i.enter(second, "said")
		i.found(r, second, "said")
		i.leave(r)
		began := time.Now()
		written := map[string]time.Time{first.Runner: began, second.Runner: began} // by their first look
		statements := 0
		poll := func(c Caller) {
			if _, quiet := i.asks(c, "said"); !quiet {
				t.Fatalf("%s has to look", c.Runner)
			}
			if here := i.toWrite(c.Org); len(here) > 0 {
				statements++
				for _, runner := range here {
					written[runner] = time.Now()
				}
			}
		}
		for range 8 {
			poll(first)
			time.Sleep(time.Second)
			poll(second)
			time.Sleep(LongestPoll - time.Second)
			for runner, at := range written {
				if silent := time.Since(at); silent >= Online {
					t.Fatalf("%s is there and was last written down %s ago", runner, silent)
				}
			}
		}
		if statements > 8 {
			t.Errorf("%d statements for 8 rounds of polls", statements)
		}
	})
}

func TestWhoDoesNotAskAnyMoreIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, bell, _ := anIdleOne()
		time.Sleep(idleLife)
		for n := range 20 {
			other := Caller{Org: "org_a", Runner: "run_" + string(rune('b'+n)), key: "k", kind: RunnerInstall}
			r, _ := i.enter(other, "said")
			i.leave(r)
			if n%5 == 4 {
				time.Sleep(idleLife)
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
	for _, p := range []api.RunnerPolicy{{}, {Off: true}, {Jobs: &none}, {Components: &none}, {Debug: true}, {Limits: api.RunnerLimits{Capacity: 3}}} {
		said[saidOf("1", p)] = true
	}
	if len(said) != 6 || said[saidOf("2", api.RunnerPolicy{})] {
		t.Errorf("%d different texts, want 6, and another for another version", len(said))
	}
}
