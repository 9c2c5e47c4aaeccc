package cluster

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func pemOf(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}

// TestOnlyReadsAreTriedAgain checks that a read without an answer is retried. A write is not,
// because the server may have executed it.
func TestOnlyReadsAreTriedAgain(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "there")
	}))
	defer server.Close()
	send := func(method, query string) (string, error) {
		calls.Store(0)
		tried := &transport{next: &http.Transport{DisableKeepAlives: true}, log: silent{}, retryFor: time.Minute}
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := tried.RoundTrip(request)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	}
	if text, err := send(http.MethodGet, ""); err != nil || text != "there" {
		t.Errorf("a read: %q %v", text, err)
	}
	for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodPut} {
		if _, err := send(method, ""); err == nil || calls.Load() != 1 {
			t.Errorf("%s: %v after %d calls", method, err, calls.Load())
		}
	}
	if _, err := send(http.MethodGet, "/?watch=true"); err == nil || calls.Load() != 1 {
		t.Errorf("a watch: %v after %d calls", err, calls.Load())
	}
}

func TestARequestHasAnEnd(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer server.Close()
	defer close(release)
	tried := &transport{next: http.DefaultTransport, log: silent{}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := tried.once(request, 20*time.Millisecond)
	if err == nil {
		_ = response.Body.Close()
		t.Fatal("it had no end")
	}
	if said := Explain(err).Error(); !strings.Contains(said, "does not answer") {
		t.Error(said)
	}
}
