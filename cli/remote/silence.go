package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// attentive gives up an exchange in which the other side says nothing for too long: it would wait for ever on a control plane, or on
// something else that took its address, that accepts connections and does no more.
type attentive struct{ below http.RoundTripper }

const (
	// answerWithin is how long a control plane may take before an answer begins: longer than its longest look at git.
	answerWithin = 5 * time.Minute
	// silentFor is how long an answer that has begun may stand still: longer than the pause between two signs of life in a stream.
	silentFor = time.Minute
)

// silent is a control plane that has said nothing for so long.
type silent time.Duration

// Error says so.
func (s silent) Error() string { return fmt.Sprintf("it has said nothing for %s", time.Duration(s)) }

// RoundTrip makes the exchange, and watches over its answer until that is closed.
func (a attentive) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	watch := time.AfterFunc(answerWithin, func() { cancel(silent(answerWithin)) })
	answer, err := a.below.RoundTrip(r.WithContext(ctx))
	if err != nil {
		watch.Stop()
		err = causeOf(ctx, err)
		cancel(nil)
		return nil, err
	}
	watch.Stop()
	answer.Body = &watched{ReadCloser: answer.Body, ctx: ctx, cancel: cancel, watch: time.AfterFunc(silentFor, func() { cancel(silent(silentFor)) })}
	return answer, nil
}

// causeOf is the silence that ended an exchange, else the exchange's own error.
func causeOf(ctx context.Context, err error) error {
	var s silent
	if errors.As(context.Cause(ctx), &s) {
		return s
	}
	return err
}

// watched is an answer that has begun.
type watched struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	watch  *time.Timer
}

// Read reads on, and begins to wait anew.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader's end is io.EOF itself
		err = causeOf(w.ctx, err)
	}
	w.watch.Reset(silentFor)
	return n, err
}

// Close ends the exchange.
func (w *watched) Close() error {
	w.watch.Stop()
	w.cancel(nil)
	return w.ReadCloser.Close()
}
