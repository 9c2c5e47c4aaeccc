package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/reconciler/metrics"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// worker runs one package's reconcile function for each request in the queue.
type worker[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	metrics  *metrics.Metrics
	inFlight *inFlight
	limiter  *orgLimiter
	run      func(context.Context, T) error
}

// Work runs the function once. It returns an error if the function asks for a retry.
func (w worker[T]) Work(ctx context.Context, job *river.Job[T]) error {
	w.inFlight.add(job.ID)
	defer w.inFlight.remove(job.ID)
	if job.Queue == queue.Remote {
		org := orgOf(job.Args)
		if !w.limiter.enter(org) {
			return river.JobSnooze(retryTurnAfter)
		}
		defer w.limiter.leave(org)
	}
	ctx = telemetry.ContextWithAttrs(ctx, aboutWork(job.Args)...)
	task := status.Register(ctx, "work")
	defer task.Unregister()
	task.SetWorking(fmt.Sprintf("%s %s", job.Kind, job.EncodedArgs))
	began := time.Now()
	err := w.run(ctx, job.Args)
	w.metrics.RecordWork(job.Kind, time.Since(began), err)
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "will look again", "work", job.Kind, "try", job.Attempt, "error", err)
	}
	return err
}

// aboutWork returns the ids in a request as log attributes.
func aboutWork(args river.JobArgs) []slog.Attr {
	switch a := args.(type) {
	case queue.Poll:
		return []slog.Attr{slog.String("org", a.Org), slog.String("watch", a.Watch)}
	case queue.Catalog:
		return []slog.Attr{slog.String("org", a.Org), slog.String("app", a.App)}
	case queue.Build:
		return []slog.Attr{slog.String("org", a.Org), slog.String("app", a.App)}
	case queue.Rollout:
		return []slog.Attr{slog.String("org", a.Org), slog.String("install", a.Install)}
	case queue.Resync:
		return []slog.Attr{slog.String("org", a.Org), slog.String("install", a.Install)}
	case queue.FanOut:
		return []slog.Attr{slog.String("org", a.Org), slog.String("app", a.App)}
	case queue.RolloutRange:
		return []slog.Attr{
			slog.String("org", a.Org), slog.String("app", a.App), slog.String("first", a.First),
			slog.String("last", a.Last),
		}
	case queue.Advance:
		return []slog.Attr{slog.String("org", a.Org), slog.String("workflow", a.Workflow)}
	case queue.Health:
		return []slog.Attr{slog.String("org", a.Org), slog.String("install", a.Install)}
	case queue.Secrets:
		return []slog.Attr{slog.String("org", a.Org), slog.String("install", a.Install)}
	case queue.RefreshImages:
		return []slog.Attr{slog.String("org", a.Org), slog.String("app", a.App)}
	case queue.Retain:
		return []slog.Attr{slog.String("org", a.Org)}
	case queue.Expire:
		job, attempt, _ := strings.Cut(a.ID, "/")
		return []slog.Attr{slog.String("org", a.Org), slog.String("job", job), slog.String("attempt", attempt)}
	}
	return nil
}

// orgOf returns the org of work that waits for remotes.
func orgOf(args river.JobArgs) string {
	switch a := args.(type) {
	case queue.Poll:
		return a.Org
	case queue.Catalog:
		return a.Org
	case queue.Build:
		return a.Org
	}
	return ""
}

// orgLimiter limits how much of the work that waits for remotes a replica does for one org at once, so
// that the slow git servers of one org do not delay the others.
type orgLimiter struct {
	mu   sync.Mutex
	busy map[string]int
}

// retryTurnAfter is the delay before work is retried whose org has reached its limit.
const retryTurnAfter = 2 * time.Second

// enter takes one of an org's slots, and reports whether one was free.
func (s *orgLimiter) enter(org string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy == nil {
		s.busy = map[string]int{}
	}
	if s.busy[org] >= maxRemotePerOrg {
		return false
	}
	s.busy[org]++
	return true
}

func (s *orgLimiter) leave(org string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[org]--; s.busy[org] == 0 {
		delete(s.busy, org)
	}
}

// maxRetryPause is the maximum delay before failed work is retried.
const maxRetryPause = time.Minute

// NextRetry doubles the delay up to maxRetryPause, because an external fault may be fixed at any
// moment.
func (w worker[T]) NextRetry(job *river.Job[T]) time.Time {
	return time.Now().Add(min(maxRetryPause, time.Second<<min(job.Attempt, 10)))
}

// inFlight is the work that a replica is running, by River's ids. Work that the database assigns to the
// replica and that is missing here was lost on the way.
type inFlight struct {
	mu  sync.Mutex
	ids map[int64]struct{}
}

func (h *inFlight) add(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids == nil {
		h.ids = map[int64]struct{}{}
	}
	h.ids[id] = struct{}{}
}

func (h *inFlight) remove(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ids, id)
}

func (h *inFlight) list() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.ids))
}

// workerSet holds the workers of a replica and what they share.
type workerSet struct {
	workers  *river.Workers
	metrics  *metrics.Metrics
	inFlight *inFlight
	limiter  *orgLimiter
}

// addWorker registers a worker for one kind of work.
func addWorker[T river.JobArgs](to workerSet, run func(context.Context, T) error) {
	river.AddWorker(to.workers, worker[T]{metrics: to.metrics, inFlight: to.inFlight, limiter: to.limiter, run: run})
}

// The interval of the sweep for due work, and the interval at which a lasting error is logged.
const (
	sweepEvery     = 250 * time.Millisecond
	repeatLogAfter = 30 * time.Second
)

// dueOptions configures the sweep. Installs are reconciled on changes; the resync covers lost
// notifications and other omissions.
var dueOptions = store.ClaimDueOptions{Limit: 500, MaxPolls: 2 * maxRemotePerOrg, RetryAfter: 30 * time.Second,
	Resync: time.Hour}

// sweep turns due entries into work until ctx ends. Several replicas may sweep at once.
func sweep(ctx context.Context, s *store.Store) {
	task := status.Register(ctx, "sweep")
	defer task.Unregister()
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	var said time.Time // when an error was last logged
	for {
		task.SetWaiting("for the next sweep")
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		task.SetWorking("taking due objects")
		_, err := s.ClaimDue(ctx, dueOptions, jobForDue)
		task.ReportResult(err)
		switch {
		case err == nil:
			said = time.Time{}
		case ctx.Err() == nil && time.Since(said) > repeatLogAfter:
			slog.WarnContext(ctx, "find due objects", "error", err)
			said = time.Now()
		}
	}
}

// jobForDue returns the work for a due entry.
func jobForDue(d store.DueItem) river.JobArgs {
	switch d.Kind {
	case store.DueWatch:
		return queue.Poll{Org: d.Org, Watch: d.ID}
	case store.DueAttempt:
		return queue.Expire{Org: d.Org, ID: d.ID}
	case store.DueApp:
		return queue.Catalog{Org: d.Org, App: d.ID}
	case store.DueHealth:
		return queue.Health{Org: d.Org, Install: d.ID}
	case store.DueSecrets:
		return queue.Secrets{Org: d.Org, Install: d.ID}
	case store.DueImages:
		return queue.RefreshImages{Org: d.Org, App: d.ID}
	case store.DueOrg:
		return queue.Retain{Org: d.Org}
	}
	return queue.Resync{Org: d.Org, Install: d.ID}
}
