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

// Notifier is the notifier: a replica's one LISTEN connection. It wakes waiters for a payload on a
// channel. A wake-up is only a hint to check the state again. When the connection was lost it
// wakes all waiters, because notifications may have been lost too.
type Notifier struct {
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
	reconnectFirst = 50 * time.Millisecond
	reconnectMax   = time.Second
	pingAfter      = 10 * time.Second
	pingTimeout    = 5 * time.Second
)

// NewNotifier returns a notifier, which works while Run runs.
func NewNotifier() *Notifier { return &Notifier{waiters: map[string][]chan struct{}{}} }

// Run listens until ctx ends. It reopens a lost connection and then wakes all waiters.
func (n *Notifier) Run(ctx context.Context, s *Store) error {
	task := status.Register(ctx, "bell")
	defer task.Unregister()
	pause, first := reconnectFirst, true
	for {
		heard, err := n.listen(ctx, s, task)
		if ctx.Err() != nil {
			return nil // the normal end
		}
		n.recordStop(err)
		task.ReportResult(err)
		level := slog.LevelDebug // of a long outage, only the start is a warning
		if heard || first {
			pause, level = reconnectFirst, slog.LevelWarn
		}
		first = false
		slog.Log(ctx, level, "lost the connection that listens for notifications; opening another", "error", err)
		task.SetWaiting("for a moment before it connects again")
		n.notifyAll()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
			pause = min(2*pause, reconnectMax)
		}
	}
}

// Listening returns an error while the notifier has no connection.
func (n *Notifier) Listening() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.listening:
		return nil
	case n.lost != nil:
		return fmt.Errorf("no connection that listens for notifications: %w", n.lost)
	}
	return errNotListeningYet
}

var errNotListeningYet = fmt.Errorf("no connection that listens for notifications yet")

// Reconnects returns how often the connection was lost.
func (n *Notifier) Reconnects() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reconnects
}

func (n *Notifier) recordStop(why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listening, n.lost = false, why
	n.reconnects++
}

// listen handles one connection until it is lost; heard is true if it started to listen.
func (n *Notifier) listen(ctx context.Context, s *Store, task *status.Task) (heard bool, err error) {
	task.SetWorking("connecting")
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
	n.mu.Lock()
	n.listening, n.lost = true, nil
	n.mu.Unlock()
	task.ReportResult(nil)
	// Notifications may have been missed before this connection.
	n.notifyAll()
	task.SetWaiting("for a notification")
	for {
		notification, err := nextNotification(ctx, c)
		if err != nil {
			return true, err
		}
		if notification != nil {
			n.notify(notification.Channel + " " + notification.Payload)
		}
	}
}

// nextNotification returns the next notification, or nil if none came for a while and the connection works.
func nextNotification(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	waiting, stop := context.WithTimeout(ctx, pingAfter)
	n, err := c.WaitForNotification(waiting)
	quiet := waiting.Err() != nil && ctx.Err() == nil
	stop()
	if err == nil || !quiet || c.IsClosed() {
		return n, err
	}
	asking, stop := context.WithTimeout(ctx, pingTimeout)
	defer stop()
	return nil, c.Ping(asking)
}

// Wait returns a channel of capacity one that receives at each notification with this payload,
// and a function that ends the waiting. Call it before reading the state, so that no change is
// missed.
func (n *Notifier) Wait(channel, payload string) (rung <-chan struct{}, stop func()) {
	key, c := channel+" "+payload, make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiters[key] = append(n.waiters[key], c)
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		left := slices.DeleteFunc(n.waiters[key], func(w chan struct{}) bool { return w == c })
		if len(left) == 0 {
			delete(n.waiters, key)
			return
		}
		n.waiters[key] = left
	}
}

func (n *Notifier) notify(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	closeAll(n.waiters[key])
}

func (n *Notifier) notifyAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.waiters {
		closeAll(w)
	}
}

func closeAll(waiters []chan struct{}) {
	for _, c := range waiters {
		select {
		case c <- struct{}{}:
		default: // already notified, and not handled yet
		}
	}
}
