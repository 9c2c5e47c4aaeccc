// Package problem writes the errors of both HTTP interfaces of the reconciler as
// application/problem+json (RFC 9457): a stable code, one sentence, and a remedy. It maps the
// refusals of the services to HTTP statuses. An error that is neither a refusal nor a problem of
// this package becomes a 500 without internal details. The control API and the runner API call it;
// it depends on neither, and nothing below them imports it.
package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// ContentType is the type of every answer of this package.
const ContentType = "application/problem+json"

// HeaderRequest carries the id of a request in its answer. If it is set before a problem is
// written, the problem and the log contain it too.
const HeaderRequest = "X-Request-Id"

// Error is a problem that the client receives in full, so it must not contain secrets or data of
// another org.
type Error struct {
	Status      int              // the HTTP status; anything that is not an error status becomes 500
	Code        string           // a stable identifier for programs, such as not_found
	Title       string           // what is wrong, in one sentence
	Detail      string           // the remedy; may be empty
	Diagnostics []api.Diagnostic // positions in files, if the problem is in files
	RetryAfter  int              // seconds to wait before a retry; 0 sends no header
}

// New returns a problem without diagnostics.
func New(status int, code, title, detail string) Error {
	return Error{Status: status, Code: code, Title: title, Detail: detail}
}

// Error returns the title and the detail.
func (e Error) Error() string {
	if e.Detail == "" {
		return e.Title
	}
	return e.Title + " " + e.Detail
}

// Internal is the answer for an error that is not a problem, and for a handler that panicked.
var Internal = Error{
	Status: http.StatusInternalServerError, Code: "internal",
	Title:  "Internal error.",
	Detail: "Try again; if it keeps failing, see the reconciler's log.",
}

// statusOf maps the kinds of refusal to HTTP.
var statusOf = map[refusal.Kind]int{
	refusal.Invalid:         http.StatusUnprocessableEntity,
	refusal.Conflict:        http.StatusConflict,
	refusal.NotFound:        http.StatusNotFound,
	refusal.Unauthenticated: http.StatusUnauthorized,
	refusal.Forbidden:       http.StatusForbidden,
	refusal.Upstream:        http.StatusBadGateway,
	refusal.Full:            http.StatusInsufficientStorage,
	refusal.TooOften:        http.StatusTooManyRequests,
}

// Of returns the problem that an error is or wraps, or that of a refusal. For any other error it
// returns Internal, and known is false.
func Of(err error) (problem Error, known bool) {
	var value Error
	if errors.As(err, &value) {
		return value, true
	}
	var pointer *Error
	if errors.As(err, &pointer) && pointer != nil {
		return *pointer, true
	}
	var refused *refusal.Error
	if errors.As(err, &refused) && refused != nil {
		return Error{
			Status: statusOf[refused.Kind], Code: refused.Code, Title: refused.Title, Detail: refused.Remedy,
			Diagnostics: refused.Diagnostics, RetryAfter: int(refused.RetryAfter.Seconds()),
		}, true
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return New(http.StatusRequestEntityTooLarge, "too_large",
			fmt.Sprintf("The request's body is larger than %d bytes, the maximum of this route.", large.Limit),
			"Send a smaller request."), true
	}
	var away interface {
		error
		RetryAfter() time.Duration
	}
	if errors.As(err, &away) {
		return Error{
			Status: http.StatusServiceUnavailable, Code: "database_away",
			Title:      "The control plane cannot reach its database now.",
			Detail:     "Try again in a moment; check first whether it took effect.",
			RetryAfter: int(max(1, away.RetryAfter().Seconds())),
		}, true
	}
	return Internal, false
}

// Write answers a request with the problem in err, or with 500 `internal`.
func Write(w http.ResponseWriter, err error) {
	problem, _ := Of(err)
	if problem.Status < 400 || problem.Status > 599 {
		problem.Status = http.StatusInternalServerError
	}
	// Strings and numbers always marshal.
	header := w.Header()
	body, _ := json.Marshal(api.Problem{
		Type: "urn:nuon:problem:" + problem.Code, Code: problem.Code, Status: problem.Status,
		Title: problem.Title, Detail: problem.Detail, Diagnostics: problem.Diagnostics,
		Request: header.Get(HeaderRequest),
	})
	if problem.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(problem.RetryAfter))
	}
	header.Set("Content-Type", ContentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(problem.Status)
	_, _ = w.Write(body) // the client may have gone away
}

// Writer returns an error handler in the form of generated servers: it writes an error, and logs
// what the client does not receive.
func Writer(log *slog.Logger) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		if _, known := Of(err); !known && r.Context().Err() == nil {
			log.ErrorContext(r.Context(), "request failed", "request", w.Header().Get(HeaderRequest), "method",
				r.Method, "path", r.URL.Path, "error", err)
		}
		Write(w, err)
	}
}

// maxDecodeError bounds how much of a decoder's error goes back to the client, in bytes.
const maxDecodeError = 300

// Undecodable answers a request that could not be decoded: 413 for a body that is too large, 400
// for everything else. A decoder's error describes the client's own input, so it is safe to
// return.
func Undecodable(w http.ResponseWriter, _ *http.Request, err error) {
	if _, known := Of(err); known {
		Write(w, err)
		return
	}
	words := err.Error()
	if len(words) > maxDecodeError {
		words = words[:maxDecodeError] + "…"
	}
	Write(w, New(http.StatusBadRequest, "bad_request", "The request is not valid for this route.", words))
}
