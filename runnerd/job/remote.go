package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// Remote makes the calls of one attempt, with the attempt token. Calls that get no usable answer are made again until ctx ends.
// It is for any number of goroutines.
type Remote struct {
	job     string
	attempt int
	base    *url.URL
	quick   *api.ClientWithResponses
	heavy   *api.ClientWithResponses
	spool   spool.Attempt
	timing  timing.Timing

	mutex  sync.Mutex
	number int  // of the last spooled state
	log    *Log // may be nil
}

// WarnIn makes the job's log tell what a person has to decide.
func (r *Remote) WarnIn(log *Log) { r.log = log }

// attemptPath is the path of NUON_JOB_URL.
var attemptPath = regexp.MustCompile(`^/runner/v1/jobs/([^/]+)/attempts/([0-9]+)$`)

// NewRemote prepares the calls of the attempt at jobURL, which is <runner API>/runner/v1/jobs/{job}/attempts/{n}. States are
// spooled below dir, the attempt's spool directory.
func NewRemote(jobURL string, token seal.Secret, dir string, at timing.Timing) (*Remote, error) {
	parsed, err := url.Parse(jobURL)
	if err != nil {
		return nil, fmt.Errorf("the URL of the attempt is not one: %w", err)
	}
	match := attemptPath.FindStringSubmatch(parsed.Path)
	if match == nil {
		return nil, fmt.Errorf("%q is not the URL of an attempt; it ends with /runner/v1/jobs/<job>/attempts/<number>", jobURL)
	}
	number, err := strconv.Atoi(match[2])
	if err == nil {
		err = spool.CheckID(match[1], number)
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not the URL of an attempt: %w", jobURL, err)
	}
	base := &url.URL{Scheme: parsed.Scheme, Host: parsed.Host}
	remote := &Remote{job: match[1], attempt: number, base: base, spool: spool.Attempt{Dir: dir}, timing: at}
	if remote.quick, err = contact.NewClient(base.String(), contact.Always(token), at.Call); err != nil {
		return nil, err
	}
	remote.heavy, err = contact.NewClient(base.String(), contact.Always(token), at.Transfer)
	return remote, err
}

// LockedError says that another attempt holds the state lock.
type LockedError struct {
	// Holder is its lock, with what Terraform said about it.
	Holder api.StateLock
}

// Error names the holder.
func (e *LockedError) Error() string {
	return fmt.Sprintf("the state is locked by %s (lock %s); wait until that ends, or cancel it", e.Holder.Holder, e.Holder.ID)
}

// GetState gives the newest sealed state of the job's install component, false when there is none yet.
func (r *Remote) GetState(ctx context.Context) (state api.State, found bool, err error) {
	return r.getState(ctx, &api.GetStateParams{})
}

// GetStateVersion gives the sealed version that the spec says to restore, false when there is no such.
func (r *Remote) GetStateVersion(ctx context.Context, version int) (state api.State, found bool, err error) {
	return r.getState(ctx, &api.GetStateParams{Version: version})
}

// codeNoState is how the runner API says that there is no state. Any other 404 says nothing of it, and a plan that took it for that
// would make anew what is there.
const codeNoState = "no_state"

func (r *Remote) getState(ctx context.Context, which *api.GetStateParams) (state api.State, found bool, err error) {
	err = r.persist(ctx, func(ctx context.Context) error {
		answer, err := r.heavy.GetStateWithResponse(ctx, r.job, r.attempt, which)
		if err != nil {
			return err
		}
		err = contact.Check("read the state", answer.HTTPResponse, answer.Body)
		if refusal := contact.AsRefusal(err); refusal != nil && refusal.Code == codeNoState {
			found = false
			return nil
		}
		if err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return contact.Permanent(errors.New("read the state: the answer holds no state"))
		}
		state, found = *answer.JSON200, true
		return nil
	})
	return state, found, err
}

