package deploy

import (
	"context"
	"errors"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/job"
)

const (
	// WaitMargin is the part of the job's time that a wait leaves unused, so that the job can
	// still report which object was not ready.
	WaitMargin = 20 * time.Second
	// maxWait bounds a wait in a job without a time limit. It is the
	// default of deploy_timeout.
	maxWait = 15 * time.Minute
)

// WaitTime returns the longest time that a wait may take.
func WaitTime(ctx context.Context) time.Duration {
	end, limited := ctx.Deadline()
	if !limited {
		return maxWait
	}
	return max(time.Until(end)-WaitMargin, time.Second)
}

// WithWaitTime returns a context that ends after WaitTime.
func WithWaitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, WaitTime(ctx))
}

// errTimeUp is the cause with which the context of a job ends at its time limit.
var errTimeUp = errors.New("the time limit of this job is over")

// withJobLimit returns a context that ends at the job's time limit, so that a wait ends with its reason
// before the job is interrupted.
func withJobLimit(ctx context.Context, env *job.Env) (context.Context, context.CancelFunc) {
	if env.Spec.TimeoutSeconds <= 0 {
		return context.WithCancel(ctx)
	}
	limit := time.Duration(env.Spec.TimeoutSeconds) * time.Second
	return context.WithTimeoutCause(ctx, limit, errTimeUp)
}
