package runner

import (
	"context"
	"os"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// pluginCacheLoop removes provider caches that jobs have filled, at the start and then periodically.
func (r *runner) pluginCacheLoop(ctx context.Context) {
	for {
		r.cleanPluginCaches(ctx)
		if !backoff.Pause(ctx, r.Timing.CleanupInterval) {
			return
		}
	}
}

// cleanPluginCaches removes the provider caches that are too large. Its errors are only logged, so that they never
// fail a job.
func (r *runner) cleanPluginCaches(ctx context.Context) {
	for _, dir := range tfbinary.PluginCaches(r.Dir) {
		if err := r.cleanPluginCache(ctx, dir); err != nil {
			r.log.Warn("cannot remove a provider cache that is too large", "dir", dir, "error", err)
		}
	}
}

// cleanPluginCache removes a provider cache if it is too large. It waits for a moment without attempts, because
// Terraform runs the providers in the cache, and returns when ctx ends.
func (r *runner) cleanPluginCache(ctx context.Context, dir string) error {
	aside := dir + ".removed"
	if err := spool.RemoveTree(aside); err != nil { // it exists after an interrupted removal
		return err
	}
	if !tfbinary.IsCacheTooLarge(dir) {
		return nil
	}
	for {
		if moved, err := r.moveUnused(dir, aside); err != nil {
			return err
		} else if moved {
			break
		}
		select {
		case <-r.idle:
		case <-ctx.Done():
			return nil
		}
	}
	r.log.Warn("removing a provider cache that is too large; the next jobs fetch their providers again", "dir", dir)
	return spool.RemoveTree(aside)
}

// moveUnused renames a directory that attempts use, and returns false if there is an attempt. One that is added
// later does not find the directory.
func (r *runner) moveUnused(dir, to string) (bool, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.attempts) > 0 {
		return false, nil
	}
	err := os.Rename(dir, to)
	return err == nil, err
}
