package helmsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// seen records the requests that get through.
type seen struct{ requests []string }

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(content)
	}
	s.requests = append(s.requests, fmt.Sprintf("%s %s %s", r.Method, r.URL, body))
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

var paths = []string{"/api/v1/namespaces/a/configmaps", "/api/v1/namespaces/a/configmaps/b",
	"/apis/apps/v1/namespaces/a/deployments/b", "/api/v1/namespaces/a/pods/b/exec",
	"/api/v1/namespaces/a/pods/b/eviction", "/api/v1/namespaces/a/pods/b/proxy/x", "/api/v1/namespaces/a/services/b/proxy",
	"/api/v1/nodes/n/proxy/run", "/openapi/v3"}

func anyRequest(t *rapid.T) *http.Request {
	method := rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE",
		"delete", "MOVE"}).Draw(t, "method")
	path := rapid.SampledFrom(paths).Draw(t, "path")
	query := rapid.SampledFrom([]string{"", "?dryRun=", "?fieldManager=x", "?dryRun=None&x=1", "?watch=true"}).Draw(t,
		"query")
	body := rapid.SampledFrom([]string{"", "{}", `{"dryRun":[]}`, `{"propagationPolicy":"Background"}`, "k8s\x00protobuf",
		"null", "[]"}).Draw(t, "body")
	return httptest.NewRequest(method, path+query, strings.NewReader(body)).WithContext(context.Background())
}

// No writing request gets through a dry run without its mark, where the server reads it.
func TestDryRunMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var next seen
		answer, err := dryRun(&next).RoundTrip(anyRequest(t))
		if err == nil {
			_ = answer.Body.Close()
		}
		for _, got := range next.requests {
			parts := strings.SplitN(got, " ", 3)
			if parts[0] == "GET" || parts[0] == "HEAD" {
				if strings.Contains(parts[1], "/exec") || strings.Contains(parts[1], "/proxy") {
					t.Fatalf("this acts: %s", got)
				}
				continue
			}
			if !strings.Contains(parts[1], "dryRun=All") || strings.Count(parts[1], "dryRun") != 1 {
				t.Fatalf("no dry run: %s", got)
			}
			if parts[0] == "DELETE" {
				var options struct{ DryRun []string }
				if err := json.Unmarshal([]byte(parts[2]), &options); err != nil || !slices.Equal(options.DryRun, []string{"All"}) {
					t.Fatalf("no dry run in the body: %s", got)
				}
			}
		}
	})
}

// A template can send only reading requests.
func TestReadOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var next seen
		answer, err := readOnly(&next).RoundTrip(anyRequest(t))
		if err == nil {
			_ = answer.Body.Close()
		}
		for _, got := range next.requests {
			if !strings.HasPrefix(got, "GET ") && !strings.HasPrefix(got, "HEAD ") || strings.Contains(got, "/exec") ||
				strings.Contains(got, "/proxy") {
				t.Fatalf("this got through: %s", got)
			}
		}
	})
}

// When the context ends, pending requests and responses that are being read end, and
// new requests are not sent.
func TestBind(t *testing.T) {
	begun := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
		}
		begun <- r.URL.Path
		<-r.Context().Done()
	}))
	defer server.Close()
	over := errors.New("it is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	client := &http.Client{Transport: bind(ctx)(http.DefaultTransport)}
	results := make(chan error, 2)
	for _, path := range []string{"/never", "/slow"} {
		go func() {
			answer, err := client.Get(server.URL + path)
			if err == nil {
				_, err = io.ReadAll(answer.Body)
				_ = answer.Body.Close()
			}
			results <- err
		}()
		<-begun
	}
	cancel(over)
	for range 2 {
		select {
		case err := <-results:
			if err == nil {
				t.Error("a request went on")
			}
		case <-testtime.After():
			t.Fatal("a request waits on")
		}
	}
	if _, err := client.Get(server.URL); !errors.Is(err, over) { //nolint:bodyclose // there is none
		t.Errorf("a new request: %v", err)
	}
}
