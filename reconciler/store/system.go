package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// UptimeGap is how long no replica may have written before the control plane counts as having been away: longer than a replica
// that is busy takes from one heartbeat to the next, and much shorter than a lease.
const UptimeGap = 10 * time.Second

// clock is how far the database's clock is ahead of this machine's, as the last heartbeat found.
type clock struct{ ahead atomic.Int64 } // nanoseconds

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// set takes what the database says that the time is, asked for at one moment and answered by now.
func (c *clock) set(asked, said time.Time) {
	answered := time.Now()
	c.ahead.Store(int64(said.Sub(asked.Add(answered.Sub(asked) / 2))))
}

// Now returns the time by the database's clock: what its rows say is compared with that, not with this machine's clock, which may be
// minutes away from it. Until a first heartbeat it is this machine's.
func (t *Tx) Now() time.Time { return t.clock.now() }

// Beat says that a replica is there, and forgets those that have not been seen for a day.
func (s *Store) Beat(ctx context.Context, r SayHereParams) error {
	q := New(s.pool)
	r.GapSeconds = UptimeGap.Seconds()
	asked := time.Now()
	said, err := q.SayHere(ctx, r)
	if err != nil {
		return fmt.Errorf("say that replica %s is there: %w", r.ID, err)
	}
	s.clock.set(asked, said)
	return q.ForgetReplicas(ctx)
}

// Gone takes a replica that stops off the list.
func (s *Store) Gone(ctx context.Context, replica string) error {
	return New(s.pool).DropReplica(ctx, replica)
}

// Replicas are all that were seen within a day, the oldest first.
func (s *Store) Replicas(ctx context.Context) ([]Replica, error) {
	return New(s.pool).ListReplicas(ctx)
}

// EmbeddedElsewhere finds a replica with an embedded registry that was there before this one and was seen within alive.
func (s *Store) EmbeddedElsewhere(ctx context.Context, replica string, alive time.Duration) (other string, seen time.Duration, found bool, err error) {
	row, err := New(s.pool).EmbeddedBefore(ctx, replica, alive.Seconds())
	if errors.Is(err, ErrNotFound) {
		return "", 0, false, nil
	}
	return row.ID, time.Duration(row.Seconds * float64(time.Second)), err == nil, err
}

// Lost says what work has no hand any more.
type Lost struct {
	// Gone: work of a replica of which nobody has heard for so long.
	Gone time.Duration
	// Replica asks; what it was given longer than Unheard ago and is not among InHand (River's ids) it never learnt of.
	Replica string
	Unheard time.Duration
	InHand  []int64
}

// Rescue makes work that is lost available again, and says how much it was.
func (s *Store) Rescue(ctx context.Context, lost Lost) (int64, error) {
	n, err := New(s.pool).RescueWork(ctx, RescueWorkParams{
		GoneSeconds: lost.Gone.Seconds(), Replica: lost.Replica, UnheardSeconds: lost.Unheard.Seconds(), InHand: append([]int64{}, lost.InHand...),
	})
	if err != nil {
		return 0, fmt.Errorf("rescue the work of replicas that are gone: %w", err)
	}
	return n, nil
}

// Orgs are all orgs, by id.
func (s *Store) Orgs(ctx context.Context) ([]Org, error) { return New(s.pool).ListOrgs(ctx) }

// FailingWork is a request to look that went wrong and is tried again.
type FailingWork struct {
	Kind  string
	Args  json.RawMessage // ids only
	Tries int
	Error string
	Next  time.Time
}

// mostFailing bounds how many are read; whoever has more knows enough. What was given up counts for a while longer, because what is due
// is soon asked for anew, and fails again if nobody has mended it.
const (
	mostFailing = 200
	givenUpFor  = 2 * time.Minute
)

// Failing is the work of all orgs that went wrong and is tried again, each once.
func (s *Store) Failing(ctx context.Context) ([]FailingWork, error) {
	waiting, err := s.river.JobList(ctx, river.NewJobListParams().States(rivertype.JobStateRetryable).First(mostFailing))
	if err != nil {
		return nil, fmt.Errorf("list the work that is tried again: %w", err)
	}
	givenUp, err := s.river.JobList(ctx, river.NewJobListParams().
		States(rivertype.JobStateDiscarded).OrderBy(river.JobListOrderByFinalizedAt, river.SortOrderDesc).First(mostFailing))
	if err != nil {
		return nil, fmt.Errorf("list the work that was given up: %w", err)
	}
	var all []FailingWork
	seen := map[string]bool{}
	for _, job := range append(waiting.Jobs, givenUp.Jobs...) {
		name := job.Kind + " " + string(job.EncodedArgs)
		if seen[name] || job.FinalizedAt != nil && time.Since(*job.FinalizedAt) > givenUpFor {
			continue
		}
		seen[name] = true
		w := FailingWork{Kind: job.Kind, Args: job.EncodedArgs, Tries: job.Attempt, Next: job.ScheduledAt}
		if n := len(job.Errors); n > 0 {
			w.Error = job.Errors[n-1].Error
		}
		all = append(all, w)
	}
	return all, nil
}

// Late is how long the oldest thing that is due, of any org, waits to be taken up: by the sweep, or by a worker.
func (s *Store) Late(ctx context.Context) (time.Duration, error) {
	seconds, err := New(s.pool).LateSeconds(ctx)
	if err != nil {
		return 0, fmt.Errorf("read what is due: %w", err)
	}
	late := time.Duration(seconds * float64(time.Second))
	list, err := s.river.JobList(ctx, river.NewJobListParams().
		States(rivertype.JobStateAvailable).OrderBy(river.JobListOrderByScheduledAt, river.SortOrderAsc).First(1))
	if err != nil {
		return 0, fmt.Errorf("list the work that waits: %w", err)
	}
	for _, job := range list.Jobs {
		late = max(late, time.Since(job.ScheduledAt))
	}
	return late, nil
}

// PoolUse is how the pool's connections are used.
type PoolUse struct {
	InUse, Idle, Most int32
	Waits             int64         // acquisitions that had to wait
	Waited            time.Duration // in all
}

// PoolUse tells how the pool is used now.
func (s *Store) PoolUse() PoolUse {
	now := s.pool.Stat()
	return PoolUse{
		InUse: now.AcquiredConns(), Idle: now.IdleConns(), Most: now.MaxConns(),
		Waits: now.EmptyAcquireCount(), Waited: now.EmptyAcquireWaitTime(),
	}
}
