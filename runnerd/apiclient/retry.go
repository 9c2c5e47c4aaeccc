package apiclient

import (
	"context"
	"errors"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// RetryPolicy configures the retries of a call.
type RetryPolicy struct {
	// First and Max bound the pause between tries, see package timing.
	First, Max time.Duration
	// IsFinal reports which rejections end the retries. Nil means those that are not temporary.
	IsFinal func(*ResponseError) bool
	// Connection, if set, records every failed try and the success.
	Connection *ConnectionLog
}

// Retry calls try until it succeeds, is permanently rejected, or ctx ends. Calls without
// a response are always retried. The error is that of the last try; when ctx ended it also
// wraps the cause of ctx.
func Retry(ctx context.Context, pace RetryPolicy, try func(context.Context) error) error {
	pauses := backoff.Backoff{First: pace.First, Max: pace.Max}
	for {
		err := try(ctx)
		if err == nil || pace.final(err) {
			// A rejection is a response, so the server can be reached.
			pace.Connection.Recovered()
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		pace.Connection.Failed(err)
		wait := backoff.Jitter(pauses.Next())
		if refusal := AsResponseError(err); refusal != nil {
			wait += refusal.RetryAfter
		}
		if !backoff.Pause(ctx, wait) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func (p RetryPolicy) final(err error) bool {
	refusal := AsResponseError(err)
	if refusal == nil {
		var permanent *permanentError
		return errors.As(err, &permanent)
	}
	if p.IsFinal != nil {
		return p.IsFinal(refusal)
	}
	return !refusal.IsTemporary()
}

// Permanent marks an error that no retry can fix, such as a malformed response.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ error }

// Unwrap returns the marked error.
func (p *permanentError) Unwrap() error { return p.error }
