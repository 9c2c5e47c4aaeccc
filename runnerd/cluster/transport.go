package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// readLimit bounds one request that reads, and writeLimit one that writes: a server ends those itself after 60 s, and only what it says
	// then tells whether it was done.
	readLimit, writeLimit = 30 * time.Second, 70 * time.Second
	// patience is how long a read is tried again while nobody answers, and the pauses go from pauseFirst to pauseMost.
	patience              = 30 * time.Second
	pauseFirst, pauseMost = 200 * time.Millisecond, 5 * time.Second
)

// bounded is the transport of a Cluster: each request has an end, and a read that got no answer is tried again. A write never is: it may
// have been done.
func (c *Cluster) bounded(next http.RoundTripper) http.RoundTripper {
	return &transport{next: next, log: c.log, patience: patience}
}

type transport struct {
	next     http.RoundTripper
	log      Log
	patience time.Duration
	told     sync.Once
}

// RoundTrip sends one request within its bounds.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return t.once(request, writeLimit)
	}
	if endless(request) {
		response, err := t.next.RoundTrip(request)
		if err == nil {
			if err = stays(request, response); err != nil {
				_ = response.Body.Close()
				return nil, err
			}
		}
		return response, err
	}
	end := time.Now().Add(t.patience)
	for pause := pauseFirst; ; pause = min(2*pause, pauseMost) {
		response, err := t.once(request, readLimit)
		if err == nil || request.Context().Err() != nil || !silence(err) || time.Now().Add(pause).After(end) {
			return response, err
		}
		t.told.Do(func() {
			t.log.Warn("the API server at %s does not answer; trying again for %s", request.URL.Host, t.patience)
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

// endless: a watch, and a log that is followed, take as long as they take.
func endless(request *http.Request) bool {
	query := request.URL.Query()
	return query.Get("watch") == "true" || query.Get("watch") == "1" || query.Get("follow") == "true"
}

// silence: nobody answered. A server that cannot be who it claims to be is another matter.
func silence(err error) bool {
	var network net.Error
	return utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network)
}

// once sends the request, and ends it after limit, the reading of its answer too.
func (t *transport) once(request *http.Request, limit time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(request.Context(), limit, fmt.Errorf("no answer of %s in %s: %w", request.URL.Host, limit, context.DeadlineExceeded))
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &ending{ReadCloser: response.Body, cancel: cancel}
	if err := stays(request, response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// stays returns an error for a redirect to another server: the login would be sent there, too. What is behind an API server, such as that of
// an API that somebody added, must not send the runner's login elsewhere.
func stays(request *http.Request, response *http.Response) error {
	if response.StatusCode < 300 || response.StatusCode > 399 {
		return nil
	}
	to, err := response.Location()
	if err != nil || to.Scheme == request.URL.Scheme && to.Host == request.URL.Host { // nothing is followed without a Location
		return nil //nolint:nilerr // see above
	}
	return fmt.Errorf("the API server at %s answers %s with a redirect to %s, and no login goes there; correct the server, or what answers behind it",
		request.URL.Host, request.URL.Path, to.Host)
}

// ending is a body whose request ends with it.
type ending struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body and lets go of the request.
func (e *ending) Close() error {
	err := e.ReadCloser.Close()
	e.cancel()
	return err
}
