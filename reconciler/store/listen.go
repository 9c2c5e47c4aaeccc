package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
)

// Bell is the notifier: a replica's one LISTEN connection. It wakes waiters for a payload on a
// channel. A wake-up is only a hint to check the state again. When the connection was lost it
// wakes all waiters, because notifications may have been lost too.
type Bell struct {
	mu         sync.Mutex
	waiters    map[string][]chan struct{} // by channel + " " + payload
	listening  bool
	reconnects int
	lost       error // why it is not listening
}

// Limits for reconnecting the LISTEN connection: the pauses between attempts, how long a
// connection may be quiet before it is pinged (a machine that vanished sends nothing), and how
// long the ping may take.
const (
	reconnectFirst   = 50 * time.Millisecond
	reconnectLongest = time.Second
	quietFor         = 10 * time.Second
	answerWithin     = 5 * time.Second
)

// NewBell returns a notifier, which works while Run runs.
func NewBell() *Bell { return &Bell{waiters: map[string][]chan struct{}{}} }

// Run listens until ctx ends. It reopens a lost connection and then wakes all waiters.
func (b *Bell) Run(ctx context.Context, s *Store) error {
	task := status.Enter(ctx, "bell")
	defer task.Leave()
	pause, first := reconnectFirst, true
	for {
		heard, err := b.listen(ctx, s, task)
		if ctx.Err() != nil {
			return nil // the normal end
		}
		b.stopped(err)
		task.Came(err)
		level := slog.LevelDebug // of a long outage, only the start is a warning
		if heard || first {
			pause, level = reconnectFirst, slog.LevelWarn
		}
		first = false
		slog.Log(ctx, level, "lost the connection that listens for notifications; opening another", "error", err)
		task.Waits("for a moment before it connects again")
		b.ringAll()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
			pause = min(2*pause, reconnectLongest)
		}
	}
}

// Listening returns an error while the notifier has no connection.
func (b *Bell) Listening() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.listening:
		return nil
	case b.lost != nil:
		return fmt.Errorf("no connection that listens for notifications: %w", b.lost)
	}
	return errNotYet
}

var errNotYet = fmt.Errorf("no connection that listens for notifications yet")

// Reconnects returns how often the connection was lost.
func (b *Bell) Reconnects() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reconnects
}

func (b *Bell) stopped(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listening, b.lost = false, why
	b.reconnects++
}

// listen handles one connection until it is lost; heard is true if it started to listen.
func (b *Bell) listen(ctx context.Context, s *Store, task *status.Task) (heard bool, err error) {
	task.Works("connecting")
	// A separate connection beside the pool: its LISTENs must not pass to the next user of a pooled
	// connection, and an exhausted pool must not delay it.
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is in flight on it
	for _, channel := range []string{ChannelJobs, ChannelWorkflows, ChannelLogs, ChannelTokens} {
		if _, err := c.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return false, fmt.Errorf("listen on %s: %w", channel, err)
		}
	}
	b.mu.Lock()
	b.listening, b.lost = true, nil
	b.mu.Unlock()
	task.Came(nil)
	// Notifications may have been missed before this connection.
	b.ringAll()
	task.Waits("for a notification")
	for {
		n, err := next(ctx, c)
		if err != nil {
			return true, err
		}
		if n != nil {
			b.ring(n.Channel + " " + n.Payload)
		}
	}
}

// next returns the next notification, or nil if none came for a while and the connection works.
func next(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	waiting, stop := context.WithTimeout(ctx, quietFor)
	n, err := c.WaitForNotification(waiting)
	quiet := waiting.Err() != nil && ctx.Err() == nil
	stop()
	if err == nil || !quiet || c.IsClosed() {
		return n, err
	}
	asking, stop := context.WithTimeout(ctx, answerWithin)
	defer stop()
	return nil, c.Ping(asking)
}

// Wait returns a channel of capacity one that receives at each notification with this payload,
// and a function that ends the waiting. Call it before reading the state, so that no change is
// missed.
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
		default: // already notified, and not handled yet
		}
	}
}
