package cluster

import (
	"context"

	"k8s.io/client-go/util/flowcontrol"
)

// untilDeadline is a rate limiter whose Wait fails only when its context is done. The limiter of
// client-go fails at once if the deadline would pass before the request may be sent: callers that
// wait for an object could not distinguish that from a failed request, and did not say what they
// waited for.
type untilDeadline struct {
	flowcontrol.RateLimiter
}

// Wait waits until the next request may be sent, or returns the cause of the end of ctx.
func (l untilDeadline) Wait(ctx context.Context) error {
	if l.RateLimiter.Wait(ctx) == nil {
		return nil
	}
	<-ctx.Done() // the limiter fails only for contexts that have a deadline or are done
	return context.Cause(ctx)
}
