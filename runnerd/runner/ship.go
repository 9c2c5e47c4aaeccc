package runner

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// chunksPerCall is how many chunks of a log one call sends.
const chunksPerCall = 16

// shipper delivers the content of one attempt's spool.
type shipper struct {
	*attempt
	// own are the clients with the attempt's own token, for a control plane that no longer
	// knows the runner's key.
	own    clients
	chunks *spool.Chunks
	// logClosed means that the server accepts no more lines of this log.
	logClosed bool
	// full means that the control plane had no room for a state. The state stays in the spool
	// with everything after it, and is sent again at noRoomUntil.
	full        bool
	noRoomUntil time.Time
}

// shipLoop delivers the states before the lines, because they are worth more, the lines as
// they are written, and the result last, when the job is concluded. It waits until it is time
// to gather lines, or for the conclusion. Then it removes the directory. It returns early when
// ctx ends, and the next runnerd continues.
func (a *attempt) shipLoop(ctx context.Context) {
	s := &shipper{attempt: a}
	defer func() {
		if s.chunks != nil {
			_ = s.chunks.Close()
		}
	}()
	task := status.Register(ctx, "delivery of "+a.name())
	defer task.Unregister()
	gather := time.NewTicker(a.runner.Timing.BatchInterval)
	defer gather.Stop()
	concluded := a.concluded
	for {
		// This is checked first, so that nothing is added to the spool after
		// a final pass has started.
		last := a.isConcluded()
		task.SetWorking("delivering what the job produced")
		done, err := s.ship(ctx, last)
		task.ReportResult(err)
		if ctx.Err() != nil || done {
			return
		}
		if err != nil {
			// ship itself retries the server; this is an error of the disk.
			a.log.Error("cannot deliver what the job produced; retrying", "error", err)
			backoff.Pause(ctx, a.runner.Timing.HeartbeatInterval)
		}
		task.SetWaiting("for the job to produce more, or to end")
		select {
		case <-gather.C:
		case <-concluded:
			concluded = nil
		case <-ctx.Done():
			return
		}
	}
}

// ship delivers the current content once. It returns true when nothing is left of the attempt.
func (s *shipper) ship(ctx context.Context, last bool) (bool, error) {
	if s.isAccepted() {
		if err := s.shipStates(ctx); err != nil {
			return false, err
		}
		if !s.full {
			if err := s.shipUnlock(ctx); err != nil {
				return false, err
			}
		}
		if err := s.shipLines(ctx, last && !s.full); err != nil {
			return false, err
		}
	}
	if !last || s.full {
		return false, nil
	}
	err := s.shipResult(ctx)
	return err == nil, err
}

// call makes a call until it succeeds or is permanently rejected: with the runner's key,
// and if the control plane no longer knows that one, with the attempt's own token, which stays
// valid for the attempt's results. A call whose key was replaced on the way is repeated.
func (s *shipper) call(ctx context.Context, try func(context.Context, clients) error) error {
	if s.own.short == nil && s.isAccepted() {
		token := seal.NewSecret([]byte(s.record.Load().Token))
		own, err := s.runner.connect(apiclient.StaticToken(token))
		if err != nil {
			return apiclient.Permanent(err)
		}
		s.own = own
	}
	pace := s.runner.retryPolicy()
	pace.IsFinal = func(r *apiclient.ResponseError) bool { return !r.IsTemporary() || isNoRoom(r) }
	return apiclient.Retry(ctx, pace, func(ctx context.Context) error {
		key := s.runner.keys.currentKey()
		err := try(ctx, s.runner.clients)
		if apiclient.HasStatus(err, http.StatusUnauthorized) && s.runner.keys.isReplaced(key) {
			err = try(ctx, s.runner.clients)
		}
		if apiclient.HasStatus(err, http.StatusUnauthorized) && s.own.short != nil {
			err = try(ctx, s.own)
		}
		return err
	})
}

// errNoRoom stops the iteration over the states of a spool.
var errNoRoom = errors.New("the control plane has no room for a state")

// isNoRoom reports whether the runner API has no room for a state now.
func isNoRoom(err error) bool {
	refusal := apiclient.AsResponseError(err)
	return refusal != nil && refusal.Status == http.StatusInsufficientStorage && !refusal.NotFromAPI
}

// waitForRoom leaves the states in the spool until the next try. It logs that once.
func (s *shipper) waitForRoom(state api.State, err error) error {
	if !s.full {
		s.log.Error("the control plane has no room for a state version; storing it here and retrying",
			"serial", state.Serial, "error", err)
		if err := s.dir.AppendLines(api.Warn, "the control plane has no room for the state that this job wrote; the runner "+
			"keeps it and sends it again, and the job ends when it has arrived: "+err.Error()); err != nil {
			return err
		}
	}
	wait := s.runner.Timing.BackoffMax
	if refusal := apiclient.AsResponseError(err); refusal != nil {
		wait = max(wait, refusal.RetryAfter)
	}
	s.full, s.noRoomUntil = true, time.Now().Add(wait)
	return errNoRoom
}

func (s *shipper) shipStates(ctx context.Context) error {
	if s.full && time.Now().Before(s.noRoomUntil) {
		return nil
	}
	err := s.shipEachState(ctx)
	if errors.Is(err, errNoRoom) {
		return nil
	}
	s.full = s.full && err != nil
	return err
}

