package runner

import (
	"context"
	"path/filepath"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// cleanUpLoop removes old files from the runner's directory, at the start and then periodically.
// Its errors are only logged, so that they never fail a job.
func (r *runner) cleanUpLoop(ctx context.Context) {
	for {
		r.cleanUp(time.Now().Add(-r.Timing.MaxAge))
		if !backoff.Pause(ctx, r.Timing.CleanupInterval) {
			return
		}
	}
}

func (r *runner) cleanUp(before time.Time) {
	removed, kept, err := r.spool.PruneUndelivered(before)
	if err != nil {
		r.log.Warn("cannot remove old undelivered files", "error", err)
	}
	if kept > 0 {
		r.log.Warn("undelivered/ holds Terraform states that the control plane does not have; "+
			"remove them yourself when you no longer need "+
			"them", "dir", filepath.Join(r.Dir, spool.UndeliveredDir), "count", kept)
	}
	locks, err := filelock.Clear(filepath.Join(r.Dir, "work"), before)
	if err != nil {
		r.log.Warn("cannot clear lock files", "error", err)
	}
	if removed+locks > 0 {
		r.log.Info("old files removed", "undelivered", removed, "locks", locks)
	}
}
