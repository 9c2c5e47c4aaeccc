package apiclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// ResponseError is an unsuccessful response.
type ResponseError struct {
	// Operation is the operation that was tried: "lease", "deliver the result of job_1/2".
	Operation string
	// Status is the HTTP status.
	Status int
	// Code is the stable code for programs; empty when the response was no problem+json.
	Code string
	// Title describes the problem, Detail the remedy.
	Title, Detail string
	// Body is the body of the response, for responses that carry more than a problem.
	Body []byte
	// NotFromAPI means that the response did not come from the runner API but from
	// something in between, such as a proxy's page. Even if it is successful, it is not
	// the result of the call.
	NotFromAPI bool
	// RetryAfter is the pause that the server requests, at most maxRetryAfter; 0 for none.
	RetryAfter time.Duration
}

// maxRetryAfter bounds the pause that a server may request: a runner that is silent for longer
// appears to be offline.
const maxRetryAfter = 30 * time.Second

// Error returns the operation, the reason and the remedy.
func (e *ResponseError) Error() string {
	title := e.Title
	if title == "" {
		title = http.StatusText(e.Status)
	}
	text := fmt.Sprintf("%s: %s (HTTP %d", e.Operation, strings.TrimRight(title, "."), e.Status)
	if e.Code != "" {
		text += ", " + e.Code
	}
	text += ")"
	if e.Detail != "" {
		text += "; " + e.Detail
	}
	if e.NotFromAPI {
		text += "; this is not a response of a runner API: check proxies between the runner and it, and --url"
	}
	return text
}

// IsTemporary reports whether the same call may succeed later: the server is overloaded,
// restarting or behind a proxy that cannot reach it; or it does not support this runner's
// API version (426) until one of them is updated, for which no work may be discarded.
// Where work would be lost otherwise, an unknown key (401, 403) counts as passing, too;
// the caller decides that with IsFinal.
func (e *ResponseError) IsTemporary() bool {
	return e.NotFromAPI || isTemporaryStatus(e.Status) || e.Status == http.StatusUpgradeRequired
}

// FinalByStatus is a RetryPolicy's IsFinal for a call that a person waits for: it judges every response
// by its status, even one of a stranger.
func FinalByStatus(r *ResponseError) bool { return !isTemporaryStatus(r.Status) }

func isTemporaryStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// AsResponseError returns the ResponseError in err, or nil when there was no response.
func AsResponseError(err error) *ResponseError {
	var refusal *ResponseError
	if errors.As(err, &refusal) {
		return refusal
	}
	return nil
}

// HasStatus reports whether err is a response with the HTTP status, from any server.
func HasStatus(err error, status int) bool {
	refusal := AsResponseError(err)
	return refusal != nil && refusal.Status == status
}

// CheckResponse returns nil for a successful response of the runner API, and otherwise a *ResponseError.
// body is the body of the response. A successful response is 202 or 204, or JSON;
// every rejection of the runner API is a problem with a code. The exception is 413,
// for which the code may be missing: a proxy with a size limit never lets the call through.
func CheckResponse(doing string, answer *http.Response, body []byte) error {
	if isSuccess(answer) || answer.StatusCode == http.StatusAccepted || answer.StatusCode == http.StatusNoContent {
		return nil
	}
	refusal := &ResponseError{Operation: doing, Status: answer.StatusCode, Body: body}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		refusal.RetryAfter = time.Duration(min(max(seconds, 0), int(maxRetryAfter.Seconds()))) * time.Second
	}
	var problem api.Problem
	if strings.Contains(answer.Header.Get("Content-Type"), "json") && json.Unmarshal(body, &problem) == nil {
		refusal.Code, refusal.Title, refusal.Detail = problem.Code, truncate.Text(problem.Title, maxText),
			truncate.Text(problem.Detail, maxText)
	}
	refusal.NotFromAPI = refusal.Code == "" && refusal.Status != http.StatusRequestEntityTooLarge
	return refusal
}

// maxText bounds the texts of a problem, in bytes: they are part of errors, and of the log.
const maxText = 4 << 10

// isSuccess reports whether a response is successful and has content.
func isSuccess(answer *http.Response) bool {
	return answer.StatusCode >= 200 && answer.StatusCode < 300 &&
		strings.Contains(answer.Header.Get("Content-Type"), "json")
}
