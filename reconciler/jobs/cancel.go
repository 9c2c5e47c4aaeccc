package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Cancel requests the end of a job. A job that no runner has accepted is cancelled with this
// transaction and can never be accepted; its owner's JobEnded follows shortly, in another
// transaction. The runner of a running job receives the cancel with its next heartbeat, and the job
// ends with its result. Cancel changes nothing about a job that has ended. Errors: ErrNotFound.
func Cancel(ctx context.Context, tx *store.Tx, jobID, reason string) error {
	job, err := tx.LockJob(ctx, tx.Org, jobID)
	if err != nil {
		return fmt.Errorf("cancel job %s: %w", jobID, orNotFound(err))
	}
	switch status := JobStatus(job.Status); {
	case status.Ended() || job.Cancel:
		return nil
	case status == JobRunning:
		err = askCancel(ctx, tx, job, reason)
	default:
		err = cancelUnaccepted(ctx, tx, job, reason)
	}
	if err != nil {
		return fmt.Errorf("cancel job %s: %w", jobID, err)
	}
	return nil
}

func askCancel(ctx context.Context, tx *store.Tx, job store.Job, reason string) error {
	waits := "cancellation was requested (" + reason + "); the runner receives it with its next heartbeat"
	if job.Waits != "" {
		waits = job.Waits + "; " + waits
	}
	if err := tx.AskJobCancel(ctx, waits, tx.Org, job.ID); err != nil {
		return err
	}
	return runners.Wake(ctx, tx, job.RunnerID)
}

// cancelUnaccepted ends a job that never started. It cannot call the job's owner, which is the
// caller, so it enqueues that call as work. A cancelled row without a result means that the owner
// was not called yet.
func cancelUnaccepted(ctx context.Context, tx *store.Tx, job store.Job, reason string) error {
	if JobStatus(job.Status) == JobOffered {
		attempt, err := tx.AttemptOfJob(ctx, tx.Org, job.ID, job.Attempt)
		if err != nil {
			return err
		}
		if err := endAttempt(ctx, tx, attempt, AttemptWithdrawn); err != nil {
			return err
		}
	}
	if _, err := moveJob(ctx, tx, job, jobMove{
		to: JobCancelled, error: "cancelled before it started: " + reason,
	}); err != nil {
		return err
	}
	if err := tx.Notify(ctx, store.ChannelLogs, tx.Org+"/"+job.ID); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Expire{Org: tx.Org, ID: job.ID + "/" + strconv.Itoa(int(job.Attempt))})
}

// notifyCancelled notifies the owner of a job that was cancelled before it started, once.
func (s *Service) notifyCancelled(ctx context.Context, tx *store.Tx, job store.Job) error {
	if JobStatus(job.Status) != JobCancelled || len(job.Result) > 0 {
		return nil
	}
	result := api.JobResult{Status: api.JobResultStatusCancelled, Error: job.Error}
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	told, err := tx.TellJobEnd(ctx, raw, tx.Org, job.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.notifyOwner(ctx, tx, told, result)
}
