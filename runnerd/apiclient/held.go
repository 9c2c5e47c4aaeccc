package apiclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// LongPoll sets the limits of a call that the server holds open, sending a byte from time to time.
type LongPoll struct {
	// Silence is the longest time without a response after the call, and without
	// a byte after another.
	Silence time.Duration
	// Limit bounds the whole call.
	Limit time.Duration
	// OnRead, if set, is called for each part of a successful response that is read,
	// by the reading goroutine.
	OnRead func()
}

// ErrSilent is the error of a held call without a byte for too long.
var ErrSilent = errors.New("no sign of life from the control plane")

// NewLongPollClient is like NewClient, for calls that are held open.
func NewLongPollClient(base string, token func() seal.Secret, held LongPoll) (*api.ClientWithResponses, error) {
	if held.OnRead == nil {
		held.OnRead = func() {}
	}
	return newClient(base, token, held.Limit, heldTransport{transport(), held})
}

// heldTransport cancels calls that are silent.
type heldTransport struct {
	below http.RoundTripper
	LongPoll
}

// RoundTrip makes one call and returns when the head of the response has arrived.
func (h heldTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	watch := &watched{held: h.LongPoll, ctx: ctx, cancel: cancel}
	watch.silence = time.AfterFunc(h.Silence, func() { cancel(fmt.Errorf("%w for %s", ErrSilent, h.Silence)) })
	answer, err := h.below.RoundTrip(request.WithContext(ctx))
	if err != nil {
		watch.end()
		return nil, watch.because(err)
	}
	watch.silence.Reset(h.Silence)
	watch.ReadCloser, watch.yes = answer.Body, isYes(answer)
	answer.Body = watch
	return answer, nil
}

// watched is the response body of a held call.
type watched struct {
	io.ReadCloser
	held    LongPoll
	yes     bool // the response comes from the runner API
	ctx     context.Context
	cancel  context.CancelCauseFunc
	silence *time.Timer
}

// Read reads the available bytes, and waits for more for at most Silence.
func (w *watched) Read(into []byte) (int, error) {
	n, err := w.ReadCloser.Read(into)
	if n > 0 {
		w.silence.Reset(w.held.Silence)
		if w.yes {
			w.held.OnRead()
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = w.because(err)
	}
	return n, err
}

// Close ends the call.
func (w *watched) Close() error {
	w.end()
	return w.ReadCloser.Close()
}

func (w *watched) end() {
	w.silence.Stop()
	w.cancel(nil)
}

// because returns ErrSilent in place of err when the call was canceled for silence.
func (w *watched) because(err error) error {
	if cause := context.Cause(w.ctx); errors.Is(cause, ErrSilent) {
		return cause
	}
	return err
}
