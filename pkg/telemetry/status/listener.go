package status

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve answers at an address until the returned stop is called, for a program that has no other listener. It asks nobody who they
// are, so the address should be one of this machine's own.
func Serve(ctx context.Context, address string, page http.Handler) (at string, stop func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("listen for status: %w", err)
	}
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }() // waits for requests until stop
	return l.Addr().String(), func() error {
		err := server.Close()
		if left := <-ended; !errors.Is(left, http.ErrServerClosed) {
			err = errors.Join(err, left)
		}
		return err
	}, nil
}
