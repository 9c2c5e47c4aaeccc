// Package problem is how both HTTP interfaces of the reconciler say that something went wrong: application/problem+json (RFC
// 9457) with a stable code, one sentence, and what to do about it. An error that is not a problem of this package becomes a 500
// that tells nothing of what happened inside. The control API and the runner API call it; it knows neither.
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
)

// ContentType of every answer that this package writes.
const ContentType = "application/problem+json"

// HeaderRequest carries the id of a request in its answer. Whoever sets it before a problem is written has it in the problem and in
// the log, too.
const HeaderRequest = "X-Request-Id"

// Error is a problem that its reader may see whole, so it must hold no secret and nothing of another org.
type Error struct {
	Status      int              // the HTTP status; anything that is no error status counts as 500
	Code        string           // a stable word for programs, such as not_found
	Title       string           // what is wrong, in one sentence
	Detail      string           // what to do about it; may be empty
	Diagnostics []api.Diagnostic // places in files, when the problem is in files
	RetryAfter  int              // seconds after which to ask again; 0 says nothing of it
}

// New makes a problem without diagnostics.
func New(status int, code, title, detail string) Error {
	return Error{Status: status, Code: code, Title: title, Detail: detail}
}

// Error gives the title and the detail.
func (e Error) Error() string {
	if e.Detail == "" {
		return e.Title
	}
	return e.Title + " " + e.Detail
}

// Internal is what a reader sees of an error that is not a problem, and of a request that made its handler panic.
var Internal = Error{
	Status: http.StatusInternalServerError, Code: "internal",
	Title:  "The server could not do this.",
	Detail: "Try again; if it stays so, the reconciler's log of this time says why.",
}

// Of gives the problem that an error is or wraps. known is false for any other error, which becomes the 500 `internal`.
func Of(err error) (problem Error, known bool) {
	var value Error
	if errors.As(err, &value) {
		return value, true
	}
	var pointer *Error
	if errors.As(err, &pointer) && pointer != nil {
		return *pointer, true
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return New(http.StatusRequestEntityTooLarge, "too_large",
			fmt.Sprintf("The request's body is larger than the %d bytes that this route takes.", large.Limit), "Send less at once."), true
	}
	var away interface {
		error
		RetryAfter() time.Duration
	}
	if errors.As(err, &away) {
		return Error{
			Status: http.StatusServiceUnavailable, Code: "database_away", Title: "The control plane cannot reach its database now.",
			Detail: "Ask again in a moment; look first whether it was done.", RetryAfter: int(max(1, away.RetryAfter().Seconds())),
		}, true
	}
	return Internal, false
}

// Write answers a request with the problem that err is; an error that is none becomes 500 `internal`.
func Write(w http.ResponseWriter, err error) {
	problem, _ := Of(err)
	if problem.Status < 400 || problem.Status > 599 {
		problem.Status = http.StatusInternalServerError
	}
	// Strings and numbers always marshal.
	header := w.Header()
	body, _ := json.Marshal(api.Problem{
		Type: "urn:nuon:problem:" + problem.Code, Code: problem.Code, Status: problem.Status,
		Title: problem.Title, Detail: problem.Detail, Diagnostics: problem.Diagnostics, Request: header.Get(HeaderRequest),
	})
	if problem.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(problem.RetryAfter))
	}
	header.Set("Content-Type", ContentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(problem.Status)
	_, _ = w.Write(body) // a client that has gone away is nobody to tell
}

// Writer gives a function in the form that generated servers ask for: it writes an error, and logs what its reader is not told.
func Writer(log *slog.Logger) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		if _, known := Of(err); !known && r.Context().Err() == nil {
			log.ErrorContext(r.Context(), "request went wrong", "request", w.Header().Get(HeaderRequest), "method", r.Method, "path", r.URL.Path, "error", err)
		}
		Write(w, err)
	}
}

// mostOfDecodeError bounds how much of a decoder's words go back to the client, in bytes.
const mostOfDecodeError = 300

// Undecodable answers a request that could not be decoded: 413 for a body that is too large, 400 for everything else. The words
// of the decoder speak of the client's own input.
func Undecodable(w http.ResponseWriter, _ *http.Request, err error) {
	if _, known := Of(err); known {
		Write(w, err)
		return
	}
	words := err.Error()
	if len(words) > mostOfDecodeError {
		words = words[:mostOfDecodeError] + "…"
	}
	Write(w, New(http.StatusBadRequest, "bad_request", "The request is not what this route takes.", words))
}
