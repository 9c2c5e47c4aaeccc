package jobs

import (
	"context"
	"fmt"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Owner is notified of changes to the jobs that it enqueued. Both methods run in the transaction
// that makes the change. They may run more than once for one commit, because a transaction that
// loses a deadlock is retried, so they must have no effects outside the transaction.
type Owner interface {
	// JobAccepted runs when a runner accepts the job, once per attempt. An error refuses the
	// accept: Stale makes that permanent, any other error leaves the offer open.
	JobAccepted(ctx context.Context, tx *store.Tx, job store.Job) error
	// JobEnded runs when the end of a job is recorded, exactly once per job. For a job that was
	// cancelled before a runner accepted it, it runs shortly after Cancel, in another transaction.
	JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error
}

// Returner is an owner whose jobs may be returned: the runner accepted one, and nothing of it ran, because its role is
// unusable now.
type Returner interface {
	// JobReturned runs when such a job is queued again. It undoes what JobAccepted recorded. waits is what the job waits
	// for now.
	JobReturned(ctx context.Context, tx *store.Tx, job store.Job, waits string) error
}

// Dispatch is the service of this package. It is safe for concurrent use, and any number of
// replicas work on one database.
type Service struct {
	store   *store.Store
	runners *runners.Service
	owners  map[string]Owner
	polls   *pollCache
	meter   Meter

	drain    sync.Once
	draining chan struct{}
}

// New returns the service. owners maps a job's owner kind ("build", "step") to its owner. The Run
// method of bell, the notifier, must be running, or polls wake only at their time limit.
func New(s *store.Store, bell *store.Notifier, runners *runners.Service, owners map[string]Owner) *Service {
	return &Service{
		store: s, runners: runners, owners: owners, polls: newPollCache(bell), draining: make(chan struct{}),
	}
}

// Drain ends all current and future polls early with what they have. Call it when the server stops;
// otherwise its shutdown waits for them.
func (s *Service) Drain() { s.drain.Do(func() { close(s.draining) }) }

// owner returns the owner to notify about a job.
func (s *Service) owner(job store.Job) (Owner, error) {
	owner := s.owners[job.OwnerKind]
	if owner == nil {
		return nil, fmt.Errorf("job %s belongs to a %s, and no service handles those", job.ID, job.OwnerKind)
	}
	return owner, nil
}
