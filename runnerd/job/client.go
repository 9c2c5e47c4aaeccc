package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// AttemptClient makes the API calls of one attempt with the attempt token. Calls without a usable
// response are retried until ctx ends. It is safe for concurrent use.
type AttemptClient struct {
	job     string
	attempt int
	base    *url.URL
	short   *api.ClientWithResponses
	bulk    *api.ClientWithResponses
	spool   spool.Attempt
	timing  timing.Timing

	mutex  sync.Mutex
	number int  // number of the last spooled state
	log    *Log // may be nil
}

// SetLog sets the job's log as the target of warnings that need a person's decision.
func (c *AttemptClient) SetLog(log *Log) { c.log = log }

// attemptPath matches the path of NUON_JOB_URL.
var attemptPath = lazyregexp.New(`^/runner/v1/jobs/([^/]+)/attempts/([0-9]+)$`)

// NewAttemptClient returns the client of the attempt at jobURL, which is <runner
// API>/runner/v1/jobs/{job}/attempts/{n}. It spools states below dir, the
// attempt's spool directory.
func NewAttemptClient(jobURL string, token seal.Secret, dir string, at timing.Timing) (*AttemptClient, error) {
	parsed, err := url.Parse(jobURL)
	if err != nil {
		return nil, fmt.Errorf("the URL of the attempt is not one: %w", err)
	}
	match := attemptPath.FindStringSubmatch(parsed.Path)
	if match == nil {
		return nil, fmt.Errorf("%q is not the URL of an attempt; it ends with /runner/v1/jobs/<job>/attempts/<number>",
			jobURL)
	}
	number, err := strconv.Atoi(match[2])
	if err == nil {
		err = spool.CheckID(match[1], number)
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not the URL of an attempt: %w", jobURL, err)
	}
	base := &url.URL{Scheme: parsed.Scheme, Host: parsed.Host}
	remote := &AttemptClient{job: match[1], attempt: number, base: base, spool: spool.Attempt{Dir: dir}, timing: at}
	if remote.short, err = apiclient.NewClient(base.String(), apiclient.StaticToken(token), at.CallTimeout); err != nil {
		return nil, err
	}
	remote.bulk, err = apiclient.NewClient(base.String(), apiclient.StaticToken(token), at.TransferTimeout)
	return remote, err
}

// LockedError means that another attempt holds the state lock.
type LockedError struct {
	// Holder is that attempt's lock, with Terraform's description of it.
	Holder api.StateLock
}

// Error names the holder.
func (e *LockedError) Error() string {
	return fmt.Sprintf("the state is locked by %s (lock %s); wait until that ends, or cancel it",
		e.Holder.Holder, e.Holder.ID)
}

// GetState returns the newest sealed state of the job's install component,
// and false when there is none.
func (c *AttemptClient) GetState(ctx context.Context) (state api.State, found bool, err error) {
	return c.getState(ctx, &api.GetStateParams{})
}

// GetStateVersion returns the sealed version that the spec restores, and false
// when it does not exist.
func (c *AttemptClient) GetStateVersion(ctx context.Context, version int) (state api.State, found bool, err error) {
	return c.getState(ctx, &api.GetStateParams{Version: version})
}

// codeNoState is the runner API's error code for a missing state. No other 404 means that:
// a plan that mistook it for a missing state would create everything again.
const codeNoState = "no_state"

func (c *AttemptClient) getState(ctx context.Context, which *api.GetStateParams) (state api.State, found bool,
	err error) {
	err = c.retry(ctx, func(ctx context.Context) error {
		answer, err := c.bulk.GetStateWithResponse(ctx, c.job, c.attempt, which)
		if err != nil {
			return err
		}
		err = apiclient.CheckResponse("read the state", answer.HTTPResponse, answer.Body)
		if refusal := apiclient.AsResponseError(err); refusal != nil && refusal.Code == codeNoState {
			found = false
			return nil
		}
		if err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return apiclient.Permanent(errors.New("read the state: the response contains no state"))
		}
		state, found = *answer.JSON200, true
		return nil
	})
	return state, found, err
}

