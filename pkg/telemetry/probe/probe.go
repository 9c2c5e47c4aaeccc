// Package probe reports whether a program is alive (/healthz) and whether it should receive work
// (/readyz), to load balancers, supervisors and people. It owns the two routes and their format;
// the caller provides the checks. The reconciler mounts it on every listener.
package probe

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Check is one check of a program's health.
type Check struct {
	Name string
	// Probe returns an error that describes the problem.
	Probe func(context.Context) error
	// Optional checks are shown but do not affect readiness, because the program can do part of its
	// work without them.
	Optional bool
}

// Report is the body of /readyz.
type Report struct {
	Ready    bool     `json:"ready"`
	Draining bool     `json:"draining,omitempty"`
	Checks   []Result `json:"checks"`
}

// Result is the result of one check.
type Result struct {
	Name         string  `json:"name"`
	OK           bool    `json:"ok"`
	Optional     bool    `json:"optional,omitempty"`
	Milliseconds float64 `json:"milliseconds"`
	Error        string  `json:"error,omitempty"`
}

// Limits of the checks: each runs at most once per cacheTime, for any number of requests.
const (
	cacheTime    = time.Second
	probeTimeout = 3 * time.Second
)

// Health is the state of one program. It is safe for concurrent use.
type Health struct {
	checks   []Check
	draining atomic.Bool

	mu    sync.Mutex
	taken time.Time
	last  []Result
}

// New returns the health of a program with checks in the order in which they are shown.
func New(checks ...Check) *Health { return &Health{checks: checks} }

// Drain marks the program as about to stop: it is not ready any more, but still answers.
func (h *Health) Drain() { h.draining.Store(true) }

// Check runs the checks, or returns results that are at most cacheTime old.
func (h *Health) Check(ctx context.Context) Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.taken) > cacheTime {
		h.last = h.probe(ctx)
		h.taken = time.Now()
	}
	a := Report{Draining: h.draining.Load(), Checks: h.last}
	a.Ready = !a.Draining
	for _, r := range a.Checks {
		a.Ready = a.Ready && (r.OK || r.Optional)
	}
	return a
}

// probe runs all checks concurrently. It has its own timeout instead of the caller's, because its
// results are shared by all callers.
func (h *Health) probe(ctx context.Context) []Result {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer stop()
	all := make([]Result, len(h.checks))
	var probes sync.WaitGroup
	for i, c := range h.checks {
		probes.Go(func() {
			started := time.Now()
			err := c.Probe(ctx)
			all[i] = Result{Name: c.Name, OK: err == nil, Optional: c.Optional,
				Milliseconds: float64(time.Since(started).Microseconds()) / 1000}
			if err != nil {
				all[i].Error = err.Error()
			}
		})
	}
	probes.Wait()
	return all
}

// Handler handles the two routes and passes all others to next. Once the program drains, each response
// is the last one on its connection, so that the client sends its next request elsewhere. Idle
// connections stay open, because closing them would lose a request that is already on its way.
func (h *Health) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			next.ServeHTTP(w, r)
		case r.URL.Path == "/healthz":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, "ok\n") // the client may have disconnected
		case r.URL.Path == "/readyz":
			h.ready(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (h *Health) ready(w http.ResponseWriter, r *http.Request) {
	a := h.Check(r.Context())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !a.Ready {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(a) // see above
}
