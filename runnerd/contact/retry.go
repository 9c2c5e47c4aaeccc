package contact

import (
	"context"
	"errors"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// Pace is how a call is tried again.
type Pace struct {
	// First and Most bound the pause, see package timing.
	First, Most time.Duration
	// Final tells which refusals end the tries. Nil means those that are not Passing.
	Final func(*Refusal) bool
	// Line is told of every failed try and of the success; nil is told nothing.
	Line *Line
}

// Persist tries until try succeeds, is refused for good, or ctx ends. Calls that got no answer are always tried again. The error
// is that of the last try; when ctx ended it wraps the cause of ctx as well.
func Persist(ctx context.Context, pace Pace, try func(context.Context) error) error {
	pauses := backoff.Backoff{First: pace.First, Most: pace.Most}
	for {
		err := try(ctx)
		if err == nil || pace.final(err) {
			// An answer is an answer: whoever refuses can be reached.
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

// Permanent marks an error that no further try can mend, such as an answer that makes no sense.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ error }

// Unwrap gives the marked error.
func (p *permanentError) Unwrap() error { return p.error }
