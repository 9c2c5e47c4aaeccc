package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// delivery is the decision on a delivered result.
type delivery int

const (
	deliverRefused    delivery = iota // the attempt was never accepted, so it can have no result
	deliverUntaken                    // never accepted, and its runner runs nothing of it: it is offered again
	deliverAgain                      // the attempt has ended: the result was recorded before or has no effect
	deliverSuperseded                 // another attempt has the job now: only this attempt ends
	deliverBroken                     // it ended without a request, and the job is repeatable: another attempt is made
	deliverReturned                   // nothing of it ran, because its role is unusable now: another attempt is made
	deliverNow                        // the job ends
)

// decideDelivery decides the effect of a result. An attempt that lost contact but was not superseded
// delivers like any other.
func decideDelivery(h Attempt, result api.JobResultStatus) delivery {
	lost := result == api.JobResultStatusLost
	switch status := AttemptStatus(h.Row.Status); {
	case status == AttemptOffered && lost:
		return deliverUntaken
	case status == AttemptOffered, status == AttemptWithdrawn && !lost:
		return deliverRefused
	case status.Ended():
		return deliverAgain
	case !h.AtWork():
		return deliverSuperseded
	case interrupted(h, result):
		return deliverBroken
	case result == api.JobResultStatusNotStarted && !h.Job.Cancel:
		return deliverReturned
	}
	return deliverNow
}

// interrupted reports whether an attempt of a repeatable job was broken off without a request to
// cancel, as when its runner's machine is shut down.
func interrupted(h Attempt, result api.JobResultStatus) bool {
	broken := result == api.JobResultStatusCancelled || result == api.JobResultStatusLost
	return broken && !h.Job.Cancel && repeatable(h.Job.Kind)
}

// finalStatuses maps a result's status to the final statuses of its job and attempt.
var finalStatuses = map[api.JobResultStatus]struct {
	job     JobStatus
	attempt AttemptStatus
}{
	api.JobResultStatusSucceeded: {JobSucceeded, AttemptSucceeded},
	api.JobResultStatusFailed:    {JobFailed, AttemptFailed},
	api.JobResultStatusStale:     {JobFailed, AttemptFailed},
	api.JobResultStatusCancelled: {JobCancelled, AttemptCancelled},
	api.JobResultStatusLost:      {JobLost, AttemptLost},
	// The job is queued again, unless it is being cancelled.
	api.JobResultStatusNotStarted: {JobCancelled, AttemptFailed},
}

// Result records how an attempt ended: once, however often the runner delivers it, and also long
// after contact was lost. It releases the attempt's state locks and notifies the job's owner.
// Errors: ErrNotFound, ErrNotRunning, refusal.ErrInvalid.
func (s *Service) Result(ctx context.Context, caller runners.Caller, ref api.AttemptRef, result api.JobResult) error {
	result, err := cleanResult(result)
	if err != nil {
		return err
	}
	var over Attempt // the attempt that this result ended, and how
	var outcome JobStatus
	err = s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		over = Attempt{}
		h, err := LockAttempt(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		how := decideDelivery(h, result.Status)
		switch how {
		case deliverRefused:
			return ErrNotRunning.With("it was never accepted")
		case deliverUntaken:
			return withdraw(ctx, tx, h, "the runner could not accept it in time; it is offered again")
		case deliverAgain:
			return nil
		}
		if err := validResult(h.Job, result); err != nil {
			return err
		}
		if how == deliverSuperseded {
			// It counts as a loss of its job, also if it succeeded, so that no job is tried again without end.
			return endAttempt(ctx, tx, h.Row, AttemptLost)
		}
		ends := finalStatuses[result.Status]
		if err := endAttempt(ctx, tx, h.Row, ends.attempt); err != nil {
			return err
		}
		if how == deliverReturned {
			return s.returnJob(ctx, tx, h, result)
		}
		if how == deliverBroken {
			again, err := requeueBroken(ctx, tx, h, result)
			if err != nil || again {
				return err
			}
			over, outcome = h, JobLost
			return s.endJob(ctx, tx, h.Job, JobLost, lostResult(result))
		}
		over, outcome = h, ends.job
		return s.endJob(ctx, tx, h.Job, ends.job, result)
	})
	if err != nil {
		return fmt.Errorf("result of attempt %d of job %s: %w", ref.Attempt, ref.Job, err)
	}
	s.meter.ended(over, outcome)
	return nil
}

