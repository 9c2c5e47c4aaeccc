package edge

import (
	"context"
	"net"
	"time"
)

// LostAfter is when a connection of Listen's is ended at the latest whose other side does not take what it is sent, or does not
// answer when it is asked whether it is still there. Whoever counts a byte that went out as a sign of life sends them further apart,
// so that at most one of them was none. The first of the two can be bounded on Linux only; elsewhere it takes as long as the system
// takes, which may be a quarter of an hour.
const LostAfter = 24 * time.Second

// Listen listens for connections that are held for long and say little: a machine that vanishes says nothing at all. It is for
// clients that read what they are sent; one that pauses for LostAfter is taken for lost.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: LostAfter / 2, Interval: LostAfter / 6, Count: 3},
		Control:         boundUnsent,
	}).Listen(ctx, "tcp", address)
}
