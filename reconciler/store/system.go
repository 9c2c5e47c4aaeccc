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

// UptimeGap is the time without any heartbeat after which the control plane counts as having been
// down: longer than the interval between two heartbeats of a busy replica, and much shorter than
// a lease.
const UptimeGap = 10 * time.Second

// clock is how far the database's clock is ahead of this machine's, as of the last heartbeat.
type clock struct{ ahead atomic.Int64 } // nanoseconds

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// set updates the difference from a database time that was queried at the moment asked.
func (c *clock) set(asked, said time.Time) {
	answered := time.Now()
	c.ahead.Store(int64(said.Sub(asked.Add(answered.Sub(asked) / 2))))
}

// Now returns the time by the database's clock. Compare times in rows with it and not with this
// machine's clock, which may differ by minutes. Before the first heartbeat it is this machine's
// time.
func (t *Tx) Now() time.Time { return t.clock.now() }

// RecordHeartbeat records a replica's heartbeat, and deletes replicas that were not seen for a day.
func (s *Store) RecordHeartbeat(ctx context.Context, r RecordHeartbeatParams) error {
	q := New(s.pool)
	r.GapSeconds = UptimeGap.Seconds()
	asked := time.Now()
	said, err := q.RecordHeartbeat(ctx, r)
	if err != nil {
		return fmt.Errorf("write the heartbeat of replica %s: %w", r.ID, err)
	}
	s.clock.set(asked, said)
	return q.DeleteStaleReplicas(ctx)
}

// RemoveReplica removes a stopping replica from the list.
func (s *Store) RemoveReplica(ctx context.Context, replica string) error {
	return New(s.pool).DeleteReplica(ctx, replica)
}

// Replicas returns all that were seen within a day, the oldest first.
func (s *Store) Replicas(ctx context.Context) ([]Replica, error) {
	return New(s.pool).ListReplicas(ctx)
}

// OtherEmbeddedRegistry finds a replica with an embedded registry that started before this one and
// was seen within alive.
func (s *Store) OtherEmbeddedRegistry(ctx context.Context, replica string,
	alive time.Duration) (other string, seen time.Duration, found bool, err error) {
	row, err := New(s.pool).OtherEmbeddedReplica(ctx, replica, alive.Seconds())
	if errors.Is(err, ErrNotFound) {
		return "", 0, false, nil
	}
	return row.ID, time.Duration(row.Seconds * float64(time.Second)), err == nil, err
}

// LostJobs defines which running jobs have lost their worker.
type LostJobs struct {
	// ReplicaTimeout: jobs of a replica without a heartbeat for this long.
	ReplicaTimeout time.Duration
	// Replica is the caller: it never received the jobs that were assigned to it longer than
	// Unheard ago and are not among InFlight (River's ids).
	Replica       string
	UnseenTimeout time.Duration
	InFlight      []int64
}

// Rescue makes lost jobs available again, and returns how many there were.
func (s *Store) Rescue(ctx context.Context, lost LostJobs) (int64, error) {
	n, err := New(s.pool).RescueWork(ctx, RescueWorkParams{
		GoneSeconds: lost.ReplicaTimeout.Seconds(), Replica: lost.Replica, UnheardSeconds: lost.UnseenTimeout.Seconds(),
		InHand: append([]int64{}, lost.InFlight...),
	})
	if err != nil {
		return 0, fmt.Errorf("rescue the jobs of lost replicas: %w", err)
	}
	return n, nil
}

// Orgs returns all orgs, by id.
func (s *Store) Orgs(ctx context.Context) ([]Org, error) { return New(s.pool).ListOrgs(ctx) }

// FailingJob is a job that failed and will be tried again.
type FailingJob struct {
	Kind  string
	Args  json.RawMessage // only ids
	Tries int
	Error string
	Next  time.Time
}

// maxFailingJobs bounds how many are read; more would not help anybody. Discarded jobs count for a
// while longer, because what is due is soon enqueued again, and fails again unless somebody has
// fixed it.
const (
	maxFailingJobs    = 200
	discardedShownFor = 2 * time.Minute
)

// FailingJobs returns the jobs of all orgs that failed and will be tried again, each once.
func (s *Store) FailingJobs(ctx context.Context) ([]FailingJob, error) {
	waiting, err := s.river.JobList(ctx,
		river.NewJobListParams().States(rivertype.JobStateRetryable).First(maxFailingJobs))
	if err != nil {
		return nil, fmt.Errorf("list the jobs that are retried: %w", err)
	}
	givenUp, err := s.river.JobList(ctx, river.NewJobListParams().
		States(rivertype.JobStateDiscarded).OrderBy(river.JobListOrderByFinalizedAt,
		river.SortOrderDesc).First(maxFailingJobs))
	if err != nil {
		return nil, fmt.Errorf("list the discarded jobs: %w", err)
	}
	var all []FailingJob
	seen := map[string]bool{}
	for _, job := range append(waiting.Jobs, givenUp.Jobs...) {
		name := job.Kind + " " + string(job.EncodedArgs)
		if seen[name] || job.FinalizedAt != nil && time.Since(*job.FinalizedAt) > discardedShownFor {
			continue
		}
		seen[name] = true
		w := FailingJob{Kind: job.Kind, Args: job.EncodedArgs, Tries: job.Attempt, Next: job.ScheduledAt}
		if n := len(job.Errors); n > 0 {
			w.Error = job.Errors[n-1].Error
		}
		all = append(all, w)
	}
	return all, nil
}

// QueueDelay returns how long the oldest due item of any org has waited: for the sweep, or for a worker.
func (s *Store) QueueDelay(ctx context.Context) (time.Duration, error) {
	seconds, err := New(s.pool).QueueDelaySeconds(ctx)
	if err != nil {
		return 0, fmt.Errorf("read due objects: %w", err)
	}
	late := time.Duration(seconds * float64(time.Second))
	list, err := s.river.JobList(ctx, river.NewJobListParams().
		States(rivertype.JobStateAvailable).OrderBy(river.JobListOrderByScheduledAt, river.SortOrderAsc).First(1))
	if err != nil {
		return 0, fmt.Errorf("list the waiting jobs: %w", err)
	}
	for _, job := range list.Jobs {
		late = max(late, time.Since(job.ScheduledAt))
	}
	return late, nil
}

// PoolUse is the usage of the connection pool.
type PoolUse struct {
	InUse, Idle, Max int32
	Waits            int64         // acquisitions that had to wait
	Waited           time.Duration // total
}

// PoolUse returns the current usage of the pool.
func (s *Store) PoolUse() PoolUse {
	now := s.pool.Stat()
	return PoolUse{
		InUse: now.AcquiredConns(), Idle: now.IdleConns(), Max: now.MaxConns(),
		Waits: now.EmptyAcquireCount(), Waited: now.EmptyAcquireWaitTime(),
	}
}
