package progress

import (
	"context"
	"errors"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
)

// pollInterval is the pause between two polls of Wait.
const pollInterval = 500 * time.Millisecond

// Work is work of the control plane that Wait polls.
type Work struct {
	Poll  func(context.Context) error // reads the state again
	Ended func() bool                 // reports whether the state that was read is final
	Lines func() []Line               // shows the state

	Timeout   time.Duration // 0 for none
	OnTimeout error         // what Wait returns after Timeout

	// Continues returns what continues after Ctrl-C, and the commands to follow or stop it.
	Continues func() (string, []Next)
}

// Wait polls work until it has ended, and shows its state meanwhile. It tolerates a control plane that
// is unreachable for a while. The caller has just had an answer of the control plane.
func Wait(ctx context.Context, c *console.Console, w Work) error {
	if w.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.Timeout, w.OnTimeout)
		defer cancel()
	}
	view := Start(c)
	defer view.Stop()
	var patience apiclient.OutageTolerance
	patience.Seen()
	for {
		err := w.Poll(ctx)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return w.OnTimeout
		case ctx.Err() != nil:
			what, next := w.Continues()
			return view.StopWaiting(c, what, next...)
		case err == nil:
			patience.Seen()
			view.Show(w.Lines())
			if w.Ended() {
				return nil
			}
		case !patience.Bears(err):
			return err
		}
		select {
		case <-ctx.Done(): // the next poll fails with the cause
		case <-time.After(pollInterval):
		}
	}
}
