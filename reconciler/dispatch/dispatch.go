package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Owner is told what becomes of the jobs that it enqueued. Both calls come in the transaction that they speak of, and may come
// more than once for one commit (a transaction that lost a deadlock is run again), so they must have no effects outside it.
type Owner interface {
	// JobAccepted comes when a runner takes the job, once per attempt. An error refuses the accept: Refuse for good, any other
	// for now.
	JobAccepted(ctx context.Context, tx *store.Tx, job store.Job) error
	// JobEnded comes with the recorded end, exactly once per job. For a job that was cancelled before a runner had it, it comes a
	// moment after Cancel, in a transaction of its own.
	JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error
}

// Dispatch is the room's service. It is safe for concurrent use, and any number of replicas work on one database.
type Dispatch struct {
	store      *store.Store
	bell       *store.Bell
	owners     map[string]Owner
	registered func(context.Context, *store.Tx, store.Runner) error
	logs       packer
	states     StateLimits
	idle       *idleRunners
	meter      Meter

	drain    sync.Once
	draining chan struct{}
}

// New makes the service. owners are by a job's owner kind ("build", "step"); bell must be rung by its Run for polls and streams
// to wake before their time is over.
func New(s *store.Store, bell *store.Bell, owners map[string]Owner) *Dispatch {
	return &Dispatch{
		store: s, bell: bell, owners: owners, states: DefaultStateLimits, idle: newIdleRunners(bell), draining: make(chan struct{}),
	}
}

// OnRegistered names what is called in the transaction in which a runner registers (its public key is known from then on). Set it
// before the service is used.
func (d *Dispatch) OnRegistered(call func(context.Context, *store.Tx, store.Runner) error) {
	d.registered = call
}

// Drain ends all polls and streams, and those to come, with what they have: call it when the server stops, or its shutdown waits
// for them.
func (d *Dispatch) Drain() { d.drain.Do(func() { close(d.draining) }) }

// owner finds who is told of a job.
func (d *Dispatch) owner(job store.Job) (Owner, error) {
	owner := d.owners[job.OwnerKind]
	if owner == nil {
		return nil, fmt.Errorf("job %s belongs to a %s, and nobody here owns those", job.ID, job.OwnerKind)
	}
	return owner, nil
}
