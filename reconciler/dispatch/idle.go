package dispatch

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// idleRunners is this replica's memory of install runners that polled for work and found none. It
// lets repeated and held polls run without any query; with ten thousand runners, a query per poll
// would otherwise be most of the database's load. It remembers three facts about a runner, and a
// notification for the runner ends all three:
//
//   - its key was valid (a replacement and a key rotation notify);
//   - nothing was queued for it (enqueueing a job notifies);
//   - its reported version and policy are stored.
//
// The runner is queried again after lookAnyway in any case, and a claim checks the key in its own
// transaction. So a lost notification only causes delay, never a wrong answer.
type idleRunners struct {
	bell ringer

	mu      sync.Mutex
	runners map[string]*idleRunner // by org/runner
	heard   map[string]*presence   // by org
}

// ringer is the notifier.
type ringer interface {
	Wait(channel, payload string) (rung <-chan struct{}, stop func())
	Listening() error
}

// idleRunner is a runner that polls for work, with one poll or several.
type idleRunner struct {
	caller  Caller          // with the key that was valid
	said    string          // version and policy that it reported, as stored
	looked  time.Time       // when the last query found nothing; zero when that no longer holds
	rung    <-chan struct{} // has an element after a notification that no poll has received yet
	told    chan struct{}   // closed and replaced by the poll that receives a notification: all polls query again
	stop    func()
	waiting int       // current polls
	left    time.Time // when the last poll ended
}

// presence is the set of an org's runners that were seen since the last write.
type presence struct {
	written time.Time
	runners map[string]struct{}
}

const (
	// lookAnyway is the interval after which a runner without notifications is queried again, at a
	// keepalive of a held poll or when it polls.
	lookAnyway = 10 * Lease
	// idleLife is how long a runner that has stopped polling is remembered.
	idleLife = Lease
)

func newIdleRunners(bell ringer) *idleRunners {
	return &idleRunners{bell: bell, runners: map[string]*idleRunner{}, heard: map[string]*presence{}}
}

// saidOf encodes what a runner reports about itself, for comparison.
func saidOf(version string, policy api.RunnerPolicy) string {
	// A struct of texts and numbers always marshals.
	raw, _ := json.Marshal(policy)
	return version + "\n" + string(raw)
}

// quiet reports whether no query is needed for a runner. It is false while the notifier is not
// listening.
func (i *idleRunners) quiet(r *idleRunner) bool {
	return !r.looked.IsZero() && time.Since(r.looked) < lookAnyway && len(r.rung) == 0 && i.bell.Listening() == nil
}

// admit returns the caller of a key that was valid when its runner last found nothing.
func (i *idleRunners) admit(org, runner, key string) (Caller, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := i.runners[org+"/"+runner]
	if r == nil || r.caller.key != key || !i.quiet(r) {
		return Caller{}, false
	}
	return r.caller, true
}

// enter registers the start of a poll. The poll calls leave at its end.
func (i *idleRunners) enter(caller Caller, said string) (r *idleRunner, quiet bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	name := caller.Org + "/" + caller.Runner
	r = i.runners[name]
	if r == nil {
		r = &idleRunner{told: make(chan struct{})}
		r.rung, r.stop = i.bell.Wait(store.ChannelJobs, name)
		i.runners[name] = r
	}
	r.waiting++
	if r.caller == caller && r.said == said && i.quiet(r) {
		return r, true
	}
	r.looked = time.Time{}
	select {
	case <-r.rung: // this poll queries now; the waiting polls must, too
		r.tell()
	default:
	}
	return r, false
}

// ear returns the channel that a poll needs before it queries: told is closed when a notification
// arrives after that and another poll has received it.
func (i *idleRunners) ear(r *idleRunner) (told <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return r.told
}

// hear is called by the poll that received the notification. It wakes the runner's other polls and
// discards what is remembered about the runner.
func (i *idleRunners) hear(r *idleRunner) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r.tell()
}

func (r *idleRunner) tell() {
	r.looked = time.Time{}
	close(r.told)
	r.told = make(chan struct{})
}

// found records that the key is valid, that the runner's report is stored, and that nothing is
// queued for it, unless a notification arrived since the poll called ear. A build runner must query
// on each poll, because it may take over builds of other runners. A caller without a key occurs
// only in tests.
func (i *idleRunners) found(r *idleRunner, caller Caller, said string, told <-chan struct{}) {
	if caller.key == "" || caller.kind != RunnerInstall {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if told != r.told {
		return
	}
	r.caller, r.said, r.looked = caller, said, time.Now()
	if i.heard[caller.Org] == nil { // the runner's own row is as fresh as that
		i.heard[caller.Org] = &presence{written: r.looked, runners: map[string]struct{}{}}
	}
}

// stale reports whether a runner that found nothing is due for a query without a notification.
func (i *idleRunners) stale(r *idleRunner) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !r.looked.IsZero() && time.Since(r.looked) >= lookAnyway
}

// leave registers the end of a poll. It also forgets runners that have stopped polling, a few per
// call, which is more than can have been added since.
func (i *idleRunners) leave(r *idleRunner) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r.waiting--
	r.left = time.Now()
	looked := 0
	for name, old := range i.runners {
		if looked++; looked > 4 {
			return
		}
		if old.waiting == 0 && time.Since(old.left) >= idleLife {
			old.stop()
			delete(i.runners, name)
		}
	}
}

// here records that a runner is present and returns the runners of its org whose presence is to be
// written now. It returns none until touchEvery has passed since the last write. That write is the
// only load of waiting runners on the database.
func (i *idleRunners) here(caller Caller) (write []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := i.heard[caller.Org]
	if p == nil {
		p = &presence{runners: map[string]struct{}{}}
		i.heard[caller.Org] = p
	}
	p.runners[caller.Runner] = struct{}{}
	if time.Since(p.written) < touchEvery {
		return nil
	}
	write = slices.Collect(maps.Keys(p.runners))
	p.written, p.runners = time.Now(), map[string]struct{}{}
	return write
}