// LockState takes the state lock for this attempt. The error is a *LockedError when another attempt has it.
func (r *Remote) LockState(ctx context.Context, lock api.StateLock) error {
	return r.persist(ctx, func(ctx context.Context) error {
		answer, err := r.quick.LockStateWithResponse(ctx, r.job, r.attempt, lock)
		if err != nil {
			return err
		}
		if answer.StatusCode() == http.StatusLocked {
			var locked LockedError
			if err := json.Unmarshal(answer.Body, &locked.Holder); err != nil {
				return contact.Permanent(fmt.Errorf("lock the state: the answer names no holder: %w", err))
			}
			return contact.Permanent(&locked)
		}
		return contact.Check("lock the state", answer.HTTPResponse, answer.Body)
	})
}

// SpoolState keeps a sealed state version in the spool; it is on disk when this returns. runnerd delivers the versions in the
// order of these calls, also when the job process is gone.
func (r *Remote) SpoolState(state api.State) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := r.spool.AddState(state, r.number+1); err != nil {
		return err
	}
	r.number++
	return nil
}

// DeliverState sends a sealed state version to the control plane at once, after those in the spool. It is for a disk that takes
// no more, and gives up after timing.UnlockTry; the ctx of the job may have ended.
func (r *Remote) DeliverState(ctx context.Context, state api.State) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), r.timing.UnlockTry)
	defer stop()
	if err := r.deliverStates(short); err != nil {
		return err
	}
	return r.putState(short, state)
}

// UnlockState frees the state lock. The spooled states are delivered before that, so whoever takes the lock next reads them. When
// the control plane cannot be reached in timing.UnlockTry, or refuses, runnerd is asked to do both later, and this gives nil: a
// job that has done its work is not kept waiting. The ctx may have ended. An error is one of the disk.
func (r *Remote) UnlockState(ctx context.Context) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), r.timing.UnlockTry)
	defer stop()
	err := r.deliverStates(short)
	if err == nil {
		err = r.persist(short, func(ctx context.Context) error {
			answer, err := r.quick.UnlockStateWithResponse(ctx, r.job, r.attempt)
			if err != nil {
				return err
			}
			return contact.Check("unlock the state", answer.HTTPResponse, answer.Body)
		})
	}
	if err != nil {
		return r.spool.AskUnlock()
	}
	return nil
}

// deliverStates sends what is in the spool; runnerd may do so at the same time, and a version that the server has already changes
// nothing.
func (r *Remote) deliverStates(ctx context.Context) error {
	return r.spool.EachState(func(_ string, state api.State) error { return r.putState(ctx, state) })
}

func (r *Remote) putState(ctx context.Context, state api.State) error {
	return r.persist(ctx, func(ctx context.Context) error {
		answer, err := r.heavy.PutStateWithResponse(ctx, r.job, r.attempt, state)
		if err != nil {
			return err
		}
		if answer.StatusCode() == http.StatusAccepted && r.log != nil {
			r.log.Warn("%s", Contested(state))
		}
		return contact.Check("deliver a state", answer.HTTPResponse, answer.Body)
	})
}

// Contested says of a state version that the control plane has kept, but not as the newest, what that means.
func Contested(state api.State) string {
	return fmt.Sprintf("the state that this attempt wrote (serial %d) is kept as a contested version: another attempt has taken the place of this one; nothing is planned for this component until a person restores or dismisses it, see `nuon state list`", state.Serial)
}

// spec fetches what to do.
func (r *Remote) spec(ctx context.Context) (spec api.JobSpec, err error) {
	err = r.persist(ctx, func(ctx context.Context) error {
		answer, err := r.quick.GetSpecWithResponse(ctx, r.job, r.attempt)
		if err != nil {
			return err
		}
		if err := contact.Check("read what to do", answer.HTTPResponse, answer.Body); err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return contact.Permanent(errors.New("read what to do: the answer holds no spec"))
		}
		spec = *answer.JSON200
		return nil
	})
	return spec, err
}

func (r *Remote) persist(ctx context.Context, try func(context.Context) error) error {
	return contact.Persist(ctx, contact.Pace{First: r.timing.BackoffFirst, Most: r.timing.BackoffMost}, try)
}
