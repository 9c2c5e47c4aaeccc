package transfer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// pace is how often a registry that is away is asked again, before the job fails.
type pace struct {
	first, most time.Duration // bounds of the pause between two tries, which doubles
	tries       int
	silence     time.Duration // after how long without a byte an answer is given up
}

// paceOf asks for about two minutes: as long as it takes to start a control plane or a registry anew.
func paceOf(t timing.Timing) pace {
	return pace{first: t.BackoffFirst, most: t.BackoffMost, tries: 12, silence: t.PollSilence}
}

// patiently does something again and again while a registry is away.
func (c *copying) patiently(ctx context.Context, do func() error) error {
	pauses := backoff.Backoff{First: c.pace.first, Most: c.pace.most}
	for try := 1; ; try++ {
		err := do()
		if err == nil || !passing(err) || try == c.pace.tries {
			return err
		}
		c.log.Info("%v; trying again", err)
		if !backoff.Pause(ctx, pauses.Next()) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// passing says that an error may be gone by itself after a while.
func passing(err error) bool {
	var refused *artifact.Error
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Reason {
	case artifact.Unreachable:
		return true
	case artifact.Refused:
		return refused.Status == 0 || refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError
	}
	return false
}

// reasonOf is why a registry refused; nothing of an error that is no refusal.
func reasonOf(err error) artifact.Reason {
	var refused *artifact.Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}
