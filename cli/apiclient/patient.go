package apiclient

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// retryTransport retries a request when the control plane asks for it with Retry-After: after 429
// always, because the request had no effect; after 503 only if the request may be sent twice.
type retryTransport struct{ next http.RoundTripper }

// retryLimit is the maximum total time for the retries of one request.
const retryLimit = time.Minute

type noRetryKey struct{}

// WithoutRetries returns a context whose requests are not retried, for callers that
// check the health of the control plane.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, noRetryKey{}, true)
}

// RoundTrip sends a request, and retries it where allowed.
func (p retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	begun, atOnce := time.Now(), r.Context().Value(noRetryKey{}) != nil
	for {
		answer, err := p.next.RoundTrip(r)
		if err != nil {
			return answer, err
		}
		wait, again := retryAfter(r, answer)
		if !again || atOnce || time.Since(begun)+wait > retryLimit {
			return answer, nil
		}
		next := r.Clone(r.Context())
		if r.GetBody != nil {
			if next.Body, err = r.GetBody(); err != nil {
				return answer, nil //nolint:nilerr // it cannot be sent again, so the refusal is the answer
			}
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // so that the connection can be reused
		_ = answer.Body.Close()
		if !backoff.Pause(r.Context(), wait) {
			return nil, r.Context().Err()
		}
		r = next
	}
}

// retryAfter reports whether a request may be retried, and after how long.
func retryAfter(r *http.Request, answer *http.Response) (time.Duration, bool) {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > int(retryLimit.Seconds()) ||
		r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
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
