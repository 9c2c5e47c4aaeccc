package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// readLimit bounds one read request, and writeLimit one write request. A server ends
	// a write after 60 s, and only its answer reports whether the write was made.
	readLimit, writeLimit = 30 * time.Second, 70 * time.Second
	// retryFor is how long a read is retried while the server does not answer. The pauses grow
	// from pauseFirst to pauseMax.
	retryFor             = 30 * time.Second
	pauseFirst, pauseMax = 200 * time.Millisecond, 5 * time.Second
)

// limitRequests returns the transport of a Cluster: each request has a time limit, and a read without
// an answer is retried. A write is never retried, because the server may have executed it.
func (c *Cluster) limitRequests(next http.RoundTripper) http.RoundTripper {
	return &transport{next: next, log: c.log, retryFor: retryFor}
}

type transport struct {
	next     http.RoundTripper
	log      Log
	retryFor time.Duration
	logRetry sync.Once
}

// RoundTrip sends one request within its bounds.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return t.once(request, writeLimit)
	}
	if isStreaming(request) {
		response, err := t.next.RoundTrip(request)
		if err == nil {
			if err = checkRedirect(request, response); err != nil {
				_ = response.Body.Close()
				return nil, err
			}
		}
		return response, err
	}
	end := time.Now().Add(t.retryFor)
	for pause := pauseFirst; ; pause = min(2*pause, pauseMax) {
		response, err := t.once(request, readLimit)
		if err == nil || request.Context().Err() != nil || !isUnanswered(err) || time.Now().Add(pause).After(end) {
			return response, err
		}
		t.logRetry.Do(func() {
			t.log.Warn("the API server at %s does not answer; trying again for %s", request.URL.Host, t.retryFor)
		})
		wait := time.NewTimer(pause)
		select {
		case <-request.Context().Done():
			wait.Stop()
			return nil, err
		case <-wait.C:
		}
	}
}

// isStreaming reports whether a request is a watch or reads a log. These have no time limit.
func isStreaming(request *http.Request) bool {
	query := request.URL.Query()
	return query.Get("watch") == "true" || query.Get("watch") == "1" || strings.HasSuffix(request.URL.Path, "/log")
}

// isUnanswered reports whether the server did not answer. A server with the wrong
// certificate is not silent.
func isUnanswered(err error) bool {
	var network net.Error
	return utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network)
}

// once sends the request with a time limit that includes reading the response body.
func (t *transport) once(request *http.Request, limit time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(request.Context(), limit,
		fmt.Errorf("no answer of %s in %s: %w", request.URL.Host, limit, context.DeadlineExceeded))
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &cancelingBody{ReadCloser: response.Body, cancel: cancel}
	if err := checkRedirect(request, response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// checkRedirect returns an error for a redirect to another server, because the login would be
// sent there, too. A server behind the API server, such as that of an added API, must not
// redirect the runner's login.
func checkRedirect(request *http.Request, response *http.Response) error {
	if response.StatusCode < 300 || response.StatusCode > 399 {
		return nil
	}
	to, err := response.Location()
	// Without a Location no redirect is followed.
	if err != nil || to.Scheme == request.URL.Scheme && to.Host == request.URL.Host {
		return nil //nolint:nilerr // see above
	}
	return fmt.Errorf("the API server at %s answers %s with a redirect to %s, and no login goes there; correct the "+
		"server, or what answers behind it",
		request.URL.Host, request.URL.Path, to.Host)
}

// cancelingBody is a response body that cancels its request when it is closed.
type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body and cancels the request's context.
func (e *cancelingBody) Close() error {
	err := e.ReadCloser.Close()
	e.cancel()
	return err
}
