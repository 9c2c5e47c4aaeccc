package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// endJob records the end of a job, wakes the followers of its log, and notifies its owner, all in one
// transaction. The fence of moveJob ensures that this happens once per job.
func (s *Service) endJob(ctx context.Context, tx *store.Tx, job store.Job, to JobStatus, result api.JobResult) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("record the end of job %s: %w", job.ID, err)
	}
	job, err = moveJob(ctx, tx, job, jobMove{to: to, error: result.Error, result: raw})
	if err != nil {
		return err
	}
	return s.notifyOwner(ctx, tx, job, result)
}

// notifyOwner notifies the followers of a job's log and its owner that the job has ended.
func (s *Service) notifyOwner(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error {
	if err := tx.Notify(ctx, store.ChannelLogs, tx.Org+"/"+job.ID); err != nil {
		return err
	}
	owner, err := s.owner(job)
	if err != nil {
		return err
	}
	if err := owner.JobEnded(ctx, tx, job, result); err != nil {
		return fmt.Errorf("notify %s %s of the end of job %s: %w", job.OwnerKind, job.OwnerID, job.ID, err)
	}
	return nil
}

// endAttempt ends an attempt and releases everything that it held.
func endAttempt(ctx context.Context, tx *store.Tx, attempt store.Attempt, to AttemptStatus) error {
	if err := moveAttempt(ctx, tx, attempt, to); err != nil {
		return err
	}
	if err := tx.FreeStateLocks(ctx, tx.Org, attempt.JobID, attempt.Number); err != nil {
		return err
	}
	return tx.ClearDue(ctx, tx.Org, store.DueAttempt, dueID(attempt))
}
