package metrics

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// InstrumentHandler counts the responses of a listener. template returns the route of a request, without any
// part that a client may choose; an empty route counts as "other".
func (m *Metrics) InstrumentHandler(listener string, template func(*http.Request) string,
	next http.Handler) http.Handler {
	flying := m.inFlight.WithLabelValues(listener)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := template(r)
		if route == "" {
			route = "other"
		}
		began, answer := time.Now(), &statusWriter{ResponseWriter: w, status: http.StatusOK}
		flying.Inc()
		if strings.HasSuffix(route, " /runner/v1/lease") {
			m.polls.Inc()
			defer m.polls.Dec()
		}
		if strings.HasSuffix(route, "/attempts/{attempt}/logs") && r.Body != nil {
			r.Body = &countingReader{ReadCloser: r.Body, add: m.logBytes.Add}
		}
		defer func() {
			flying.Dec()
			m.requests.WithLabelValues(listener, route, strconv.Itoa(answer.status/100)+"xx").Inc()
			m.requestSeconds.WithLabelValues(listener, route).Observe(time.Since(began).Seconds())
		}()
		next.ServeHTTP(answer, r)
	})
}

// RouteTemplate returns a function that maps a request to its route template in a mux. It does not
// call the mux's handlers.
func RouteTemplate(mux *http.ServeMux) func(*http.Request) string {
	return func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		return pattern
	}
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status  int
	started bool
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader records the status.
func (w *statusWriter) WriteHeader(status int) {
	if !w.started && status >= http.StatusOK {
		w.status, w.started = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write records that the response has started.
func (w *statusWriter) Write(b []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(b)
}

// countingReader counts the bytes that are read of a body.
type countingReader struct {
	io.ReadCloser
	add func(float64)
}

// Read reads and counts.
func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.add(float64(n))
	return n, err
}
