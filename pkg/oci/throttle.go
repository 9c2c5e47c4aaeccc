package oci

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// maxThrottlePause is the longest pause that a registry may ask for. maxThrottles bounds how often
// one request waits.
const (
	maxThrottlePause = 2 * time.Minute
	maxThrottles     = 10
)

// throttled is a transport that waits as long as a registry asks for (429 or 503 with Retry-After),
// and then sends the request again. A longer pause, and a request whose body was read, are left to
// the caller.
type throttled struct {
	http.RoundTripper
	pause func(ctx context.Context, span time.Duration) bool
}

// newTransport returns the transport of a registry client over base.
func newTransport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &retry.Transport{Base: throttled{base, backoff.Pause}, Policy: func() retry.Policy { return retryPolicy }}
}

// retryPolicy repeats requests that a registry could not answer, except those that asked for a pause
// that throttled does not make.
var retryPolicy = &retry.GenericPolicy{
	Retryable: func(response *http.Response, err error) (bool, error) {
		if response != nil {
			if _, asked := retryAfter(response); asked {
				return false, nil
			}
		}
		return retry.DefaultPredicate(response, err)
	},
	Backoff: retry.DefaultBackoff, MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 5,
}

// RoundTrip sends one request.
func (t throttled) RoundTrip(request *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		response, err := t.RoundTripper.RoundTrip(request)
		if err != nil || try > maxThrottles || request.Body != nil && request.GetBody == nil {
			return response, err
		}
		span, asked := retryAfter(response)
		if !asked || span > maxThrottlePause {
			return response, nil
		}
		_ = response.Body.Close() // nothing more is read
		if !t.pause(request.Context(), span) {
			return nil, context.Cause(request.Context())
		}
		if request.Body != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retryAfter returns the pause that a registry asks for.
func retryAfter(response *http.Response) (time.Duration, bool) {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	text := response.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}
