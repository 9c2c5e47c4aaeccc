package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// worker runs one room's reconcile function for each request in the queue.
type worker[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	run func(context.Context, T) error
}

// Work looks once. An error is the room's word that it wants to look again.
func (w worker[T]) Work(ctx context.Context, job *river.Job[T]) error {
	err := w.run(ctx, job.Args)
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "will look again", "work", job.Kind, "args", job.Args, "try", job.Attempt, "error", err)
	}
	return err
}

// longestPause is the most that passes before something that went wrong is looked at again.
const longestPause = time.Minute

// NextRetry doubles the pause up to longestPause: what is broken elsewhere may be mended at any moment.
func (w worker[T]) NextRetry(job *river.Job[T]) time.Time {
	return time.Now().Add(min(longestPause, time.Second<<min(job.Attempt, 10)))
}

// addWorker gives the queue a worker.
func addWorker[T river.JobArgs](to *river.Workers, run func(context.Context, T) error) {
	river.AddWorker(to, worker[T]{run: run})
}

// How often the replica looks for what is due, how much it takes at once, and when something that nobody put to another time is
// due again.
const (
	sweepEvery = 250 * time.Millisecond
	sweepMost  = 500
	dueAgain   = 30 * time.Second
)

// sweep turns what is due into work until ctx ends. Replicas do not get in each other's way.
func sweep(ctx context.Context, s *store.Store) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := s.TakeDue(ctx, dueAgain, sweepMost, workFor); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "look for what is due", "error", err)
		}
	}
}

// workFor is what looks at a thing that is due.
func workFor(d store.Pending) river.JobArgs {
	switch d.Kind {
	case store.DueWatch:
		return queue.Poll{Org: d.Org, Watch: d.ID}
	case store.DueAttempt:
		return queue.Expire{Org: d.Org, ID: d.ID}
	case store.DueApp:
		return queue.Catalog{Org: d.Org, App: d.ID}
	}
	return queue.Rollout{Org: d.Org, Install: d.ID}
}
