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
	// Transport makes the calls. The zero value is that of all other clients.
	Transport http.RoundTripper
}

// ErrSilent is the error of a held call without a byte for too long.
var ErrSilent = errors.New("no data from the control plane")

// NewLongPollClient is like NewClient, for calls that are held open.
func NewLongPollClient(base string, token func() seal.Secret, held LongPoll) (*api.ClientWithResponses, error) {
	if held.OnRead == nil {
		held.OnRead = func() {}
	}
	if held.Transport == nil {
		held.Transport = transport()
	}
	return newClient(base, token, held.Limit, longPollTransport{held.Transport, held})
}

// longPollTransport cancels calls that are silent.
type longPollTransport struct {
	next http.RoundTripper
	LongPoll
}

// RoundTrip makes one call and returns when the head of the response has arrived.
func (h longPollTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	watch := &longPollBody{poll: h.LongPoll, ctx: ctx, cancel: cancel}
	watch.silence = time.AfterFunc(h.Silence, func() { cancel(fmt.Errorf("%w for %s", ErrSilent, h.Silence)) })
	answer, err := h.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		watch.end()
		return nil, watch.causeOf(err)
	}
	watch.silence.Reset(h.Silence)
	watch.ReadCloser, watch.success = answer.Body, isSuccess(answer)
	answer.Body = watch
	return answer, nil
}

// longPollBody is the response body of a held call.
type longPollBody struct {
	io.ReadCloser
	poll    LongPoll
	success bool // the response comes from the runner API
	ctx     context.Context
	cancel  context.CancelCauseFunc
	silence *time.Timer
}

// Read reads the available bytes, and waits for more for at most Silence.
func (b *longPollBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if n > 0 {
		b.silence.Reset(b.poll.Silence)
		if b.success {
			b.poll.OnRead()
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.causeOf(err)
	}
	return n, err
}

// Close ends the call.
func (b *longPollBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *longPollBody) end() {
	b.silence.Stop()
	b.cancel(nil)
}

// causeOf returns ErrSilent in place of err when the call was canceled for silence.
func (b *longPollBody) causeOf(err error) error {
	if cause := context.Cause(b.ctx); errors.Is(cause, ErrSilent) {
		return cause
	}
	return err
}
