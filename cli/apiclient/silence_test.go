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

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// slow is a fake control plane that pauses before its response and before each
// part of it. A very long pause ends when the request is canceled.
type slow struct {
	before time.Duration
	pauses []time.Duration
	parts  []string
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d): //walltime: only called in a bubble
		return nil
	}
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := sleep(r.Context(), s.before); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{},
		Body: &trickle{ctx: r.Context(), slow: s}}, nil
}

type trickle struct {
	slow
	ctx context.Context
}

func (b *trickle) Read(p []byte) (int, error) {
	if len(b.parts) == 0 {
		return 0, io.EOF
	}
	if err := sleep(b.ctx, b.pauses[0]); err != nil {
		return 0, err
	}
	n := copy(p, b.parts[0])
	b.parts, b.pauses = b.parts[1:], b.pauses[1:]
	return n, nil
}

func (*trickle) Close() error { return nil }

// TestAControlPlaneThatSaysNothing checks that the idle timeouts end a request before
// and during the response, and that a slow but active control plane is not interrupted.
func TestAControlPlaneThatSaysNothing(t *testing.T) {
	whole := []string{`{"na`, `me":`, `"hello"}`}
	for name, c := range map[string]struct {
		plane slow
		code  int
		says  string
	}{
		"slow": {slow{110 * time.Second, []time.Duration{0, 50 * time.Second, 50 * time.Second}, whole},
			exitcode.Done, ""},
		"never answers": {slow{24 * time.Hour, nil, nil}, exitcode.Unreachable,
			"cannot reach the control plane: Get \"http://plane/v1/apps/hello\": no data received for 2m0s"},
		"stops in a middle": {slow{0, []time.Duration{0, 24 * time.Hour, 0}, whole}, exitcode.Unreachable,
			"the response was cut off: no data received for 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := New(contexts.Context{URL: "http://plane"},
					func(http.RoundTripper) http.RoundTripper { return c.plane })
				if err != nil {
					t.Fatal(err)
				}
				app, err := Decode[api.App](client.GetApp(t.Context(), "hello"))
				if exitcode.CodeOf(err) != c.code || err == nil && app.Name != "hello" {
					t.Fatalf("got %+v, %v", app, err)
				}
				if err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("says %q, want %q", err, c.says)
				}
			})
		})
	}
}

// TestCtrlCAtAnyMoment checks that Ctrl-C during an exchange is reported as
// Ctrl-C and not as an error of the control plane.
func TestCtrlCAtAnyMoment(t *testing.T) {
	for name, s := range map[string]slow{
		"before the answer": {24 * time.Hour, nil, nil},
		"in its middle":     {0, []time.Duration{0, 24 * time.Hour}, []string{`{"na`, `me"`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := New(contexts.Context{URL: "http://plane"},
					func(http.RoundTripper) http.RoundTripper { return s })
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				go func() { // ends after a second
					_ = sleep(t.Context(), time.Second)
					stop()
				}()
				if _, err := Decode[api.App](client.GetApp(ctx, "hello")); !errors.Is(err, exitcode.Interrupted) {
					t.Errorf("ended with %v", err)
				}
				<-ctx.Done()
			})
		})
	}
}

// endlessJSON is a JSON response without an end.
type endlessJSON struct{ begun bool }

func (e *endlessJSON) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	if !e.begun {
		b[0], e.begun = '[', true
	}
	return len(b), nil
}

// TestAnAnswerWithoutAnEnd checks that a response is cut at its limit.
func TestAnAnswerWithoutAnEnd(t *testing.T) {
	var all []string
	if err := decodeJSON(&endlessJSON{}, 4<<20, &all); exitcode.CodeOf(err) != exitcode.Unreachable ||
		!strings.Contains(err.Error(), "larger than 4 MB") {
		t.Errorf("ended with %v", err)
	}
}
