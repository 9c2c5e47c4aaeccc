package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// attempt is one attempt while it is looked after. What it is at lies on disk and in its process; this holds only what the
// goroutines tell each other.
type attempt struct {
	runner *runner
	dir    spool.Attempt
	record spool.Record // changed only by superviseLoop, under mutex
	log    *slog.Logger
	// adopted: an earlier runnerd took it, and may have accepted it.
	adopted bool

	// cancel is closed when the control plane wants the attempt to end.
	cancel     chan struct{}
	cancelOnce sync.Once
	// exited is closed when the process that this runnerd started has ended; nil for one that was adopted.
	exited <-chan struct{}
	// began is when the process was started, by the steady clock; only for watch.
	began time.Time
	// concluded is closed when the process is gone and the result is known.
	concluded chan struct{}
	// gone is closed when nothing is left to do here.
	gone chan struct{}

	supersededOnce sync.Once
	mutex          sync.Mutex
}

func newAttempt(r *runner, dir spool.Attempt, record spool.Record) *attempt {
	return &attempt{
		runner: r, dir: dir, record: record,
		log:    r.log.With("job", record.Job, "attempt", record.Attempt, "kind", record.Kind),
		cancel: make(chan struct{}), concluded: make(chan struct{}), gone: make(chan struct{}),
	}
}

func (a *attempt) name() string { return fmt.Sprintf("%s/%d", a.record.Job, a.record.Attempt) }

func (a *attempt) isAccepted() bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.record.Accepted()
}

func (a *attempt) isConcluded() bool {
	select {
	case <-a.concluded:
		return true
	default:
		return false
	}
}

// askCancel may be called again and again.
func (a *attempt) askCancel() {
	a.cancelOnce.Do(func() {
		a.log.Info("the job is to be cancelled")
		close(a.cancel)
	})
}

func (a *attempt) noteSuperseded() {
	a.supersededOnce.Do(func() {
		a.log.Warn("another attempt has taken the place of this one; it goes on and delivers what it did")
	})
}

// observed is what can be seen of an attempt.
type observed struct {
	// Accepted: the control plane gave it to this runner.
	Accepted bool
	// Started: a process may have run.
	Started bool
	// Alive: its process runs.
	Alive bool
	// Final: the result to deliver is known.
	Final bool
}

// verb is what an attempt needs next.
type verb string

// The verbs, in the order of a job's life.
const (
	accept   verb = "accept"
	start    verb = "start"
	watch    verb = "watch"
	conclude verb = "conclude"
	deliver  verb = "deliver"
)

// next decides. A live process is watched whatever else there is: nothing may be said about a job that still runs.
func (o observed) next() verb {
	switch {
	case o.Alive:
		return watch
	case o.Final:
		return deliver
	case o.Started:
		return conclude
	case o.Accepted:
		return start
	default:
		return accept
	}
}

func (a *attempt) observe() (seen observed, err error) {
	seen.Accepted = a.isAccepted()
	if seen.Alive, err = a.dir.Alive(); err != nil {
		return seen, err
	}
	if _, seen.Started, err = a.dir.Started(); err != nil {
		return seen, err
	}
	_, seen.Final, err = a.dir.Final()
	return seen, err
}

// superviseLoop brings an attempt from verb to verb until its result is known, and waits until the shipper has delivered it. It
// ends early with ctx, and leaves everything as it is.
func (a *attempt) superviseLoop(ctx context.Context) {
	defer close(a.gone)
	defer a.runner.leave(a)
	var shipping sync.WaitGroup
	defer shipping.Wait()
	shipped := false
	for ctx.Err() == nil {
		if a.isAccepted() && !shipped {
			shipped = true
			shipping.Go(func() { a.shipLoop(ctx) })
		}
		seen, err := a.observe()
		if err == nil {
			next := seen.next()
			if next == deliver {
				close(a.concluded)
				a.runner.wake()
				if !shipped { // never accepted: only the result is to be told
					a.shipLoop(ctx)
				}
				return
			}
			err = a.do(ctx, next)
		}
		if errors.Is(err, errWithdrawn) {
			return
		}
		if err != nil && ctx.Err() == nil {
			// A disk that is full or gone: nothing is decided without it.
			a.log.Error("cannot look after the job; trying again", "error", err)
			contact.Pause(ctx, a.runner.Timing.Beat)
		}
	}
}

func (a *attempt) do(ctx context.Context, next verb) error {
	switch next {
	case accept:
		return a.accept(ctx)
	case start:
		return a.start()
	case watch:
		return a.watch(ctx)
	default:
		return a.conclude(ctx)
	}
}

// fail concludes an attempt whose process could not be started.
func (a *attempt) fail(err error) error {
	return a.dir.SaveResult(api.JobResult{Status: api.JobResultStatusFailed, Error: err.Error()})
}

func (a *attempt) setToken(token string) error {
	record := a.record
	record.Token = token
	if err := a.dir.SaveRecord(record); err != nil {
		return err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.record = record
	return nil
}
