package insight

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Requests counts what a listener answers. template gives the route that a request is for, without what a client may choose;
// empty counts as "other".
func (m *Metrics) Requests(listener string, template func(*http.Request) string, next http.Handler) http.Handler {
	flying := m.inFlight.WithLabelValues(listener)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := template(r)
		if route == "" {
			route = "other"
		}
		began, answer := time.Now(), &answer{ResponseWriter: w, status: http.StatusOK}
		flying.Inc()
		if strings.HasSuffix(route, " /runner/v1/lease") {
			m.polls.Inc()
			defer m.polls.Dec()
		}
		if strings.HasSuffix(route, "/attempts/{attempt}/logs") && r.Body != nil {
			r.Body = &counted{ReadCloser: r.Body, add: m.logBytes.Add}
		}
		defer func() {
			flying.Dec()
			m.requests.WithLabelValues(listener, route, strconv.Itoa(answer.status/100)+"xx").Inc()
			m.took.WithLabelValues(listener, route).Observe(time.Since(began).Seconds())
		}()
		next.ServeHTTP(answer, r)
	})
}

// TemplateOf gives the routes of a mux as templates. The mux is only asked, so its handlers may be anything.
func TemplateOf(mux *http.ServeMux) func(*http.Request) string {
	return func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		return pattern
	}
}

// answer knows the status of what was answered.
type answer struct {
	http.ResponseWriter
	status int
	begun  bool
}

// Unwrap lets http.ResponseController find what the writer below can do.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader notes the status.
func (a *answer) WriteHeader(status int) {
	if !a.begun && status >= http.StatusOK {
		a.status, a.begun = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write begins the answer.
func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// counted tells how many bytes were read of a body.
type counted struct {
	io.ReadCloser
	add func(float64)
}

// Read reads and counts.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.add(float64(n))
	return n, err
}
