package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// A wait that would last beyond the deadline ends at the deadline, not before it: what polls until
// then takes an earlier error for one of the server.
func TestLimiterWaitsUntilTheDeadline(t *testing.T) {
	t.Parallel()
	limiter := untilDeadline{flowcontrol.NewTokenBucketRateLimiter(1e-6, 1)}
	if err := limiter.Wait(context.Background()); err != nil {
		t.Fatal("the first request must not wait:", err)
	}
	//walltime: the deadline is what is tested, and nothing must happen before it
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := limiter.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil {
		t.Errorf("got %v while the context says %v; want an error only at the deadline", err, ctx.Err())
	}
	stopped, stop := context.WithCancelCause(context.Background())
	stop(errors.New("the runner stops"))
	if err := limiter.Wait(stopped); err == nil || err.Error() != "the runner stops" {
		t.Errorf("got %v; want the cause", err)
	}
}
