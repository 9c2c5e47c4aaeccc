package apiclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// idleTimeoutTransport is a transport with idle timeouts. Without them, a client would
// wait forever on a server that accepts connections and sends nothing, such as
// another program on the control plane's address.
type idleTimeoutTransport struct{ next http.RoundTripper }

const (
	// networkTime is added to the time that the API declares for a response, for the way there and
	// back.
	networkTime = time.Minute
	// silentFor is the maximum time without data in a response that has started.
	// It is longer than the interval of keep-alive messages in a stream.
	silentFor = time.Minute
)

// responseTimeout returns the maximum time until the response to a request starts.
func responseTimeout(r *http.Request) time.Duration {
	operation, _ := api.OperationOf(r.Method, r.URL.Path)
	return operation.ResponseTime() + networkTime
}

// idleTimeoutError is the error for an idle timeout of this duration.
type idleTimeoutError time.Duration

// Error returns the message.
func (s idleTimeoutError) Error() string {
	return fmt.Sprintf("no data received for %s", time.Duration(s))
}

// RoundTrip makes the exchange and applies the timeouts until the response body is closed.
func (a idleTimeoutTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	limit := responseTimeout(r)
	watch := time.AfterFunc(limit, func() { cancel(idleTimeoutError(limit)) })
	answer, err := a.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		watch.Stop()
		err = idleTimeoutOr(ctx, err)
		cancel(nil)
		return nil, err
	}
	watch.Stop()
	answer.Body = &idleTimeoutBody{ReadCloser: answer.Body, ctx: ctx, cancel: cancel,
		watch: time.AfterFunc(silentFor, func() { cancel(idleTimeoutError(silentFor)) })}
	return answer, nil
}

// idleTimeoutOr returns the idle timeout that canceled an exchange, else err.
func idleTimeoutOr(ctx context.Context, err error) error {
	var s idleTimeoutError
	if errors.As(context.Cause(ctx), &s) {
		return s
	}
	return err
}

// idleTimeoutBody is the body of a response that has started.
type idleTimeoutBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	watch  *time.Timer
}

// Read reads from the body and resets the timeout.
func (w *idleTimeoutBody) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader's end is io.EOF itself
		err = idleTimeoutOr(w.ctx, err)
	}
	w.watch.Reset(silentFor)
	return n, err
}

// Close ends the exchange.
func (w *idleTimeoutBody) Close() error {
	w.watch.Stop()
	w.cancel(nil)
	return w.ReadCloser.Close()
}
