package apiclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// slowAnswer is a server that responds slowly, part by part.
type slowAnswer struct {
	head    time.Duration // until the head of the response
	parts   []string      // parts of the body
	each    time.Duration // pause before each part
	never   bool          // after the last part it sends nothing, not even the end
	status  int
	content string
}

// RoundTrip returns the response.
func (s slowAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	if !backoff.Pause(r.Context(), s.head) {
		return nil, context.Cause(r.Context())
	}
	return &http.Response{StatusCode: s.status, Header: http.Header{"Content-Type": {s.content}},
		Body: &slowBody{s, r.Context()}}, nil
}

type slowBody struct {
	slowAnswer
	ctx context.Context
}

// Read returns one part.
func (b *slowBody) Read(into []byte) (int, error) {
	if len(b.parts) == 0 && b.never {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	if len(b.parts) == 0 {
		return 0, io.EOF
	}
	if !backoff.Pause(b.ctx, b.each) {
		return 0, b.ctx.Err() // like net/http, which does not always return the cause
	}
	n := copy(into, b.parts[0])
	b.parts = b.parts[1:]
	return n, nil
}

// Close does nothing.
func (b *slowBody) Close() error { return nil }

func TestACallIsHeldAsLongAsItIsHeard(t *testing.T) {
	const silence, limit = 40 * time.Second, 340 * time.Second
	blanks := func(n int) []string { return strings.Split(strings.Repeat(" ", n), "") }
	for name, c := range map[string]struct {
		server slowAnswer
		stop   time.Duration // when the caller cancels
		took   time.Duration
		heard  int
		want   func(error) bool
	}{
		"beats": {slowAnswer{head: 30 * time.Second, parts: append(blanks(8), `{"offers":[]}`), each: 30 * time.Second},
			0, 300 * time.Second, 9, nil},
		"at once":     {slowAnswer{parts: []string{`{"offers":[]}`}}, 0, 0, 1, nil},
		"no answer":   {slowAnswer{head: time.Hour}, 0, silence, 0, isSilent},
		"only a head": {slowAnswer{head: time.Second, never: true}, 0, silence + time.Second, 0, isSilent},
		"breaks": {slowAnswer{parts: blanks(2), each: 30 * time.Second, never: true}, 0,
			60*time.Second + silence, 2, isSilent},
		"too slow": {slowAnswer{parts: blanks(2), each: 50 * time.Second}, 0, silence, 0, isSilent},
		"without end": {slowAnswer{parts: blanks(100), each: 30 * time.Second}, 0, limit, 11,
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"called off": {slowAnswer{parts: blanks(5), each: 30 * time.Second}, 70 * time.Second, 70 * time.Second,
			2, func(err error) bool { return errors.Is(err, context.Canceled) && !isSilent(err) }},
		"of a stranger": {slowAnswer{parts: blanks(5), each: 30 * time.Second, content: "text/html"}, 0,
			150 * time.Second, 0, nil},
		"of a refusal": {slowAnswer{parts: []string{"{}"}, status: 401, content: "application/problem+json"}, 0, 0, 0, nil},
		"late, but well": {slowAnswer{head: 39 * time.Second, parts: []string{`{"offers":[]}`}, each: 39 * time.Second}, 0,
			78 * time.Second, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.server.status == 0 {
					c.server.status = 200
				}
				if c.server.content == "" {
					c.server.content = "application/json"
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if c.stop > 0 {
					time.AfterFunc(c.stop, stop)
				}
				heard := 0
				held := longPollTransport{c.server, LongPoll{Silence: silence, Limit: limit, OnRead: func() { heard++ }}}
				client, err := newClient("http://x", StaticToken(seal.NewSecret([]byte("key"))), limit, held)
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				_, err = client.LeaseWithResponse(ctx, api.LeaseRequest{})
				if took := time.Since(begun); took != c.took || heard != c.heard {
					t.Errorf("it took %s and was heard of %d times, want %s and %d", took, heard, c.took, c.heard)
				}
				if c.want == nil && err != nil || c.want != nil && !c.want(err) {
					t.Errorf("it ended with %v", err)
				}
			})
		})
	}
}

func isSilent(err error) bool { return errors.Is(err, ErrSilent) }