// LockState takes the state lock for this attempt. The error is a *LockedError when
// another attempt holds it.
func (c *AttemptClient) LockState(ctx context.Context, lock api.StateLock) error {
	return c.retry(ctx, func(ctx context.Context) error {
		answer, err := c.short.LockStateWithResponse(ctx, c.job, c.attempt, lock)
		if err != nil {
			return err
		}
		if answer.StatusCode() == http.StatusLocked {
			var locked LockedError
			if err := json.Unmarshal(answer.Body, &locked.Holder); err != nil {
				return apiclient.Permanent(fmt.Errorf("lock the state: the response names no holder: %w", err))
			}
			return apiclient.Permanent(&locked)
		}
		return apiclient.CheckResponse("lock the state", answer.HTTPResponse, answer.Body)
	})
}

// SpoolState stores a sealed state version in the spool, on disk when it returns. runnerd
// delivers the versions in the order of these calls, even after the job process has ended.
func (c *AttemptClient) SpoolState(state api.State) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.spool.AddState(state, c.number+1); err != nil {
		return err
	}
	c.number++
	return nil
}

// DeliverState sends a sealed state version to the control plane immediately, after
// those in the spool. It is used when the disk is full, and fails after timing.UnlockTimeout.
// The ctx of the job may have ended.
func (c *AttemptClient) DeliverState(ctx context.Context, state api.State) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), c.timing.UnlockTimeout)
	defer stop()
	if err := c.deliverStates(short); err != nil {
		return err
	}
	return c.putState(short, state)
}

// UnlockState delivers the spooled states and then frees the state lock, so that the next
// holder reads them. When the control plane cannot be reached within timing.UnlockTimeout,
// or rejects the call, it requests that runnerd does both later, and returns nil, so that a
// finished job is not delayed. ctx may have ended. It returns only errors of the disk.
func (c *AttemptClient) UnlockState(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), c.timing.UnlockTimeout)
	defer stop()
	err := c.deliverStates(short)
	if err == nil {
		err = c.retry(short, func(ctx context.Context) error {
			answer, err := c.short.UnlockStateWithResponse(ctx, c.job, c.attempt)
			if err != nil {
				return err
			}
			return apiclient.CheckResponse("unlock the state", answer.HTTPResponse, answer.Body)
		})
	}
	if err != nil {
		return c.spool.RequestUnlock()
	}
	return nil
}

// deliverStates sends the versions in the spool. runnerd may do so at the same time;
// a version that the server already has changes nothing.
func (c *AttemptClient) deliverStates(ctx context.Context) error {
	return c.spool.EachState(func(_ string, state api.State) error { return c.putState(ctx, state) })
}

func (c *AttemptClient) putState(ctx context.Context, state api.State) error {
	return c.retry(ctx, func(ctx context.Context) error {
		answer, err := c.bulk.PutStateWithResponse(ctx, c.job, c.attempt, state)
		if err != nil {
			return err
		}
		if answer.StatusCode() == http.StatusAccepted && c.log != nil {
			c.log.Warn("%s", ContestedWarning(state))
		}
		return apiclient.CheckResponse("deliver a state", answer.HTTPResponse, answer.Body)
	})
}

// ContestedWarning returns the warning about a state version that the control plane has stored,
// but not as the newest version.
func ContestedWarning(state api.State) string {
	return fmt.Sprintf("the state that this attempt wrote (serial %d) is kept as a contested version: another attempt "+
		"has taken the place of this one; nothing is planned for this component until a person restores or dismisses it, "+
		"see `nuon state list`", state.Serial)
}

