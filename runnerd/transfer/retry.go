package transfer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// retryPolicy is the retry policy for a registry that is unreachable, before the job fails.
type retryPolicy struct {
	first, most time.Duration // bounds of the pause between two tries, which doubles
	tries       int
	silence     time.Duration // time without a byte after which a response is abandoned
}

// retryPolicyOf returns a policy that retries for about two minutes: as long as the restart of a
// control plane or a registry takes.
func retryPolicyOf(t timing.Timing) retryPolicy {
	return retryPolicy{first: t.BackoffMin, most: t.BackoffMax, tries: 12, silence: t.LongPollSilence}
}

// retry retries do while a registry is unreachable.
func (c *copier) retry(ctx context.Context, do func() error) error {
	pauses := backoff.Backoff{First: c.policy.first, Max: c.policy.most}
	for try := 1; ; try++ {
		err := do()
		if err == nil || !isTemporary(err) || try == c.policy.tries {
			return err
		}
		c.log.Info("%v; trying again", err)
		if !backoff.Pause(ctx, pauses.Next()) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// isTemporary reports whether an error may disappear after a while.
func isTemporary(err error) bool {
	var refused *oci.Error
	if !errors.As(err, &refused) {
		return false
	}
	if problem, known := netguard.Describe(refused.Err); known && !problem.Temporary {
		return false // the address is wrong or not allowed
	}
	switch refused.Reason {
	case oci.Unreachable:
		return true
	case oci.Rejected:
		return refused.Status == 0 || refused.Status == http.StatusTooManyRequests ||
			refused.Status >= http.StatusInternalServerError
	}
	return false
}

// reasonOf returns the reason of a registry's error, or "" for any other error.
func reasonOf(err error) oci.Reason {
	var refused *oci.Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}
