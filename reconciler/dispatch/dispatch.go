package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Owner is notified of changes to the jobs that it enqueued. Both methods run in the transaction
// that makes the change. They may run more than once for one commit, because a transaction that
// loses a deadlock is retried, so they must have no effects outside the transaction.
type Owner interface {
	// JobAccepted runs when a runner accepts the job, once per attempt. An error refuses the
	// accept: Refuse makes that permanent, any other error leaves the offer open.
	JobAccepted(ctx context.Context, tx *store.Tx, job store.Job) error
	// JobEnded runs when the end of a job is recorded, exactly once per job. For a job that was
	// cancelled before a runner accepted it, it runs shortly after Cancel, in another transaction.
	JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error
}

// Dispatch is the service of this package. It is safe for concurrent use, and any number of
// replicas work on one database.
type Dispatch struct {
	store      *store.Store
	bell       *store.Notifier
	owners     map[string]Owner
	registered func(context.Context, *store.Tx, store.Runner) error
	logs       packer
	states     StateLimits
	idle       *idleRunners
	meter      Meter

	drain    sync.Once
	draining chan struct{}
}

// New returns the service. owners maps a job's owner kind ("build", "step") to its owner. The Run
// method of bell, the notifier, must be running, or polls and streams wake only at their time
// limit.
func New(s *store.Store, bell *store.Notifier, owners map[string]Owner) *Dispatch {
	return &Dispatch{
		store: s, bell: bell, owners: owners, states: DefaultStateLimits, idle: newIdleRunners(bell),
		draining: make(chan struct{}),
	}
}

// OnRegistered sets a function to call in the transaction in which a runner registers and its
// public key becomes known. Call OnRegistered before the service is used.
func (d *Dispatch) OnRegistered(call func(context.Context, *store.Tx, store.Runner) error) {
	d.registered = call
}

// Drain ends all current and future polls and streams early with what they have. Call it when the
// server stops; otherwise its shutdown waits for them.
func (d *Dispatch) Drain() { d.drain.Do(func() { close(d.draining) }) }

// owner returns the owner to notify about a job.
func (d *Dispatch) owner(job store.Job) (Owner, error) {
	owner := d.owners[job.OwnerKind]
	if owner == nil {
		return nil, fmt.Errorf("job %s belongs to a %s, and nobody here owns those", job.ID, job.OwnerKind)
	}
	return owner, nil
}
