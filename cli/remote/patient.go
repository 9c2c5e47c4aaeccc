package remote

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// patient comes again when the control plane says when: after it was asked for too much (429), whatever the request was for nothing
// was done with it; and while it cannot do anything (503), if the request may be made twice.
type patient struct{ below http.RoundTripper }

// patienceLimit is how long one request is held back in all, with the time that its refusals take, before the last is shown.
const patienceLimit = time.Minute

type impatience struct{}

// AtOnce makes requests whose refusal is the answer: of who asks how the control plane is, it is no use to wait until it is well.
func AtOnce(ctx context.Context) context.Context { return context.WithValue(ctx, impatience{}, true) }

// RoundTrip makes one request, perhaps several times.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	begun, atOnce := time.Now(), r.Context().Value(impatience{}) != nil
	for {
		answer, err := p.below.RoundTrip(r)
		if err != nil {
			return answer, err
		}
		wait, again := comeAgain(r, answer)
		if !again || atOnce || time.Since(begun)+wait > patienceLimit {
			return answer, nil
		}
		next := r.Clone(r.Context())
		if r.GetBody != nil {
			if next.Body, err = r.GetBody(); err != nil {
				return answer, nil //nolint:nilerr // it cannot be sent again, so the refusal is the answer
			}
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // so that the connection can be used again
		_ = answer.Body.Close()
		if !backoff.Pause(r.Context(), wait) {
			return nil, r.Context().Err()
		}
		r = next
	}
}

// comeAgain says whether a request is to be made again, and after how long.
func comeAgain(r *http.Request, answer *http.Response) (time.Duration, bool) {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > int(patienceLimit.Seconds()) || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return 0, false
	}
	wait := max(time.Duration(seconds)*time.Second, 100*time.Millisecond)
	switch answer.StatusCode {
	case http.StatusTooManyRequests:
		return wait, true
	case http.StatusServiceUnavailable:
		return wait, r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header.Get("Idempotency-Key") != ""
	}
	return 0, false
}
