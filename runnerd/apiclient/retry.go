package apiclient

import (
	"context"
	"errors"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// Pace configures the retries of a call.
type Pace struct {
	// First and Most bound the pause between tries, see package timing.
	First, Most time.Duration
	// Final reports which rejections end the retries. Nil means those that are not Passing.
	Final func(*Refusal) bool
	// Line, if set, records every failed try and the success.
	Line *Line
}

// Persist calls try until it succeeds, is permanently rejected, or ctx ends. Calls without
// a response are always retried. The error is that of the last try; when ctx ended it also
// wraps the cause of ctx.
func Persist(ctx context.Context, pace Pace, try func(context.Context) error) error {
	pauses := backoff.Backoff{First: pace.First, Most: pace.Most}
	for {
		err := try(ctx)
		if err == nil || pace.final(err) {
			// A rejection is a response, so the server can be reached.
			pace.Line.Back()
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		pace.Line.Lost(err)
		wait := backoff.Jitter(pauses.Next())
		if refusal := AsRefusal(err); refusal != nil {
			wait += refusal.RetryAfter
		}
		if !backoff.Pause(ctx, wait) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func (p Pace) final(err error) bool {
	refusal := AsRefusal(err)
	if refusal == nil {
		var permanent *permanentError
		return errors.As(err, &permanent)
	}
	if p.Final != nil {
		return p.Final(refusal)
	}
	return !refusal.Passing()
}

// Permanent marks an error that no retry can fix, such as a malformed response.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ error }

// Unwrap returns the marked error.
func (p *permanentError) Unwrap() error { return p.error }
