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
)

// statusPlane is a fake control plane that answers each request with the next status
// (the last one repeats) and records the requests.
type statusPlane struct {
	statuses []int
	after    string
	slow     time.Duration // how long each answer takes
	requests []string
}

func (m *statusPlane) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(m.slow)
	body := ""
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(b)
	}
	m.requests = append(m.requests, r.Method+" "+body)
	header := http.Header{}
	if m.after != "" {
		header.Set("Retry-After", m.after)
	}
	return &http.Response{StatusCode: m.statuses[min(len(m.requests), len(m.statuses))-1], Header: header,
		Body: io.NopCloser(strings.NewReader("x"))}, nil
}

// TestRetries checks that a refused request is repeated in full after Retry-After, and
// that a request that may have had an effect is not.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		method, key, after string
		statuses           []int
		status, times      int
		took               time.Duration
	}{
		"too many requests":           {"POST", "", "2", []int{429, 429, 201}, 201, 3, 4 * time.Second},
		"repeated at once":            {"POST", "", "0", []int{429, 201}, 201, 2, 100 * time.Millisecond},
		"unavailable, a read":         {"GET", "", "1", []int{503, 200}, 200, 2, time.Second},
		"unavailable, safe to repeat": {"POST", "k", "1", []int{503, 201}, 201, 2, time.Second},
		"unavailable, perhaps done":   {"POST", "", "1", []int{503, 201}, 503, 1, 0},
		"without a time":              {"GET", "", "", []int{429}, 429, 1, 0},
		"a date":                      {"GET", "", "Wed, 21 Oct 2026 07:28:00 GMT", []int{429}, 429, 1, 0},
		"a time that is too long":     {"GET", "", "3600", []int{429}, 429, 1, 0},
		"a negative time":             {"GET", "", "-5", []int{429}, 429, 1, 0},
		"always too many":             {"GET", "", "20", []int{429}, 429, 4, time.Minute},
		"other errors":                {"GET", "", "1", []int{500}, 500, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &statusPlane{statuses: c.statuses, after: c.after}
				r, err := http.NewRequestWithContext(t.Context(), c.method, "http://plane/", strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				if c.key != "" {
					r.Header.Set("Idempotency-Key", c.key)
				}
				start := time.Now()
				answer, err := retryTransport{m}.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if answer.StatusCode != c.status || len(m.requests) != c.times || time.Since(start) != c.took {
					t.Errorf("%d after %d requests and %s, want %d, %d, %s", answer.StatusCode, len(m.requests),
						time.Since(start), c.status, c.times, c.took)
				}
				for _, request := range m.requests {
					if request != c.method+" body" {
						t.Errorf("sent %q", request)
					}
				}
			})
		})
	}
}

// TestRetriesCountSlowResponses checks that the limit includes the time of
// slow responses: a control plane without its database takes seconds for each.
func TestRetriesCountSlowResponses(t *testing.T) {
	for name, c := range map[string]struct {
		ctx   func(context.Context) context.Context
		times int
		took  time.Duration
	}{
		"any request":     {func(ctx context.Context) context.Context { return ctx }, 11, 65 * time.Second},
		"without retries": {WithoutRetries, 1, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &statusPlane{statuses: []int{503}, after: "1", slow: 5 * time.Second}
				r, err := http.NewRequestWithContext(c.ctx(t.Context()), http.MethodGet, "http://plane/", nil)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				answer, err := retryTransport{m}.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if len(m.requests) != c.times || time.Since(start) != c.took {
					t.Errorf("%d requests and %s, want %d and %s", len(m.requests), time.Since(start), c.times, c.took)
				}
			})
		})
	}
}

// TestPatientEnds checks that retries end with their context, and that a body
// that can be read only once is not sent again.
func TestPatientEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &statusPlane{statuses: []int{429}, after: "30"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://plane/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (retryTransport{m}).RoundTrip(r); !errors.Is(err, context.DeadlineExceeded) { //nolint:bodyclose // there is none
			t.Errorf("ended with %v", err)
		}
		m = &statusPlane{statuses: []int{429}, after: "1"}
		r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, "http://plane/",
			io.NopCloser(strings.NewReader("stream")))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := retryTransport{m}.RoundTrip(r)
		if err != nil || answer.StatusCode != http.StatusTooManyRequests || len(m.requests) != 1 {
			t.Errorf("%v after %d requests, %v", answer, len(m.requests), err)
		}
		_ = answer.Body.Close()
	})
}
