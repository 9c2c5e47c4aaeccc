package replicas

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
)

// spans is a collector that stores the spans that it receives.
type spans struct {
	mu  sync.Mutex
	all []*trace.Span
	raw strings.Builder
}

// ServeHTTP accepts OTLP over HTTP.
func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			s.all = append(s.all, scope.GetSpans()...)
		}
	}
	fmt.Fprint(&s.raw, request.String())
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// stories returns the names of the spans of each trace.
func (s *spans) stories() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string][]string{}
	for _, span := range s.all {
		id := fmt.Sprintf("%x", span.GetTraceId())
		all[id] = append(all[id], span.GetName())
	}
	return all
}

// TestOneTraceFromPushToApply checks that the spans of all programs for one push form one trace,
// across two reconcilers, a build runner, a person and the customer's runner, and that it contains
// no secret.
func TestOneTraceFromPushToApply(t *testing.T) {
	const secret = "otlp-header-secret-5d1"
	got := &spans{}
	server := httptest.NewServer(got)
	t.Cleanup(server.Close)
	w := newWorld(t, fleet.Options{Replicas: 2, Env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=" + secret,
		"OTEL_BSP_SCHEDULE_DELAY=200",
	}})
	w.start("prompt")
	approveUntilApplied := func() {
		w.until(fmt.Sprintf("push %d is approved and applied", w.pushed), func() (bool, error) {
			out, err := w.fleet.Nuon(t.Context(), "review", "-o", "name")
			if err != nil {
				return false, err
			}
			for _, approval := range strings.Fields(string(out)) {
				// it fails for an approval that no longer waits; the next round lists them again
				_, _ = w.fleet.Nuon(t.Context(), "approve", approval)
			}
			return w.isApplied()
		})
	}
	approveUntilApplied()
	w.push()
	w.nuon("sync", "--app", "app")
	approveUntilApplied()
	want := []string{"approval", "build", "catalog", "job apply", "job build", "job plan", "observe", "rollout"}
	w.until("the push is one trace", func() (bool, error) {
		for _, names := range got.stories() {
			applies := count(names, "job apply") // the first push applied the sandbox, too
			slices.Sort(names)
			if slices.Equal(slices.Compact(names), want) && applies == 1 {
				return true, nil
			}
		}
		return false, nil
	})
	stories := got.stories()
	if n := len(stories); n != 2 {
		t.Errorf("two pushes made %d traces: %v", n, stories)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	if text := got.raw.String(); strings.Contains(text, secret) || strings.Contains(text, w.fleet.Token) ||
		!strings.Contains(text, "nuon.install") {
		t.Error("what was exported has a secret, or no ids")
	}
}

func count(names []string, name string) (n int) {
	for _, s := range names {
		if s == name {
			n++
		}
	}
	return n
}
