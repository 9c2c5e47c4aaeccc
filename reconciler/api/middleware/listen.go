package middleware

import (
	"context"
	"net"
	"time"
)

// LostAfter is the time after which Listen closes a connection whose peer does not acknowledge
// data, or does not answer keep-alive probes. Callers that treat a sent byte as a sign of life
// send bytes less often than that, so that at most one of them is wrong. Only Linux can bound the
// first of the two; elsewhere it takes the system's default, which may be a quarter of an hour.
const LostAfter = 24 * time.Second

// Listen listens for long-lived connections with little traffic, and detects peers that vanish.
// It is for clients that read at once: one that stops reading for LostAfter counts as lost.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: LostAfter / 2, Interval: LostAfter / 6, Count: 3},
		Control:         boundUnsent,
	}).Listen(ctx, "tcp", address)
}
