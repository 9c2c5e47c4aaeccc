package control_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// TestTokenThatAsksTooMuch checks that it gets a Retry-After before any lookup, and that other
// tokens are not delayed.
func TestTokenThatAsksTooMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	w.serve(ratelimit.Options{Rate: 1, Burst: 3, Now: func() time.Time { return now }})
	count := func(bearer string) (good int, last answer) {
		for range 10 {
			if last = w.call(bearer, http.MethodGet, "/v1/whoami", nil); last.Status == http.StatusOK {
				good++
			}
		}
		return good, last
	}
	good, last := count(w.one.token["viewer"])
	if good != 4 { // the first, which identified it, and its burst
		t.Errorf("%d requests were answered", good)
	}
	w.refusedAs(last, http.StatusTooManyRequests, "too_many_requests")
	if last.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q", last.Header.Get("Retry-After"))
	}
	if good, _ := count(w.one.token["operator"]); good != 4 {
		t.Errorf("another token was answered %d times", good)
	}
	now = now.Add(2 * time.Second)
	if good, _ := count(w.one.token["viewer"]); good != 2 {
		t.Errorf("after 2 s %d requests were answered", good)
	}
}

// TestStreamsOfOneTokenAreBounded checks that a token that has too many open streams gets no other one
// of any kind until one ends, that it is answered otherwise, and that other tokens are not affected.
func TestStreamsOfOneTokenAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths, workflow, _ := w.streams()
	w.serve(ratelimit.Options{Rate: 10_000, Streams: len(paths)})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for _, path := range paths {
		w.open(ctx, path, "")
	}
	opens := func(role, path string) bool {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+w.one.token[role])
		r.Header.Set("Accept", "text/event-stream")
		got, err := http.DefaultClient.Do(r)
		must(t, err)
		must(t, got.Body.Close())
		return got.StatusCode == http.StatusOK
	}
	for _, path := range paths {
		if opens("operator", path) {
			t.Fatalf("%s: opened", path)
		}
		refused := w.call(w.one.token["operator"], http.MethodGet, path, nil, "Accept", "text/event-stream")
		p := w.refusedAs(refused, http.StatusTooManyRequests, "too_many_streams")
		if p.Detail == "" || refused.Header.Get("Retry-After") != "5" {
			t.Errorf("%s: %+v, Retry-After %q", path, p, refused.Header.Get("Retry-After"))
		}
	}
	if got := w.call(w.one.token["operator"], http.MethodGet, "/v1/jobs/job_busy/logs", nil); got.Status != http.StatusOK {
		t.Errorf("a log at once: %d %s", got.Status, got.Body)
	}
	events := "/v1/workflows/" + workflow + "/events"
	if !opens("viewer", events) {
		t.Error("another token opens no stream")
	}
	leave()
	testtime.Until(t, "the token opens a stream after its others have ended", func() bool {
		return opens("operator", events)
	})
}

// TestGuesses checks that an address that sends only wrong tokens causes no more lookups, except
// for genuine tokens.
func TestGuesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	w.serve(ratelimit.Options{Now: func() time.Time { return now }})
	w.call(w.one.token["viewer"], http.MethodGet, "/v1/whoami", nil)
	for range 300 {
		w.call("nuon_guess", http.MethodGet, "/v1/whoami", nil)
	}
	w.refusedAs(w.call("nuon_guess", http.MethodGet, "/v1/whoami", nil),
		http.StatusTooManyRequests, "too_many_requests")
	for _, role := range []string{"viewer", "admin"} { // one that was seen before, and one that was not
		if got := w.call(w.one.token[role], http.MethodGet, "/v1/whoami", nil); got.Status != http.StatusOK {
			t.Errorf("a good token pays for others: %d %s", got.Status, got.Body)
		}
	}
	w.refusedAs(w.call("", http.MethodPost, "/hooks/"+w.one.org.ID+"/hok_1", "{}"),
		http.StatusTooManyRequests, "too_many_requests")
}

// TestForgedTokensAreRefusedWithoutTheDatabase: a lookup would fail with a server error here.
func TestForgedTokensAreRefusedWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.Close()
	if got := w.call(
		w.one.token["viewer"], http.MethodGet, "/v1/whoami", nil,
	); got.Status != http.StatusServiceUnavailable {
		t.Fatalf("a genuine token: %d %s", got.Status, got.Body)
	}
	for range 10 {
		forged, _ := token.NewKeys([]byte("a guess")).Mint(token.Control, w.one.org.ID)
		w.refusedAs(w.call(forged, http.MethodGet, "/v1/whoami", nil), http.StatusUnauthorized, "unauthorized")
	}
}

// TestDeliveriesAreBounded checks the limit, and that forged deliveries do not use up a webhook's
// quota.
func TestDeliveriesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	w.serve(ratelimit.Options{Rate: 1, Burst: 2, BehindProxy: true, Now: func() time.Time { return now }})
	made, err := w.one.as("admin").CreateWebhookWithResponse(t.Context(), api.NewWebhook{})
	must(t, err)
	hook := made.JSON201
	deliver := func(from, body string) answer {
		at := strconv.FormatInt(now.Unix(), 10)
		return w.call("", http.MethodPost, hook.Path, body, "X-Forwarded-For", from,
			forge.HeaderTimestamp, at, forge.HeaderSignature,
			forge.Sign(seal.NewSecret([]byte(hook.Secret)), at, []byte(body)))
	}
	if got := deliver("192.0.2.1", "{}"); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	for range 400 {
		w.call("", http.MethodPost, hook.Path, "{}", "X-Forwarded-For", "198.51.100.1")
	}
	if got := w.call(
		"", http.MethodPost, hook.Path, "{}", "X-Forwarded-For", "198.51.100.1",
	); got.Status != http.StatusTooManyRequests {
		t.Errorf("forged for long: %d %s", got.Status, got.Body)
	}
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if got := deliver("192.0.2.1", strings.Repeat(" ", i)+"{ }"); got.Status != want {
			t.Errorf("delivery %d: %d %s", i, got.Status, got.Body)
		}
	}
}

// deadlines is a writer that records the deadlines of its connection.
type deadlines struct {
	*httptest.ResponseRecorder
	mu          sync.Mutex
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = t
	return nil
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write = t
	return nil
}

// TestEveryRouteHasAnEnd checks that a client that stops sending or reading is disconnected on
// every route, and that every response has the security headers for browsers. A stream sets a
// deadline per write.
func TestEveryRouteHasAnEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	handler := w.handler(ratelimit.Options{})
	for _, op := range operations(t) {
		for _, bearer := range []string{"", w.one.token["admin"]} {
			d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequestWithContext(t.Context(), op.Method,
				strings.NewReplacer("{", "no-", "}", "").Replace(op.Path), strings.NewReader("{}"))
			r.Header.Set("Authorization", "Bearer "+bearer)
			begun := time.Now()
			handler.ServeHTTP(d, r)
			for name, until := range map[string]time.Time{"read": d.read, "write": d.write} {
				if until.IsZero() || until.Sub(begun) > 2*time.Minute {
					t.Errorf("%s: the %s deadline is %s", op.ID, name, until)
				}
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
				"Referrer-Policy": "no-referrer", "Nuon-Api": strconv.Itoa(version.API), "Nuon-Version": version.Number,
			} {
				if got := d.Header().Get(name); got != want {
					t.Errorf("%s: %s is %q", op.ID, name, got)
				}
			}
		}
	}
}
