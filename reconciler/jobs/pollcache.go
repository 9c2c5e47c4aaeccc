package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// pollCache is this replica's memory of install runners that polled for work and found none. It
// lets repeated and held polls run without any query; with ten thousand runners, a query per poll
// would otherwise be most of the database's load. It remembers three facts about a runner, and a
// notification for the runner ends all three:
//
//   - its key was valid (a replacement and a key rotation notify);
//   - nothing was queued for it (enqueueing a job notifies);
//   - its reported version and policy are stored.
//
// The runner is queried again after PollRefresh in any case, and a claim checks the key in its own
// transaction. So a lost notification only causes delay, never a wrong answer.
type pollCache struct {
	notifier notifier

	mu       sync.Mutex
	runners  map[string]*idleRunner // by org/runner
	presence map[string]*presence   // by org
}

// notifier is the notifier.
type notifier interface {
	Wait(channel, payload string) (rung <-chan struct{}, stop func())
	Listening() error
}

// idleRunner is a runner that polls for work, with one poll or several.
type idleRunner struct {
	caller       runners.Caller  // with the key that was valid
	report       string          // version and policy that it reported, as stored
	emptySince   time.Time       // when the last query found nothing; zero when that no longer holds
	notification <-chan struct{} // has an element after a notification that no poll has received yet
	wakeup       chan struct{}   // closed and replaced by the poll that receives a notification: all polls query again
	stop         func()
	polls        int       // current polls
	lastPoll     time.Time // when the last poll ended
}

// presence is the set of an org's runners that were seen since the last write.
type presence struct {
	written time.Time
	runners map[string]struct{}
}

func newPollCache(bell notifier) *pollCache {
	return &pollCache{notifier: bell, runners: map[string]*idleRunner{}, presence: map[string]*presence{}}
}

// reportOf encodes what a runner reports about itself, for comparison.
func reportOf(version string, policy api.RunnerPolicy) string {
	// A struct of texts and numbers always marshals.
	raw, _ := json.Marshal(policy)
	return version + "\n" + string(raw)
}

// quiet reports whether no query is needed for a runner. It is false while the notifier is not
// listening.
func (c *pollCache) quiet(r *idleRunner) bool {
	return !r.emptySince.IsZero() && time.Since(r.emptySince) < timing.PollRefresh && len(r.notification) == 0 &&
		c.notifier.Listening() == nil
}

// knownCaller returns the caller of a key that was valid when its runner last found nothing.
func (c *pollCache) knownCaller(org, runner, key string) (runners.Caller, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.runners[org+"/"+runner]
	if r == nil || r.caller.KeyHash != key || !c.quiet(r) {
		return runners.Caller{}, false
	}
	return r.caller, true
}

// startPoll registers the start of a poll. The poll calls leave at its end.
func (c *pollCache) startPoll(caller runners.Caller, said string) (r *idleRunner, quiet bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := caller.Org + "/" + caller.Runner
	r = c.runners[name]
	if r == nil {
		r = &idleRunner{wakeup: make(chan struct{})}
		r.notification, r.stop = c.notifier.Wait(store.ChannelJobs, name)
		c.runners[name] = r
	}
	r.polls++
	if r.caller == caller && r.report == said && c.quiet(r) {
		return r, true
	}
	r.emptySince = time.Time{}
	select {
	case <-r.notification: // this poll queries now; the waiting polls must, too
		r.wakePolls()
	default:
	}
	return r, false
}

// wakeups returns the channel that a poll needs before it queries: told is closed when a notification
// arrives after that and another poll has received it.
func (c *pollCache) wakeups(r *idleRunner) (told <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.wakeup
}

// notified is called by the poll that received the notification. It wakes the runner's other polls and
// discards what is remembered about the runner.
func (c *pollCache) notified(r *idleRunner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.wakePolls()
}

func (r *idleRunner) wakePolls() {
	r.emptySince = time.Time{}
	close(r.wakeup)
	r.wakeup = make(chan struct{})
}

// recordEmpty records that the key is valid, that the runner's report is stored, and that nothing is
// queued for it, unless a notification arrived since the poll called ear. A build runner must query
// on each poll, because it may take over builds of other runners. A caller without a key occurs
// only in tests.
func (c *pollCache) recordEmpty(r *idleRunner, caller runners.Caller, said string, told <-chan struct{}) {
	if caller.KeyHash == "" || caller.Kind != runners.KindInstall {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if told != r.wakeup {
		return
	}
	r.caller, r.report, r.emptySince = caller, said, time.Now()
	if c.presence[caller.Org] == nil { // the runner's own row is as fresh as that
		c.presence[caller.Org] = &presence{written: r.emptySince, runners: map[string]struct{}{}}
	}
}

// needsRefresh reports whether a runner that found nothing is due for a query without a notification.
func (c *pollCache) needsRefresh(r *idleRunner) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !r.emptySince.IsZero() && time.Since(r.emptySince) >= timing.PollRefresh
}

// endPoll registers the end of a poll. It also forgets runners that have stopped polling, a few per
// call, which is more than can have been added since.
func (c *pollCache) endPoll(r *idleRunner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.polls--
	r.lastPoll = time.Now()
	looked := 0
	for name, old := range c.runners {
		if looked++; looked > 4 {
			return
		}
		if old.polls == 0 && time.Since(old.lastPoll) >= timing.PollMemory {
			old.stop()
			delete(c.runners, name)
		}
	}
}

// recordPresence records that a runner is present and returns the runners of its org whose presence is to be
// written now. It returns none until SeenInterval has passed since the last write. That write is the
// only load of waiting runners on the database.
func (c *pollCache) recordPresence(caller runners.Caller) (write []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.presence[caller.Org]
	if p == nil {
		p = &presence{runners: map[string]struct{}{}}
		c.presence[caller.Org] = p
	}
	p.runners[caller.Runner] = struct{}{}
	if time.Since(p.written) < timing.SeenInterval {
		return nil
	}
	write = slices.Collect(maps.Keys(p.runners))
	p.written, p.runners = time.Now(), map[string]struct{}{}
	return write
}

// AuthenticateIdle is Authenticate for a request that only polls for work. It skips the lookup for
// a key whose runner found no work a moment ago if no notification has arrived since. A claim
// checks the key again before it offers a job.
func (s *Service) AuthenticateIdle(ctx context.Context, plain string) (runners.Caller, error) {
	keys, err := s.store.Tokens(ctx)
	if err != nil {
		return runners.Caller{}, fmt.Errorf("look up a runner's token: %w", err)
	}
	if prefix, parts, hash, ok := keys.Parse(plain); ok && prefix == token.Runner && len(parts) == 2 {
		if caller, known := s.polls.knownCaller(parts[0], parts[1], string(hash)); known {
			return caller, nil
		}
	}
	return s.runners.Authenticate(ctx, plain)
}
