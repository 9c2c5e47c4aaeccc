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

// Bell is a replica's one LISTEN connection. It wakes whoever waits for a payload on a channel; a wake-up is only a hint to look
// at the state again, and every waiter is woken when the connection was lost, because notifications may have been.
type Bell struct {
	mu         sync.Mutex
	waiters    map[string][]chan struct{} // by channel + " " + payload
	listening  bool
	reconnects int
	lost       error // why it does not listen
}

// How a lost LISTEN connection is found out and opened again: one that has been quiet this long is asked whether it still is one
// (a machine that vanished says nothing), and how long it may take to answer.
const (
	reconnectFirst   = 50 * time.Millisecond
	reconnectLongest = time.Second
	quietFor         = 10 * time.Second
	answerWithin     = 5 * time.Second
)

// NewBell makes a bell; Run makes it ring.
func NewBell() *Bell { return &Bell{waiters: map[string][]chan struct{}{}} }

// Run listens until ctx ends. A lost connection is opened again, and everybody is woken then.
func (b *Bell) Run(ctx context.Context, s *Store) error {
	task := status.Enter(ctx, "bell")
	defer task.Leave()
	pause, first := reconnectFirst, true
	for {
		heard, err := b.listen(ctx, s, task)
		if ctx.Err() != nil {
			return nil // that is how it ends
		}
		b.stopped(err)
		task.Came(err)
		level := slog.LevelDebug // of an absence that lasts, the beginning is told
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

// Listening gives an error while the bell has no connection.
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

// Reconnects is how often the connection was lost.
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

// listen is the life of one connection; heard says that it came to listen.
func (b *Bell) listen(ctx context.Context, s *Store, task *status.Task) (heard bool, err error) {
	task.Works("connecting")
	// A connection of its own, beside the pool: it has LISTENs that a pool's next user must not inherit, and a pool that is used up
	// must not keep it waiting.
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
	// What was said while nobody listened is looked at now.
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

// next gives the next notification, or nil when there was none for a while and the connection is well.
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
