// Package backoff computes the pauses between attempts of an operation that may fail temporarily.
//
// It never decides what is retried or how often: the caller's loop does.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff returns pauses that double from First to Max.
type Backoff struct {
	First, Max time.Duration

	next time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	pause := b.next
	if pause == 0 {
		pause = b.First
	}
	b.next = min(2*pause, b.Max)
	return pause
}

// Jitter returns a random pause in the upper half of pause, so that many clients do not retry at
// the same moment.
func Jitter(pause time.Duration) time.Duration {
	if pause <= 1 {
		return pause
	}
	return pause/2 + rand.N(pause/2) //nolint:gosec // it spreads load and need not be unpredictable
}

// Pause waits for the given duration. It returns false if ctx ended first.
func Pause(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
