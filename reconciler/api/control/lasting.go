package control

import (
	"context"
	"log/slog"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// tokenLook is how often a stream looks whether the token that began it is still good. A token that is revoked is told of at once;
// this is for what was not heard, and soonest for one that runs out in between.
const (
	tokenLook    = time.Minute
	soonestToken = time.Second
)

// lasting gives a stream's context, which ends soon after the caller's token opens nothing any more. stop waits until nobody looks.
func (s *Server) lasting(ctx context.Context) (_ context.Context, stop func()) {
	c := callerOf(ctx)
	ctx, cancel := context.WithCancel(ctx)
	rung, unhook := s.bell.Wait(store.ChannelTokens, c.org.ID+"/"+c.token)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		s.untilBad(ctx, c, rung)
	}()
	return ctx, func() { cancel(); unhook(); <-done }
}

// untilBad returns when a token is no longer good, or ctx ends.
func (s *Server) untilBad(ctx context.Context, c caller, rung <-chan struct{}) {
	for {
		good := true
		err := s.store.Read(ctx, c.org.ID, func(ctx context.Context, tx *store.Tx) (err error) {
			good, err = tx.TokenIsGood(ctx, tx.Org, c.token)
			return err
		})
		if err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "look whether a stream's token is still good", "token", c.token, "error", err)
		}
		if err == nil && !good {
			return
		}
		look := tokenLook
		if c.expires != nil {
			look = min(look, max(soonestToken, time.Until(*c.expires)))
		}
		timer := time.NewTimer(look)
		select {
		case <-ctx.Done():
		case <-rung:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}
