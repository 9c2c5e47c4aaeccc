package probe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func ask(t *testing.T, h http.Handler, path string) (int, Report) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	var a Report
	if path == "/readyz" {
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
	}
	return w.Code, a
}

// TestReady follows a program through its life: a required dependency fails and recovers, an
// optional one fails, the program drains. Each check runs at most once a second.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var needed, optional error
		var probes atomic.Int32
		h := New(
			Check{Name: "database", Probe: func(context.Context) error { probes.Add(1); return needed }},
			Check{Name: "registry", Probe: func(context.Context) error { return optional }, Optional: true},
		)
		over := h.Handler(http.NotFoundHandler())
		expect := func(code int, ready bool) Report {
			t.Helper()
			got, a := ask(t, over, "/readyz")
			if got != code || a.Ready != ready {
				t.Errorf("%d %+v, want %d %v", got, a, code, ready)
			}
			return a
		}
		expect(http.StatusOK, true)
		needed = errors.New("no route")
		expect(http.StatusOK, true) // the result of the last check is still fresh
		time.Sleep(2 * time.Second)
		if a := expect(http.StatusServiceUnavailable, false); a.Checks[0].Error != "no route" || a.Checks[0].OK {
			t.Errorf("the checks are %+v", a.Checks)
		}
		needed, optional = nil, errors.New("gone")
		time.Sleep(2 * time.Second)
		if a := expect(http.StatusOK, true); a.Checks[1].OK || a.Checks[1].Error != "gone" {
			t.Errorf("the checks are %+v", a.Checks)
		}
		if n := probes.Load(); n != 3 {
			t.Errorf("the database was asked %d times", n)
		}
		h.Drain()
		if a := expect(http.StatusServiceUnavailable, false); !a.Draining {
			t.Error("it does not say that it drains")
		}
		if code, _ := ask(t, over, "/healthz"); code != http.StatusOK {
			t.Errorf("it drains and does not live: %d", code)
		}
		if code, _ := ask(t, over, "/v1/other"); code != http.StatusNotFound {
			t.Errorf("another route is answered with %d", code)
		}
	})
}

// TestDrainingEndsAConnectionWithItsNextAnswer checks that a request on an open connection is
// answered, and that the connection then closes.
func TestDrainingEndsAConnectionWithItsNextAnswer(t *testing.T) {
	h := New()
	server := httptest.NewServer(h.Handler(http.NotFoundHandler()))
	defer server.Close()
	client := server.Client()
	var reused bool
	trace := httptrace.WithClientTrace(t.Context(),
		&httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
	for i, want := range []struct{ drains, reused, ends bool }{{}, {true, true, true}, {true, false, true}} {
		if want.drains {
			h.Drain()
		}
		r, err := http.NewRequestWithContext(trace, http.MethodPost, server.URL+"/v1/other", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body) // so that the connection can be reused
		_ = answer.Body.Close()
		if reused != want.reused || answer.Close != want.ends {
			t.Errorf("request %d: on an open connection %v, the last of it %v; want %+v", i, reused, answer.Close, want)
		}
	}
}

// TestAProbeThatHangs checks that a hanging probe is aborted and does not block callers forever.
func TestAProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Check{Name: "database", Probe: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		if a := h.Check(t.Context()); a.Ready || a.Checks[0].Error == "" {
			t.Errorf("it is %+v", a)
		}
	})
}