// returnJob requeues a job of which nothing ran, and notifies its owner. The runner is offered no job under the role
// until it reports that the role works. A job may be returned any number of times, so the attempts that were returned
// before are deleted with their logs.
func (s *Service) returnJob(ctx context.Context, tx *store.Tx, h Attempt, result api.JobResult) error {
	owner, err := s.owner(h.Job)
	if err != nil {
		return err
	}
	returner, may := owner.(Returner)
	if !may || h.Job.Role == "" {
		return refusal.Invalidf("only a job of a step that runs under a role can be returned as not started")
	}
	wrote, err := tx.AttemptWroteState(ctx, tx.Org, h.Job.ID, h.Row.Number)
	if err == nil && wrote {
		err = refusal.Invalidf("an attempt that wrote a Terraform state was started")
	}
	if err != nil {
		return err
	}
	u := result.UnusableRole
	waits := runners.UnusableReason(api.UnusableRole{Role: h.Job.Role, Refused: u.Refused,
		Reason: runners.Printable(u.Reason, maxBrokenReason)})
	if err := returner.JobReturned(ctx, tx, h.Job, waits); err != nil {
		return fmt.Errorf("notify %s %s of the return of job %s: %w", h.Job.OwnerKind, h.Job.OwnerID, h.Job.ID, err)
	}
	if err := dropReturned(ctx, tx, h); err != nil {
		return err
	}
	return requeue(ctx, tx, h, waits)
}

// dropReturned deletes the attempts of a job that were returned before this one, with their logs.
func dropReturned(ctx context.Context, tx *store.Tx, h Attempt) error {
	gone, err := tx.DropReturned(ctx, tx.Org, h.Job.ID, h.Row.Number)
	if err != nil || len(gone) == 0 {
		return err
	}
	// A separate statement, which sees what was stored while the one before waited for a writer of the log.
	return tx.DropLogs(ctx, tx.Org, h.Job.ID, gone)
}

// requeueBroken requeues a job whose attempt was broken off, unless that has happened too often. It reports
// whether it did.
func requeueBroken(ctx context.Context, tx *store.Tx, h Attempt, result api.JobResult) (bool, error) {
	losses, err := tx.CountBrokenAttempts(ctx, tx.Org, h.Job.ID)
	if err != nil || losses >= maxLosses {
		return false, err
	}
	waits := "its runner interrupted it"
	if result.Error != "" {
		waits += " (" + runners.Printable(result.Error, maxBrokenReason) + ")"
	}
	return true, requeue(ctx, tx, h, waits+"; another attempt is made as soon as the runner is online again")
}

// maxBrokenReason bounds the displayed reason why an attempt was broken off, in runes.
const maxBrokenReason = 300

// lostResult returns the result of a job all of whose attempts were broken off.
func lostResult(last api.JobResult) api.JobResult {
	return api.JobResult{
		Status: api.JobResultStatusLost,
		Error: fmt.Sprintf("its runner interrupted it %d times, the last time with: %s; see the runner's log, then "+
			"request it again",
			maxLosses, runners.Printable(last.Error, maxBrokenReason)),
	}
}

// validResult refuses a result that does not fit its job: an unknown status, a section of another
// kind of job, or a success without its output.
func validResult(job store.Job, result api.JobResult) error {
	kind := job.Kind
	if _, known := finalStatuses[result.Status]; !known {
		return refusal.Invalidf("a result's status is succeeded, failed, cancelled, stale, lost or not_started, not %q",
			runners.PrintableShort(string(result.Status)))
	}
	for section, value := range map[string]any{
		"build": result.Build, "plan": result.Plan, "apply": result.Apply, "action": result.Action,
		"health": result.Health, "secrets": result.Secrets, "logs": result.Logs, "debug_command": result.Debug,
		"shell": result.Shell,
	} {
		if section != kind && !reflect.ValueOf(value).IsZero() {
			return refusal.Invalidf("the result of a job of kind %s has no section %s", kind, section)
		}
	}
	if result.Status != api.JobResultStatusSucceeded {
		return nil
	}
	switch {
	case kind == "build" && job.OwnerKind != "refresh" && result.Build.Artifact.Digest == "":
		return refusal.Invalidf("a build that succeeded must have the artifact's digest")
	case kind == "plan" && (len(result.Plan.Report) == 0 || result.Plan.ReportDigest == ""):
		return refusal.Invalidf("a plan that succeeded must have a report and its digest")
	case kind == "plan" && result.Plan.Applyable && result.Plan.Bundle.Digest == "":
		return refusal.Invalidf("a plan that can be applied must have its bundle's digest")
	}
	return nil
}

// maxError bounds a result's error text, in bytes.
const maxError = 16 << 10

// cleanResult makes a result acceptable to Postgres, which stores no NUL and no half of a surrogate
// pair in JSON. Both become U+FFFD, because a result that could not be stored would leave its job
// without an end.
func cleanResult(result api.JobResult) (api.JobResult, error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return result, refusal.Invalidf("the result is not JSON: %v", err)
	}
	if raw, err = store.CleanJSON(raw); err != nil {
		return result, refusal.Invalidf("%v", err)
	}
	var clean api.JobResult
	if err := json.Unmarshal(raw, &clean); err != nil {
		return result, refusal.Invalidf("the result is not JSON: %v", err)
	}
	clean.Error = truncate.Text(clean.Error, maxError)
	return clean, nil
}