// ModuleCredential is a credential for an address of Terraform modules, images or charts. Secret is zero if there is
// none. Login, if it names a cloud, is used instead, and Secret is that of the application that logs in.
type ModuleCredential struct {
	Username string
	Secret   seal.Secret
	Login    api.RegistryLogin
}

// ModuleCredential returns the org's credential for an address of modules, images or charts. It is sealed to a
// key that exists only during the call.
func (c *AttemptClient) ModuleCredential(ctx context.Context, org, address string) (found ModuleCredential, err error) {
	key, err := seal.NewIdentity()
	if err != nil {
		return found, err
	}
	request := api.ModuleCredentialRequest{Address: address, Recipient: key.Recipient().String()}
	err = c.retry(ctx, func(ctx context.Context) error {
		answer, err := c.short.GetModuleCredentialWithResponse(ctx, c.job, c.attempt, request)
		if err != nil {
			return err
		}
		if err := apiclient.CheckResponse("read a credential for modules", answer.HTTPResponse, answer.Body); err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return nil
		}
		found.Username, found.Login = answer.JSON200.Username, answer.JSON200.Login
		if answer.JSON200.Secret == nil {
			return nil
		}
		found.Secret, err = key.Open(*answer.JSON200.Secret, seal.ModuleCredentialContext(org, c.job, address))
		if err != nil {
			return apiclient.Permanent(fmt.Errorf("read a credential for modules: %w", err))
		}
		return nil
	})
	return found, err
}

// shellContact is how long an interactive shell continues without contact to the control plane.
const shellContact = time.Minute

// ReceiveShellInput waits for what a person sends to the interactive shell of the job after a message. It fails when
// the control plane could not be reached for a minute.
func (c *AttemptClient) ReceiveShellInput(ctx context.Context, after int64) (found api.ShellInputs, err error) {
	operation, _ := api.FindOperation("receiveShellInput")
	limited, stop := context.WithTimeout(ctx, operation.Hold+shellContact)
	defer stop()
	err = c.retry(limited, func(ctx context.Context) error {
		ctx, stop := context.WithTimeout(ctx, operation.Hold+c.timing.CallTimeout)
		defer stop()
		answer, err := c.bulk.ReceiveShellInputWithResponse(ctx, c.job, c.attempt,
			&api.ReceiveShellInputParams{After: after})
		if err != nil {
			return err
		}
		if err := apiclient.CheckResponse("receive input", answer.HTTPResponse, answer.Body); err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return apiclient.Permanent(errors.New("receive input: the response contains none"))
		}
		found = *answer.JSON200
		return nil
	})
	return found, err
}

// SendShellOutput sends output of the interactive shell of the job. It fails when the control plane could not be
// reached for a minute.
func (c *AttemptClient) SendShellOutput(ctx context.Context, message api.NewShellOutput) error {
	limited, stop := context.WithTimeout(ctx, shellContact)
	defer stop()
	return c.retry(limited, func(ctx context.Context) error {
		answer, err := c.short.SendShellOutputWithResponse(ctx, c.job, c.attempt, message)
		if err != nil {
			return err
		}
		return apiclient.CheckResponse("send output", answer.HTTPResponse, answer.Body)
	})
}

// spec fetches the job's spec.
func (c *AttemptClient) spec(ctx context.Context) (spec api.JobSpec, err error) {
	err = c.retry(ctx, func(ctx context.Context) error {
		answer, err := c.short.GetSpecWithResponse(ctx, c.job, c.attempt)
		if err != nil {
			return err
		}
		if err := apiclient.CheckResponse("read what to do", answer.HTTPResponse, answer.Body); err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return apiclient.Permanent(errors.New("read what to do: the response contains no spec"))
		}
		spec = *answer.JSON200
		return nil
	})
	return spec, err
}

func (c *AttemptClient) retry(ctx context.Context, try func(context.Context) error) error {
	return apiclient.Retry(ctx, apiclient.RetryPolicy{First: c.timing.BackoffMin, Max: c.timing.BackoffMax}, try)
}
