package control

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// tokenLook is the interval at which a stream checks that its token is still valid. A revocation
// also sends a notification; the check covers lost ones. The check comes earlier, but no more often
// than soonestToken, for a token that is about to expire.
const (
	tokenLook    = time.Minute
	soonestToken = time.Second
)

// streamKey is the key of a context's operation, if openapi.yaml declares that it streams.
type streamKey struct{}

// stream calls write for a response that is a stream of server-sent events: without deadlines, and
// with a context that ends soon after the caller's token becomes invalid. It refuses a stream of a token
// that has too many open, and an operation that openapi.yaml does not declare as a stream, because its
// context has already ended.
func (s *Server) stream(
	ctx context.Context, w http.ResponseWriter, write func(context.Context, http.ResponseWriter) error,
) error {
	if _, declared := ctx.Value(streamKey{}).(string); !declared {
		return errors.New("openapi.yaml declares no response of type text/event-stream for this operation")
	}
	release, err := s.quota.OpenStream(callerOf(ctx).token)
	if err != nil {
		return err
	}
	defer release()
	middleware.Unhurried(w)
	ctx, stop := s.untilTokenEnds(ctx)
	defer stop()
	return write(ctx, w)
}

// untilTokenEnds returns a context that ends soon after the caller's token becomes invalid. stop
// ends the check and waits for its goroutine.
func (s *Server) untilTokenEnds(ctx context.Context) (_ context.Context, stop func()) {
	c := callerOf(ctx)
	ctx, cancel := context.WithCancel(ctx)
	rung, unhook := s.bell.Wait(store.ChannelTokens, c.org.ID+"/"+c.token)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		s.awaitInvalidToken(ctx, c, rung)
	}()
	return ctx, func() { cancel(); unhook(); <-done }
}

// awaitInvalidToken returns when a token is no longer valid, or ctx ends.
func (s *Server) awaitInvalidToken(ctx context.Context, c caller, rung <-chan struct{}) {
	for {
		good := true
		err := s.store.ReadTx(ctx, c.org.ID, func(ctx context.Context, tx *store.Tx) (err error) {
			good, err = tx.TokenIsGood(ctx, tx.Org, c.token)
			return err
		})
		if err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "check the token of a stream", "token", c.token, "error", err)
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
