package rollout

import (
	"context"
	"sync"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// readRaw runs the queries by which reconcile reads a locked install, for [store.Tx.Prefetch]. A query that is missing
// here is not in the digest: what it returns must be the same whenever the others are.
func (r *Rollout) readRaw(ctx context.Context, tx *store.Tx, install store.Install) error {
	if _, err := readRows(ctx, tx, []store.Install{install}); err != nil {
		return err
	}
	pin := pinOf(install)
	if _, err := releaseRow(ctx, tx, install.AppID, pin, r.configs.newest(tx.Org, install.AppID, pin)); err != nil {
		return err
	}
	_, err := readRunning(ctx, tx, install.ID)
	return err
}

// settledInstalls remembers by the digest of what was read which installs have nothing to do. To reconcile an install
// is a function of what is read of it, so the same rows lead to nothing again. A changed row, an expired lease or
// request, or another release of the app changes the digest.
type settledInstalls struct {
	mu  sync.Mutex
	all map[string]settledInstall
}

// settledInstall is an install when it was last reconciled.
type settledInstall struct {
	digest  store.ReadDigest
	running []river.JobArgs // requests to advance its running workflows
}

// maxSettled bounds the number of remembered installs. Each takes about 150 bytes.
const maxSettled = 50_000

func newSettledInstalls() *settledInstalls {
	return &settledInstalls{all: map[string]settledInstall{}}
}

// running returns the requests to advance the running workflows of an install, and true if it has nothing else to do.
func (s *settledInstalls) running(install string, digest store.ReadDigest) ([]river.JobArgs, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, is := s.all[install]
	return known.running, is && known.digest == digest
}

func (s *settledInstalls) remember(install string, digest store.ReadDigest, running []river.JobArgs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= maxSettled {
		clear(s.all)
	}
	s.all[install] = settledInstall{digest: digest, running: running}
}
