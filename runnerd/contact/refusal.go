package contact

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Refusal is an answer other than yes.
type Refusal struct {
	// Doing is what was tried: "lease", "deliver the result of job_1/2".
	Doing string
	// Status is the HTTP status.
	Status int
	// Code is the stable word for programs, empty when the answer was no problem+json.
	Code string
	// Title says what is wrong, Detail what to do about it.
	Title, Detail string
	// Body is the answer's body, for answers that carry more than a problem.
	Body []byte
	// Stranger: it was not the runner API that answered, but something on the way, such as the page of a proxy. What it says, also
	// yes, says nothing of the call.
	Stranger bool
	// RetryAfter is how long the server asks to be left alone, at most longestAsked; 0 when it asks for nothing.
	RetryAfter time.Duration
}

// longestAsked bounds what a server may ask for: a runner that stays away longer looks as if it were gone.
const longestAsked = 30 * time.Second

// Error gives what was tried, why not, and what to do.
func (r *Refusal) Error() string {
	title := r.Title
	if title == "" {
		title = http.StatusText(r.Status)
	}
	text := fmt.Sprintf("%s: %s (HTTP %d", r.Doing, strings.TrimRight(title, "."), r.Status)
	if r.Code != "" {
		text += ", " + r.Code
	}
	text += ")"
	if r.Detail != "" {
		text += "; " + r.Detail
	}
	if r.Stranger {
		text += "; this is no answer of a runner API: look at what is between here and it, and at --url"
	}
	return text
}

// Passing tells whether the same call may succeed later: the server is overloaded, restarting or behind a proxy that cannot reach
// it; or the two are of different generations (426), until one of them is updated: what was done must not be thrown away for that.
// A key that the server does not know (401, 403) counts as passing too where work would be lost otherwise; the caller decides that
// with Final.
func (r *Refusal) Passing() bool {
	return r.Stranger || mayPass(r.Status) || r.Status == http.StatusUpgradeRequired
}

// ByStatus is a Pace's Final for a call that a person waits for: what a stranger says counts by its status.
func ByStatus(r *Refusal) bool { return !mayPass(r.Status) }

func mayPass(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// AsRefusal gives the Refusal in err, nil when there was no answer at all.
func AsRefusal(err error) *Refusal {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return nil
}

// HasStatus tells whether err is an answer with that HTTP status, whoever gave it.
func HasStatus(err error, status int) bool {
	refusal := AsRefusal(err)
	return refusal != nil && refusal.Status == status
}

// Check gives nil when the runner API says yes, else a *Refusal. body is the answer's body. A yes is 202 or 204, or JSON; every no
// of the runner API is a problem with a code. The exception is 413: who does not let so much through now never will.
func Check(doing string, answer *http.Response, body []byte) error {
	if isYes(answer) || answer.StatusCode == http.StatusAccepted || answer.StatusCode == http.StatusNoContent {
		return nil
	}
	refusal := &Refusal{Doing: doing, Status: answer.StatusCode, Body: body}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		refusal.RetryAfter = time.Duration(min(max(seconds, 0), int(longestAsked.Seconds()))) * time.Second
	}
	var problem api.Problem
	if strings.Contains(answer.Header.Get("Content-Type"), "json") && json.Unmarshal(body, &problem) == nil {
		refusal.Code, refusal.Title, refusal.Detail = problem.Code, problem.Title, problem.Detail
	}
	refusal.Stranger = refusal.Code == "" && refusal.Status != http.StatusRequestEntityTooLarge
	return refusal
}

// isYes says that an answer is a yes with something in it.
func isYes(answer *http.Response) bool {
	return answer.StatusCode >= 200 && answer.StatusCode < 300 && strings.Contains(answer.Header.Get("Content-Type"), "json")
}
