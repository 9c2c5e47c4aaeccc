package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Job returns one job as the control API shows it. It returns ErrNotFound if the org has no such
// job.
func (s *Service) Job(ctx context.Context, org, jobID string) (api.Job, error) {
	var job api.Job
	err := s.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) (err error) {
		job, err = ReadJob(ctx, tx, jobID)
		return err
	})
	if err != nil {
		return api.Job{}, fmt.Errorf("job %s: %w", jobID, err)
	}
	return job, nil
}

func ReadJob(ctx context.Context, tx *store.Tx, jobID string) (api.Job, error) {
	if strings.ContainsRune(jobID, 0) {
		return api.Job{}, ErrNotFound
	}
	row, err := tx.JobWithRunner(ctx, tx.Org, jobID)
	if err != nil {
		return api.Job{}, orNotFound(err)
	}
	return View(row.Job, row.Runner, row.At), nil
}

// View returns the API representation of a job at the time now.
func View(job store.Job, runner store.Runner, now time.Time) api.Job {
	view := api.Job{
		ID: job.ID, Kind: job.Kind, Status: api.JobStatus(job.Status), Attempt: int(job.Attempt), Runner: runner.Name,
		Reason: job.Reason, Waits: Waits(job, runner, now), Error: job.Error, CreatedAt: job.CreatedAt,
	}
	if job.EndedAt != nil {
		view.EndedAt = *job.EndedAt
	}
	return view
}

// Waits returns why a job has not started or why its runner is silent, as text for people. It is
// empty if nothing is unusual.
func Waits(job store.Job, runner store.Runner, now time.Time) string {
	switch JobStatus(job.Status) {
	case JobRunning:
		return job.Waits
	case JobOffered:
		return "offered to runner " + runner.Name + ", which has not accepted it yet"
	case JobQueued:
		return waitsInQueue(job, runner, now)
	}
	return ""
}

func waitsInQueue(job store.Job, runner store.Runner, now time.Time) string {
	forbidden := runners.ForbidReason(runner, job, now)
	switch {
	case runner.KeyHash == nil && runner.RegisteredAt != nil:
		return fmt.Sprintf("runner %[1]s was replaced, and the new machine has not registered yet; start it with its "+
			"registration token, or make another with `nuon runners register %[1]s`", runner.Name)
	case runner.KeyHash == nil:
		return fmt.Sprintf("runner %[1]s has not registered yet; start it with its registration token, or make another "+
			"with `nuon runners register %[1]s`", runner.Name)
	case !runners.IsOnline(runner, now):
		return fmt.Sprintf("runner %[1]s was last seen at %[2]s; start it again, or if its machine is permanently gone, "+
			"`nuon runners replace %[1]s`", runner.Name, lastSeen(runner))
	case forbidden != "":
		return forbidden
	case job.Waits != "":
		return job.Waits
	case job.BreakGlass != "":
		return fmt.Sprintf("runner %s accepts it as soon as it has capacity, while the break-glass role %s is requested "+
			"(nuon break-glass list)", runner.Name, job.BreakGlass)
	}
	return "runner " + runner.Name + " accepts it as soon as it has capacity"
}

func lastSeen(runner store.Runner) string {
	if runner.LastSeen == nil {
		return "no time"
	}
	return runner.LastSeen.UTC().Format(time.DateTime + " MST")
}

// RunnerAttempts returns the attempts that a runner was offered or is at work on, as far as is known.
func RunnerAttempts(ctx context.Context, tx *store.Tx, runner string) ([]api.RunnerAttempt, error) {
	rows, err := tx.AttemptsInHand(ctx, tx.Org, runner)
	if err != nil {
		return nil, fmt.Errorf("jobs of runner %s: %w", runner, err)
	}
	attempts := make([]api.RunnerAttempt, 0, len(rows))
	for _, row := range rows {
		attempts = append(attempts, api.RunnerAttempt{
			Job: row.Job.ID, Attempt: int(row.Attempt.Number), Kind: row.Job.Kind,
			Status: row.Attempt.Status, Install: row.Install,
			OfferedAt: row.Attempt.OfferedAt, LeaseUntil: row.Attempt.LeaseUntil,
		})
	}
	return attempts, nil
}
