// Package edge is what stands before every HTTP listener of the reconciler, whatever answers behind it: it gives each request an id,
// says which nuon answers and refuses clients of another generation, bounds how long a client may take to send and to read, sets the
// headers that keep browsers and caches away from the answer, and turns a panic into a 500 that tells nothing. It knows no route, no token and no caller. Whoever serves a listener wraps its handler.
package edge

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

// Options are how a listener is guarded.
type Options struct {
	// Time is how long a client may take to send its request and to read the answer; zero means a minute. A handler that needs
	// another time says so with Within or Unhurried.
	Time time.Duration
	// Log is told of panics; nil means slog.Default().
	Log *slog.Logger
}

// usualTime is long enough for small requests over bad lines.
const usualTime = time.Minute

// New guards a handler. Behind another guard it lets requests pass as they are: one that is guarded twice has one id and one end.
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
		ctx := telemetry.With(context.WithValue(r.Context(), idKey{}, id), slog.String("request", id))
		r = r.WithContext(ctx)
		defer o.caught(answer, r)
		if err := spoken(r); err != nil {
			refuseGeneration(answer, r, err)
			return
		}
		next.ServeHTTP(answer, r)
	})
}

// always are the headers of every answer. An answer is data for a program: no browser is to run, frame, guess at or keep it, and none
// is to say elsewhere where it came from. Which transport clients must use is for the proxy to say that ends TLS.
var always = map[string]string{
	"Cache-Control":           "no-store",
	"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	"Referrer-Policy":         "no-referrer",
	"X-Content-Type-Options":  "nosniff",
	"X-Frame-Options":         "DENY",
}

// caught answers for a handler that panicked. What has begun to be answered can only be cut off, so that nobody takes it for whole.
func (o Options) caught(w *response, r *http.Request) {
	panicked := recover()
	if panicked == nil {
		return
	}
	if panicked == http.ErrAbortHandler { //nolint:errorlint,err113 // the very value that net/http asks for
		panic(panicked)
	}
	log := o.Log
	if log == nil {
		log = slog.Default()
	}
	log.ErrorContext(r.Context(), "a request made its handler panic", "request", RequestID(r.Context()), "method", r.Method, "path", r.URL.Path,
		"panic", panicked, "stack", string(debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	problem.Write(w, problem.Internal)
}

type idKey struct{}

// RequestID is the id of the request that a context belongs to, empty where there is none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

// newID makes an id that nobody can foretell or choose: what a client says of itself does not get into the log.
func newID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the program where the system has no randomness
	return "req_" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// grace is what reading lasts beyond the time of a request, so that a handler ends by its own clock first, and writing beyond reading,
// so that an answer that says "too late" can still be sent.
const grace = 5 * time.Second

// Within gives the client of a request this long from now to send the rest of it and to read the answer; then the connection is cut.
func Within(w http.ResponseWriter, d time.Duration) {
	control, until := http.NewResponseController(w), time.Now().Add(d+grace)
	// Writers without deadlines are those of tests.
	_ = control.SetReadDeadline(until)
	_ = control.SetWriteDeadline(until.Add(grace))
}

// Unhurried lets an answer last as long as the client reads it. Whoever streams bounds each write by itself.
func Unhurried(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
}

// response knows whether its answer has begun.
type response struct {
	http.ResponseWriter
	begun bool
}

// Unwrap lets http.ResponseController find what the writer below can do.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader begins the answer, unless the status only says that there is more to come.
func (r *response) WriteHeader(status int) {
	r.begun = r.begun || status >= http.StatusOK
	r.ResponseWriter.WriteHeader(status)
}

// Write begins the answer.
func (r *response) Write(b []byte) (int, error) {
	r.begun = true
	return r.ResponseWriter.Write(b)
}

// FlushError sends what was written so far.
func (r *response) FlushError() error {
	r.begun = true
	return http.NewResponseController(r.ResponseWriter).Flush()
}
