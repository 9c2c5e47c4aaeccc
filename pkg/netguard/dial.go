package netguard

import (
	"context"
	"net"
)

// Dialer returns a function that opens TCP connections to the kinds of addresses in allowed, for
// protocols other than HTTP. Scheme names the protocol in a *BlockedError. Of the options, it uses
// Resolver and Dial. Deadlines of the connection are up to the caller.
func Dialer(
	options Options, scheme string, allowed []Kind,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	options.fill()
	return options.dialer(scheme, allowed)
}
