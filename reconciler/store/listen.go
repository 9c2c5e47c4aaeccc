package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bell is a replica's one LISTEN connection. It wakes whoever waits for a payload on a channel; a wake-up is only a hint to look
// at the state again, and every waiter is woken when the connection was lost, because notifications may have been.
type Bell struct {
	mu      sync.Mutex
	waiters map[string][]chan struct{} // by channel + " " + payload
}

// reconnectAfter is the pause before a lost LISTEN connection is opened again.
const reconnectAfter = time.Second

// NewBell makes a bell; Run makes it ring.
func NewBell() *Bell { return &Bell{waiters: map[string][]chan struct{}{}} }

// Run listens until ctx ends. A lost connection is opened again, and everybody is woken then.
func (b *Bell) Run(ctx context.Context, s *Store) error {
	for {
		err := b.listen(ctx, s)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // that is how it ends
		}
		slog.WarnContext(ctx, "lost the connection that listens for notifications; opening another", "error", err)
		b.ringAll()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reconnectAfter):
		}
	}
}

func (b *Bell) listen(ctx context.Context, s *Store) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	// The connection has LISTENs that a pool's next user must not inherit.
	c := conn.Hijack()
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is in flight on it
	for _, channel := range []string{ChannelJobs, ChannelWorkflows, ChannelLogs} {
		if _, err := c.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return fmt.Errorf("listen on %s: %w", channel, err)
		}
	}
	b.ringAll()
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		b.ring(n.Channel + " " + n.Payload)
	}
}

// Wait gives a channel of capacity one that receives at each notification with this payload, and what ends the waiting. Ask for
// it before the state is read, so that no change falls between.
func (b *Bell) Wait(channel, payload string) (rung <-chan struct{}, stop func()) {
	key, c := channel+" "+payload, make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiters[key] = append(b.waiters[key], c)
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		left := slices.DeleteFunc(b.waiters[key], func(w chan struct{}) bool { return w == c })
		if len(left) == 0 {
			delete(b.waiters, key)
			return
		}
		b.waiters[key] = left
	}
}

func (b *Bell) ring(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wake(b.waiters[key])
}

func (b *Bell) ringAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waiters {
		wake(w)
	}
}

func wake(waiters []chan struct{}) {
	for _, c := range waiters {
		select {
		case c <- struct{}{}:
		default: // it has been woken and did not look yet
		}
	}
}
