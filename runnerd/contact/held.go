package contact

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

// Held bounds a call that the server holds open, and shows that it does, by a byte now and then.
type Held struct {
	// Silence is how long nothing may be heard: no answer after the call, no byte after another.
	Silence time.Duration
	// Limit is that of the whole call.
	Limit time.Duration
	// Heard is called for each part of a yes that is read, by whoever reads it; nil is not.
	Heard func()
}

// ErrSilent ends a held call of which nothing was heard for too long.
var ErrSilent = errors.New("no sign of life from the control plane")

// NewHeldClient is NewClient for calls that are held open.
func NewHeldClient(base string, token func() seal.Secret, held Held) (*api.ClientWithResponses, error) {
	if held.Heard == nil {
		held.Heard = func() {}
	}
	return newClient(base, token, held.Limit, heldTransport{transport(), held})
}

// heldTransport gives up calls that are silent.
type heldTransport struct {
	below http.RoundTripper
	Held
}

// RoundTrip makes one call, up to the head of its answer.
func (h heldTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	watch := &watched{held: h.Held, ctx: ctx, cancel: cancel}
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

// watched is the body of a held call's answer.
type watched struct {
	io.ReadCloser
	held    Held
	yes     bool // it is the runner API that speaks
	ctx     context.Context
	cancel  context.CancelCauseFunc
	silence *time.Timer
}

// Read reads what has come, and waits for more for as long as Silence.
func (w *watched) Read(into []byte) (int, error) {
	n, err := w.ReadCloser.Read(into)
	if n > 0 {
		w.silence.Reset(w.held.Silence)
		if w.yes {
			w.held.Heard()
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

// because gives silence as the reason where it was that.
func (w *watched) because(err error) error {
	if cause := context.Cause(w.ctx); errors.Is(cause, ErrSilent) {
		return cause
	}
	return err
}
