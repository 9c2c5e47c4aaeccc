// Package middleware is the middleware of every HTTP listener of the reconciler. It gives each request
// an id, sends the nuon version and rejects clients of another API generation, limits how long a
// client may take to send and to read, sets the headers that protect answers from browsers and
// caches, and turns a panic into a 500 without internal details. It does not depend on routes,
// tokens or callers. Each listener wraps its handler with it.
package middleware

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// Options configure New.
type Options struct {
	// Time is how long a client may take to send its request and to read the answer; zero means a
	// minute. A handler that needs another limit calls Within or Unhurried.
	Time time.Duration
	// Log receives panics; nil means slog.Default().
	Log *slog.Logger
}

// usualTime is long enough for small requests over slow connections.
const usualTime = time.Minute

// New wraps a handler. Inside another such wrapper it passes requests through, so that a nested
// handler has one request id and one deadline.
func New(next http.Handler, o Options) http.Handler {
	if o.Time == 0 {
		o.Time = usualTime
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if RequestID(r.Context()) != "" {
			next.ServeHTTP(w, r)
			return
		}
		id := newID()
		header := w.Header()
		header.Set(problem.HeaderRequest, id)
		header.Set(version.HeaderAPI, strconv.Itoa(version.API))
		header.Set(version.HeaderNumber, version.Number)
		for name, value := range always {
			header.Set(name, value)
		}
		Within(w, o.Time)
		answer := &response{ResponseWriter: w}
		ctx := telemetry.ContextWithAttrs(context.WithValue(r.Context(), idKey{}, id), slog.String("request", id))
		r = r.WithContext(ctx)
		defer o.caught(answer, r)
		if err := spoken(r); err != nil {
			refuseGeneration(answer, r, err)
			return
		}
		next.ServeHTTP(answer, r)
	})
}

// always are the headers of every answer. An answer is data for a program: browsers must not run,
// frame, sniff or store it, nor send its URL as a referrer. Strict transport security is left to
// the proxy that terminates TLS.
var always = map[string]string{
	"Cache-Control":           "no-store",
	"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	"Referrer-Policy":         "no-referrer",
	"X-Content-Type-Options":  "nosniff",
	"X-Frame-Options":         "DENY",
}

// caught answers for a handler that panicked. It aborts an answer that has started, so that the
// client does not take it for complete.
func (o Options) caught(w *response, r *http.Request) {
	panicked := recover()
	if panicked == nil {
		return
	}
	if panicked == http.ErrAbortHandler { //nolint:errorlint,err113 // the exact value that net/http documents
		panic(panicked)
	}
	log := o.Log
	if log == nil {
		log = slog.Default()
	}
	log.ErrorContext(r.Context(), "handler panicked", "request", RequestID(r.Context()), "method",
		r.Method, "path", r.URL.Path,
		"panic", panicked, "stack", string(debug.Stack()))
	if w.started {
		panic(http.ErrAbortHandler)
	}
	problem.Write(w, problem.Internal)
}

type idKey struct{}

// RequestID returns the id of the request that a context belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

// newID returns an unpredictable id. The server chooses it, so that client input does not get
// into the log.
func newID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime aborts the program if the system has no randomness
	return "req_" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// grace is added to the time of a request for reading, so that a handler's own timeout comes
// first, and once more for writing, so that an answer about a timeout can still be sent.
const grace = 5 * time.Second

// Within limits the time from now in which the client of a request may send the rest of it and read
// the answer. Then the connection is closed.
func Within(w http.ResponseWriter, d time.Duration) {
	control, until := http.NewResponseController(w), time.Now().Add(d+grace)
	// Writers without deadlines occur only in tests.
	_ = control.SetReadDeadline(until)
	_ = control.SetWriteDeadline(until.Add(grace))
}

// Paced returns a writer whose client has the time piece to read each piece of the answer, and the time
// total for all of it, so that clients that stop reading do not hold a place for long.
func Paced(w http.ResponseWriter, piece, total time.Duration) http.ResponseWriter {
	Within(w, total)
	return &pacedWriter{ResponseWriter: w, piece: piece, until: time.Now().Add(total)}
}

type pacedWriter struct {
	http.ResponseWriter
	piece time.Duration
	until time.Time
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write writes a piece, for which the client has its time.
func (p *pacedWriter) Write(b []byte) (int, error) {
	until := time.Now().Add(p.piece)
	if p.until.Before(until) {
		until = p.until
	}
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(until) // writers without deadlines occur only in tests
	return p.ResponseWriter.Write(b)
}

// Unhurried removes the deadlines of an answer. A streaming handler must bound each write itself.
func Unhurried(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
}

// response records whether its answer has started.
type response struct {
	http.ResponseWriter
	started bool
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader starts the answer, unless the status is informational.
func (r *response) WriteHeader(status int) {
	r.started = r.started || status >= http.StatusOK
	r.ResponseWriter.WriteHeader(status)
}

// Write starts the answer.
func (r *response) Write(b []byte) (int, error) {
	r.started = true
	return r.ResponseWriter.Write(b)
}

// FlushError sends the buffered answer.
func (r *response) FlushError() error {
	r.started = true
	return http.NewResponseController(r.ResponseWriter).Flush()
}
