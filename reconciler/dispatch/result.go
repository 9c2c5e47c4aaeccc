package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
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
	deliverNow                        // the job ends
)

// deliveryOf decides the effect of a result. An attempt that lost contact but was not superseded
// delivers like any other.
func deliveryOf(h held, result api.JobResultStatus) delivery {
	lost := result == api.JobResultStatusLost
	switch status := AttemptStatus(h.attempt.Status); {
	case status == AttemptOffered && lost:
		return deliverUntaken
	case status == AttemptOffered, status == AttemptWithdrawn && !lost:
		return deliverRefused
	case status.Ended():
		return deliverAgain
	case !h.atWork():
		return deliverSuperseded
	case interrupted(h, result):
		return deliverBroken
	}
	return deliverNow
}

// interrupted reports whether an attempt of a repeatable job was broken off without a request to
// cancel, as when its runner's machine is shut down.
func interrupted(h held, result api.JobResultStatus) bool {
	broken := result == api.JobResultStatusCancelled || result == api.JobResultStatusLost
	return broken && !h.job.Cancel && repeatable(h.job.Kind)
}

// endOf maps a result's status to the final statuses of its job and attempt.
var endOf = map[api.JobResultStatus]struct {
	job     JobStatus
	attempt AttemptStatus
}{
	api.JobResultStatusSucceeded: {JobSucceeded, AttemptSucceeded},
	api.JobResultStatusFailed:    {JobFailed, AttemptFailed},
	api.JobResultStatusStale:     {JobFailed, AttemptFailed},
	api.JobResultStatusCancelled: {JobCancelled, AttemptCancelled},
	api.JobResultStatusLost:      {JobLost, AttemptLost},
}

// Result records how an attempt ended: once, however often the runner delivers it, and also long
// after contact was lost. It releases the attempt's state locks and notifies the job's owner.
// Errors: ErrNotFound, ErrNotRunning, ErrInvalid.
func (d *Dispatch) Result(ctx context.Context, caller Caller, ref api.AttemptRef, result api.JobResult) error {
	result, err := storable(result)
	if err != nil {
		return err
	}
	var over held // the attempt that this result ended, and how
	var outcome JobStatus
	err = d.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		over = held{}
		h, err := hold(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		how := deliveryOf(h, result.Status)
		switch how {
		case deliverRefused:
			return fmt.Errorf("%w: it was never accepted", ErrNotRunning)
		case deliverUntaken:
			return withdraw(ctx, tx, h, "the runner could not take it in time; it is offered again")
		case deliverAgain:
			return nil
		}
		if err := validResult(h.job, result); err != nil {
			return err
		}
		ends := endOf[result.Status]
		if err := leave(ctx, tx, h.attempt, ends.attempt); err != nil || how == deliverSuperseded {
			return err
		}
		if how == deliverBroken {
			again, err := again(ctx, tx, h, result)
			if err != nil || again {
				return err
			}
			over, outcome = h, JobLost
			return d.end(ctx, tx, h.job, JobLost, givenUp(result))
		}
		over, outcome = h, ends.job
		return d.end(ctx, tx, h.job, ends.job, result)
	})
	if err != nil {
		return fmt.Errorf("result of attempt %d of job %s: %w", ref.Attempt, ref.Job, err)
	}
	d.meter.ended(over, outcome)
	return nil
}

// again requeues a job whose attempt was broken off, unless that has happened too often. It reports
// whether it did.
func again(ctx context.Context, tx *store.Tx, h held, result api.JobResult) (bool, error) {
	losses, err := tx.CountBrokenAttempts(ctx, tx.Org, h.job.ID)
	if err != nil || losses >= mostLosses {
		return false, err
	}
	waits := "its runner broke it off"
	if result.Error != "" {
		waits += " (" + printable(result.Error, mostBroken) + ")"
	}
	return true, requeue(ctx, tx, h, waits+"; another attempt is made as soon as the runner is back")
}

// mostBroken bounds the displayed reason why an attempt was broken off, in runes.
const mostBroken = 300

// givenUp returns the result of a job all of whose attempts were broken off.
func givenUp(last api.JobResult) api.JobResult {
	return api.JobResult{
		Status: api.JobResultStatusLost,
		Error: fmt.Sprintf("its runner broke it off %d times, the last time with: %s; look at the runner's own log, then ask for it again",
			mostLosses, printable(last.Error, mostBroken)),
	}
}

// validResult refuses a result that does not fit its job: an unknown status, a section of another
// kind of job, or a success without its output.
func validResult(job store.Job, result api.JobResult) error {
	kind := job.Kind
	if _, known := endOf[result.Status]; !known {
		return invalid("a result's status is succeeded, failed, cancelled, stale or lost, not %q",
			shown(string(result.Status)))
	}
	for section, value := range map[string]any{
		"build": result.Build, "plan": result.Plan, "apply": result.Apply, "action": result.Action,
		"health": result.Health,
	} {
		if section != kind && !reflect.ValueOf(value).IsZero() {
			return invalid("the result of a job of kind %s has no section %s", kind, section)
		}
	}
	if result.Status != api.JobResultStatusSucceeded {
		return nil
	}
	switch {
	case kind == "build" && result.Build.Artifact.Digest == "":
		return invalid("a build that succeeded names the artifact's digest")
	case kind == "plan" && (len(result.Plan.Report) == 0 || result.Plan.ReportDigest == ""):
		return invalid("a plan that succeeded has a report and its digest")
	case kind == "plan" && result.Plan.Applyable && result.Plan.Bundle.Digest == "":
		return invalid("a plan that can be applied names its bundle's digest")
	}
	return nil
}

// mostError bounds a result's error text, in bytes.
const mostError = 16 << 10

// storable makes a result acceptable to Postgres, which stores no NUL and no half of a surrogate
// pair in JSON. Both become U+FFFD, because a result that could not be stored would leave its job
// without an end.
func storable(result api.JobResult) (api.JobResult, error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return result, invalid("the result is not JSON: %v", err)
	}
	if raw, err = storableJSON(raw); err != nil {
		return result, err
	}
	var clean api.JobResult
	if err := json.Unmarshal(raw, &clean); err != nil {
		return result, invalid("the result is not JSON: %v", err)
	}
	if len(clean.Error) > mostError {
		clean.Error = strings.ToValidUTF8(clean.Error[:mostError], "") + "…"
	}
	return clean, nil
}

// storableJSON returns equivalent JSON that Postgres can store. Errors: ErrInvalid.
func storableJSON(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // no digit of a number may be lost
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, invalid("that is not JSON: %v", err)
	}
	value, err := storableValue(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func storableValue(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return withoutNUL(v), nil
	case json.Number:
		// The database would expand a larger number digit by digit.
		if _, err := strconv.ParseFloat(v.String(), 64); errors.Is(err, strconv.ErrRange) {
			return nil, invalid("the number %s is too large", shown(v.String()))
		}
	case []any:
		for i := range v {
			if v[i], err = storableValue(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, inner := range v {
			if clean[withoutNUL(key)], err = storableValue(inner); err != nil {
				return nil, err
			}
		}
		return clean, nil
	}
	return value, nil
}

// withoutNUL replaces NUL, which Postgres cannot store in a text.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }
