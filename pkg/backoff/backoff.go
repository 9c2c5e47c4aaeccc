// Package backoff spaces out the tries of something that may pass.
//
// It never decides what is tried again, nor how often: the caller's loop does.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff returns pauses that double from First to Most.
type Backoff struct {
	First, Most time.Duration

	next time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	pause := b.next
	if pause == 0 {
		pause = b.First
	}
	b.next = min(2*pause, b.Most)
	return pause
}

// Jitter returns a random pause of the upper half of pause, so that a thousand clients do not come back in the same moment.
func Jitter(pause time.Duration) time.Duration {
	if pause <= 1 {
		return pause
	}
	return pause/2 + rand.N(pause/2) //nolint:gosec // spreads load; nothing depends on it being secret
}

// Pause waits, and reports whether it waited to the end; false when ctx ended first.
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
