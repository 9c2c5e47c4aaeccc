package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// JobStatus is the status of a job. The column's constraint has the same values.
type JobStatus string

// The statuses of a job.
const (
	JobQueued    JobStatus = "queued"    // waits for its runner
	JobOffered   JobStatus = "offered"   // offered to its runner, which has not accepted yet
	JobRunning   JobStatus = "running"   // an attempt was accepted; it may be out of contact
	JobSucceeded JobStatus = "succeeded" // ended
	JobFailed    JobStatus = "failed"    // ended; also for a stale apply, whose result has that status
	JobCancelled JobStatus = "cancelled" // ended by request
	JobLost      JobStatus = "lost"      // ended: its process is certainly gone and left no result
)

// jobMoves are the legal transitions of a job. A status without transitions is final.
var jobMoves = map[JobStatus][]JobStatus{
	JobQueued:  {JobOffered, JobCancelled},
	JobOffered: {JobRunning, JobQueued, JobFailed, JobCancelled},
	JobRunning: {JobQueued, JobSucceeded, JobFailed, JobCancelled, JobLost},
}

// AttemptStatus is the status of one try of a job. The column's constraint has the same values.
type AttemptStatus string

// The statuses of an attempt.
const (
	AttemptOffered   AttemptStatus = "offered"   // offered to its runner
	AttemptRunning   AttemptStatus = "running"   // accepted, and its lease has not run out
	AttemptExpired   AttemptStatus = "expired"   // its runner is silent; it may still deliver
	AttemptSucceeded AttemptStatus = "succeeded" // ended
	AttemptFailed    AttemptStatus = "failed"    // ended
	AttemptCancelled AttemptStatus = "cancelled" // ended
	AttemptLost      AttemptStatus = "lost"      // ended: its process is certainly gone
	AttemptWithdrawn AttemptStatus = "withdrawn" // ended before it was accepted: nothing of it ever ran
)

// attemptMoves are the legal transitions of an attempt. A status without transitions is final.
var attemptMoves = map[AttemptStatus][]AttemptStatus{
	AttemptOffered: {AttemptRunning, AttemptWithdrawn},
	AttemptRunning: {AttemptExpired, AttemptSucceeded, AttemptFailed, AttemptCancelled, AttemptLost},
	AttemptExpired: {AttemptRunning, AttemptSucceeded, AttemptFailed, AttemptCancelled, AttemptLost},
}

// Transitions is the transition table of a life cycle: each status with those that may follow it.
type Transitions map[string][]string

// AllTransitions returns the tables of jobs and attempts, for the diagrams in docs/states.md.
func AllTransitions() (jobs, attempts Transitions) {
	return transitionsOf(jobMoves), transitionsOf(attemptMoves)
}

func transitionsOf[S ~string](moves map[S][]S) Transitions {
	life := Transitions{}
	for from, all := range moves {
		for _, to := range all {
			life[string(from)] = append(life[string(from)], string(to))
		}
	}
	return life
}

// Ended reports whether the status of a job is final.
func (s JobStatus) Ended() bool { return len(jobMoves[s]) == 0 }

// Ended reports whether the status of an attempt is final.
func (s AttemptStatus) Ended() bool { return len(attemptMoves[s]) == 0 }

// AtWork reports whether the attempt was accepted and its process may be running.
func (s AttemptStatus) AtWork() bool { return s == AttemptRunning || s == AttemptExpired }

// jobMove is one transition of a job and what is written with it.
type jobMove struct {
	to     JobStatus
	waits  string
	error  string
	result json.RawMessage // nil leaves the stored result unchanged
}

// moveJob writes one legal transition of a job, fenced by the status and attempt number that were
// read.
func moveJob(ctx context.Context, tx *store.Tx, job store.Job, move jobMove) (store.Job, error) {
	if !slices.Contains(jobMoves[JobStatus(job.Status)], move.to) {
		return job, fmt.Errorf("job %s cannot change from %s to %s", job.ID, job.Status, move.to)
	}
	moved, err := tx.MoveJob(ctx, store.MoveJobParams{
		OrgID: tx.Org, ID: job.ID, Attempt: job.Attempt, FromStatus: job.Status,
		ToStatus: string(move.to), Waits: move.waits, Error: move.error, Result: move.result, Ended: move.to.Ended(),
	})
	if errors.Is(err, store.ErrNotFound) {
		err = ErrChanged
	}
	if err != nil {
		return job, fmt.Errorf("move job %s from %s to %s: %w", job.ID, job.Status, move.to, err)
	}
	return moved, nil
}

// moveAttempt writes one legal transition of an attempt, fenced by the status that was read.
func moveAttempt(ctx context.Context, tx *store.Tx, attempt store.Attempt, to AttemptStatus) error {
	if !slices.Contains(attemptMoves[AttemptStatus(attempt.Status)], to) {
		return fmt.Errorf("attempt %d of job %s cannot change from %s to %s",
			attempt.Number, attempt.JobID, attempt.Status, to)
	}
	changed, err := tx.MoveAttempt(ctx, store.MoveAttemptParams{
		OrgID: tx.Org, JobID: attempt.JobID, Number: attempt.Number, FromStatus: attempt.Status,
		ToStatus: string(to), Ended: to.Ended(),
	})
	if err == nil && changed != 1 {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("move attempt %d of job %s from %s to %s: %w",
			attempt.Number, attempt.JobID, attempt.Status, to, err)
	}
	return nil
}
