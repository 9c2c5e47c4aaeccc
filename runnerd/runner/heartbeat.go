package runner

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
)

// heartbeatLoop renews the leases of all attempts with one call per beat, and passes on
// cancellations. A failed heartbeat is not retried, because the next one replaces it.
// Without attempts it sends nothing: the lease loop's poll shows that the runner is online.
func (r *runner) heartbeatLoop(ctx context.Context) {
	task := status.Register(ctx, "heartbeat")
	defer task.Unregister()
	task.SetWaiting("for the next heartbeat")
	for backoff.Pause(ctx, r.heartbeatInterval()) {
		kept := r.acceptedAttempts()
		if len(kept) == 0 {
			continue
		}
		answer, err := r.heartbeat(ctx, slices.Collect(maps.Keys(kept)))
		task.ReportResult(err)
		if err != nil {
			if ctx.Err() == nil {
				r.connection.Failed(err)
			}
			continue
		}
		r.connection.Recovered()
		if answer.LeaseSeconds > 0 {
			r.setLease(answer.LeaseSeconds)
		}
		for _, order := range answer.Attempts {
			a := kept[api.AttemptRef{Job: order.Job, Attempt: order.Attempt}]
			if a == nil {
				continue
			}
			if order.Cancel {
				a.requestCancel()
			}
			if order.Superseded {
				a.noteSuperseded()
			}
		}
	}
}

// acceptedAttempts returns the attempts that the control plane has assigned to this runner.
func (r *runner) acceptedAttempts() map[api.AttemptRef]*attempt {
	accepted := map[api.AttemptRef]*attempt{}
	for _, a := range r.listAttempts() {
		if a.isAccepted() {
			accepted[a.ref] = a
		}
	}
	return accepted
}

func (r *runner) heartbeat(ctx context.Context, refs []api.AttemptRef) (api.HeartbeatAnswer, error) {
	// A heartbeat that takes longer than the interval is useless.
	ctx, stop := context.WithTimeout(ctx, max(r.heartbeatInterval(), time.Second))
	defer stop()
	if refs == nil {
		refs = []api.AttemptRef{}
	}
	key := r.keys.currentKey()
	answer, err := r.short.HeartbeatWithResponse(ctx, api.Heartbeat{Attempts: refs, Version: r.Version},
		apiclient.WithToken(key))
	if err != nil {
		return api.HeartbeatAnswer{}, err
	}
	if err := apiclient.CheckResponse("heartbeat", answer.HTTPResponse, answer.Body); err != nil {
		if apiclient.HasStatus(err, http.StatusUnauthorized) {
			// The next heartbeat uses the other key. While the runner is at capacity
			// no other call tries it.
			r.keys.markRejected(key)
		}
		return api.HeartbeatAnswer{}, err
	}
	if answer.JSON200 == nil {
		return api.HeartbeatAnswer{}, &apiclient.ResponseError{Operation: "heartbeat", Status: answer.StatusCode(),
			Title: "the answer is not one of a runner API"}
	}
	r.keys.markValid(key)
	return *answer.JSON200, nil
}
