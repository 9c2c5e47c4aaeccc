// Package health answers whether a program lives (/healthz) and whether it should be given work (/readyz), for load balancers,
// supervisors and people. It owns the two routes and their form; what is checked is its caller's. The reconciler mounts it on every
// listener.
package health

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Check is one thing that is looked at.
type Check struct {
	Name string
	// Probe gives an error whose words say what is wrong.
	Probe func(context.Context) error
	// Optional: it is shown, but the program is ready without it, as a part of its work is.
	Optional bool
}

// Answer is the body of /readyz.
type Answer struct {
	Ready    bool     `json:"ready"`
	Draining bool     `json:"draining,omitempty"`
	Checks   []Result `json:"checks"`
}

// Result is how one check came out.
type Result struct {
	Name         string  `json:"name"`
	OK           bool    `json:"ok"`
	Optional     bool    `json:"optional,omitempty"`
	Milliseconds float64 `json:"milliseconds"`
	Error        string  `json:"error,omitempty"`
}

// Bounds of the checks: however often somebody asks, each is made at most once in freshFor.
const (
	freshFor  = time.Second
	probeTime = 3 * time.Second
)

// Health is the state of one program. It is safe for concurrent use.
type Health struct {
	checks   []Check
	draining atomic.Bool

	mu    sync.Mutex
	taken time.Time
	last  []Result
}

// New makes the health of a program from its checks, in the order in which they are shown.
func New(checks ...Check) *Health { return &Health{checks: checks} }

// Drain says that the program is about to stop: it is not ready any more, though it still answers.
func (h *Health) Drain() { h.draining.Store(true) }

// Look makes the checks, or gives how they came out a moment ago.
func (h *Health) Look(ctx context.Context) Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.taken) > freshFor {
		h.last = h.probe(ctx)
		h.taken = time.Now()
	}
	a := Answer{Draining: h.draining.Load(), Checks: h.last}
	a.Ready = !a.Draining
	for _, r := range a.Checks {
		a.Ready = a.Ready && (r.OK || r.Optional)
	}
	return a
}

// probe makes all checks at once. One caller's hurry must not become every caller's bad news, so it has its own time.
func (h *Health) probe(ctx context.Context) []Result {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
	defer stop()
	all := make([]Result, len(h.checks))
	var probes sync.WaitGroup
	for i, c := range h.checks {
		probes.Go(func() {
			began := time.Now()
			err := c.Probe(ctx)
			all[i] = Result{Name: c.Name, OK: err == nil, Optional: c.Optional, Milliseconds: float64(time.Since(began).Microseconds()) / 1000}
			if err != nil {
				all[i].Error = err.Error()
			}
		})
	}
	probes.Wait()
	return all
}

// Over answers the two routes and leaves all others to next. Once the program drains, each answer is the last of its connection, so that
// the client makes its next one elsewhere. Connections that wait for a request stay open: a request that is on its way on one would be
// lost if it was closed now.
func (h *Health) Over(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			next.ServeHTTP(w, r)
		case r.URL.Path == "/healthz":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, "ok\n") // a caller that has gone away is nobody to tell
		case r.URL.Path == "/readyz":
			h.ready(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (h *Health) ready(w http.ResponseWriter, r *http.Request) {
	a := h.Look(r.Context())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !a.Ready {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(a) // as above
}
