package screen

import (
	"context"
	"errors"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Commands makes commands that bubbletea runs concurrently with a screen. Close cancels those that
// run and waits for them. It is safe for concurrent use.
type Commands struct {
	ctx    context.Context //nolint:containedctx // the life of the screen, of which each command is a part
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// NewCommands returns the commands of a screen that lives until ctx ends.
func NewCommands(ctx context.Context) *Commands {
	c := &Commands{}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// Context returns the context of the screen.
func (c *Commands) Context() context.Context { return c.ctx }

// Close ends the commands. Those that were not started yet do nothing.
func (c *Commands) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
}

// start registers work that Close waits for. It returns false after Close.
func (c *Commands) start() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Add(1)
	return true
}

// Do returns a command that runs f until the screen closes or limit has passed.
func (c *Commands) Do(limit time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		if !c.start() {
			return nil
		}
		defer c.work.Done()
		ctx, cancel := context.WithTimeout(c.ctx, limit)
		defer cancel()
		msg := f(ctx)
		if c.ctx.Err() != nil {
			return nil // the screen is closing
		}
		return msg
	}
}

// After returns a command that sends msg after a wait.
func (c *Commands) After(wait time.Duration, msg tea.Msg) tea.Cmd {
	return c.Do(wait, func(ctx context.Context) tea.Msg {
		<-ctx.Done()
		return msg
	})
}

// Go starts f in a goroutine that Close waits for. It returns false after Close.
func (c *Commands) Go(f func()) bool {
	if !c.start() {
		return false
	}
	go func() {
		defer c.work.Done()
		f()
	}()
	return true
}

// TimeoutError turns a timeout into an error that names it; the client library only returns its
// context's error.
func TimeoutError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return exitcode.With(exitcode.Unreachable, errors.New("no response from the control plane in time"))
	}
	return err
}