// shipEachState delivers the states in order, and stops at one for which there is no room.
func (s *shipper) shipEachState(ctx context.Context) error {
	return s.dir.EachState(func(file string, state api.State) error {
		contested := false
		err := s.call(ctx, func(ctx context.Context, on clients) error {
			answer, err := on.bulk.PutStateWithResponse(ctx, s.ref.Job, s.ref.Attempt, state)
			if err != nil {
				return err
			}
			contested = answer.StatusCode() == http.StatusAccepted
			return apiclient.CheckResponse("deliver a state of "+s.name(), answer.HTTPResponse, answer.Body)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && contested:
			s.log.Warn("a state version is contested", "serial", state.Serial)
			if err := s.dir.AppendLines(api.Warn, job.ContestedWarning(state)); err != nil {
				return err
			}
			return spool.RemoveState(file)
		case err == nil:
			if err := s.dir.CacheState(state); err != nil {
				return err
			}
			return spool.RemoveState(file)
		case isNoRoom(err):
			return s.waitForRoom(state, err)
		}
		// A control plane that was restored from an older backup does not know this attempt,
		// whose state is the newest.
		if apiclient.HasStatus(err, http.StatusNotFound) {
			if err := s.dir.CacheState(state); err != nil {
				return err
			}
		}
		s.log.Error("the control plane rejected a state version; storing it", "serial", state.Serial, "error", err)
		return spool.RejectState(file)
	})
}

// shipUnlock frees the state lock if the job process could not. It comes after the states,
// so that the next holder reads them.
func (s *shipper) shipUnlock(ctx context.Context) error {
	if !s.dir.UnlockRequested() {
		return nil
	}
	err := s.call(ctx, func(ctx context.Context, on clients) error {
		answer, err := on.short.UnlockStateWithResponse(ctx, s.ref.Job, s.ref.Attempt)
		if err != nil {
			return err
		}
		return apiclient.CheckResponse("unlock the state of "+s.name(), answer.HTTPResponse, answer.Body)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.log.Warn("the control plane does not free the state lock now; it does when it gets the result", "error", err)
	}
	return s.dir.ClearUnlockRequest()
}

func (s *shipper) shipLines(ctx context.Context, last bool) (err error) {
	if s.chunks == nil {
		if s.chunks, err = s.dir.Chunks(); err != nil {
			return err
		}
	}
	for !s.logClosed {
		chunks, err := s.chunks.Next(chunksPerCall, last)
		if err != nil || len(chunks) == 0 {
			return err
		}
		err = s.call(ctx, func(ctx context.Context, on clients) error {
			answer, err := on.short.AppendLogsWithResponse(ctx, s.ref.Job, s.ref.Attempt, api.LogBatch{Chunks: chunks})
			if err != nil {
				return err
			}
			return apiclient.CheckResponse("deliver the log of "+s.name(), answer.HTTPResponse, answer.Body)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.log.Error("the control plane accepts no more log lines of this job", "error", err)
			s.logClosed = true
		default:
			if err := s.chunks.MarkSent(len(chunks)); err != nil {
				return err
			}
		}
	}
	return nil
}

// shipResult delivers the result and removes the attempt from the spool.
func (s *shipper) shipResult(ctx context.Context) error {
	final, found, err := s.dir.Final()
	if err == nil && !found {
		err = errors.New("the result to deliver is missing from the spool")
	}
	if err != nil {
		return err
	}
	refused, err := s.dir.RejectedStates()
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		final = withRejectedStates(final, refused)
	}
	err = s.postResult(ctx, final)
	unusable := isUnusable(err)
	if unusable {
		// Every job ends: a result that the control plane rejects is stored here,
		// and the job ends as failed.
		s.log.Error("the control plane rejected the result; delivering a failure in its place", "error", err)
		err = s.postResult(ctx, api.JobResult{Status: api.JobResultStatusFailed, Error: "the job ended as " +
			string(final.Status) + ", but the control plane rejected its result, which the runner stores in its " +
			"directory undelivered/: " + err.Error()})
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && len(refused) == 0 && !unusable:
		s.log.Info("delivered the result", "status", final.Status)
		return s.dir.Remove()
	case err != nil && !s.isAccepted():
		s.log.Info("the job does not belong to this runner", "error", err)
		return s.dir.Remove()
	}
	aside, moveErr := s.runner.spool.MoveToUndelivered(s.dir)
	if moveErr != nil {
		return moveErr
	}
	s.log.Error("the control plane rejected what this job produced; it is stored here until you remove it",
		"at", aside, "error", err)
	return nil
}

func (s *shipper) postResult(ctx context.Context, result api.JobResult) error {
	return s.call(ctx, func(ctx context.Context, on clients) error {
		answer, err := on.bulk.PostResultWithResponse(ctx, s.ref.Job, s.ref.Attempt, result)
		if err != nil {
			return err
		}
		return apiclient.CheckResponse("deliver the result of "+s.name(), answer.HTTPResponse, answer.Body)
	})
}

// isUnusable reports whether the content was rejected for its form or size,
// and not for its attempt.
func isUnusable(err error) bool {
	return apiclient.HasStatus(err, http.StatusBadRequest) ||
		apiclient.HasStatus(err, http.StatusRequestEntityTooLarge) ||
		apiclient.HasStatus(err, http.StatusUnprocessableEntity)
}

// withRejectedStates adds to the result that states did not arrive: the job did its work,
// but nothing may build on it.
func withRejectedStates(final api.JobResult, refused []string) api.JobResult {
	names := ""
	for _, file := range refused {
		names += " " + filepath.Base(file)
	}
	note := "the control plane rejected a Terraform state that this job wrote; the runner stores it, sealed, in its " +
		"directory undelivered/ (" + names[1:] + "): read the runner's log for the reason before anything else is applied"
	if final.Error != "" {
		note = final.Error + "; " + note
	}
	final.Status, final.Error = api.JobResultStatusFailed, note
	return final
}
