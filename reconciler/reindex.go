package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Every reindexEvery a replica rebuilds the indexes of the work queue that have grown to reindexBytes, within
// reindexTimeout. The queue is nearly empty most of the time, so a large index is one that must be rebuilt.
const (
	reindexEvery   = 24 * time.Hour
	reindexBytes   = 64 << 20
	reindexTimeout = 10 * time.Minute
)

// reindexQueue rebuilds large indexes of the work queue, until ctx ends.
func reindexQueue(ctx context.Context, s *store.Store) {
	task := status.Register(ctx, "reindex")
	defer task.Unregister()
	tick := time.NewTicker(reindexEvery)
	defer tick.Stop()
	for {
		task.SetWaiting("for the next day")
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		task.SetWorking("rebuilding indexes of the work queue")
		limited, cancel := context.WithTimeout(ctx, reindexTimeout)
		rebuilt, err := s.ReindexQueue(limited, reindexBytes)
		cancel()
		task.ReportResult(err)
		switch {
		case err != nil && ctx.Err() == nil:
			slog.WarnContext(ctx, "rebuild indexes of the work queue", "error", err)
		case len(rebuilt) > 0:
			slog.InfoContext(ctx, "rebuilt indexes of the work queue", "indexes", rebuilt)
		}
	}
}
