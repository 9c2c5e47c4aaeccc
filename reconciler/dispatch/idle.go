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

// idleRunners is what this replica remembers of install runners that asked for work and found none, so that asking again, and being
// held, costs the database nothing: with ten thousand of them, asking for each would else be all that it does. It remembers three
// facts of a runner, and whoever rings for the runner ends all three:
//
//   - its key was good (a replacement rings, and a key that follows another);
//   - nothing was queued for it (a job that is queued rings);
//   - what it says of itself is written down.
//
// They are looked up anew after lookAnyway all the same, and a claim checks the key in its own transaction. So a ring that was
// not heard delays, and never wrongs.
type idleRunners struct {
	bell ringer

	mu      sync.Mutex
	runners map[string]*idleRunner // by org/runner
	heard   map[string]*presence   // by org
}

// ringer is the bell.
type ringer interface {
	Wait(channel, payload string) (rung <-chan struct{}, stop func())
	Listening() error
}

// idleRunner is a runner that asks for work, with one poll or several.
type idleRunner struct {
	caller  Caller          // with the key that was good
	said    string          // of itself, as it was written down
	looked  time.Time       // when the database said that there is nothing; zero when that does not count any more
	rung    <-chan struct{} // has an element when somebody rang and no poll has heard it yet
	told    chan struct{}   // closed, and made anew, by the poll that heard it: they all look then
	stop    func()
	waiting int       // polls under way
	left    time.Time // when the last one ended
}

// presence is which runners of an org were there since that was last written down.
type presence struct {
	written time.Time
	runners map[string]struct{}
}

const (
	// lookAnyway is when a runner for which nobody rings is looked up all the same, at a beat or when it asks.
	lookAnyway = 10 * Lease
	// idleLife is how long a runner is remembered that does not ask any more.
	idleLife = Lease
)

func newIdleRunners(bell ringer) *idleRunners {
	return &idleRunners{bell: bell, runners: map[string]*idleRunner{}, heard: map[string]*presence{}}
}

// saidOf is what a runner says of itself, to be compared.
func saidOf(version string, policy api.RunnerPolicy) string {
	// A struct of texts and numbers always marshals.
	raw, _ := json.Marshal(policy)
	return version + "\n" + string(raw)
}

// quiet says that there is nothing to look up. While the bell does not listen, nobody can know.
func (i *idleRunners) quiet(r *idleRunner) bool {
	return !r.looked.IsZero() && time.Since(r.looked) < lookAnyway && len(r.rung) == 0 && i.bell.Listening() == nil
}

// admit gives the caller of a key that was good when its runner last found nothing.
func (i *idleRunners) admit(org, runner, key string) (Caller, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := i.runners[org+"/"+runner]
	if r == nil || r.caller.key != key || !i.quiet(r) {
		return Caller{}, false
	}
	return r.caller, true
}

// enter is the beginning of a poll, which calls leave at its end.
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
	case <-r.rung: // this poll looks now; so must those that wait
		r.tell()
	default:
	}
	return r, false
}

// ear is what a poll asks for before it looks: told is closed when somebody rings after that and another poll has heard it.
func (i *idleRunners) ear(r *idleRunner) (told <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return r.told
}

// hear is for the poll that took the ring: it tells the others of its runner, and what any of them knew counts no more.
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

// found notes that the key is good, what the runner says is written down, and nothing is queued for it, unless somebody rang since
// the poll asked for its ear. A build runner has to look each time, for what waits for others; and a caller without a key is a test's.
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
	if i.heard[caller.Org] == nil { // its own row is as fresh as that
		i.heard[caller.Org] = &presence{written: r.looked, runners: map[string]struct{}{}}
	}
}

// stale says that a runner which found nothing is to be looked up although nobody rang.
func (i *idleRunners) stale(r *idleRunner) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !r.looked.IsZero() && time.Since(r.looked) >= lookAnyway
}

// leave is the end of a poll. Those that do not ask any more are forgotten here, a few each time: more than can have come.
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

// here notes that a runner is there, and takes those of its org that are to be written down as that: none before touchEvery is over.
// That is all that runners which wait cost the database.
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
