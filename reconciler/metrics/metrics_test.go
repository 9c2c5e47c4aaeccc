package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// scrape returns what Prometheus reads.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(http.NotFoundHandler(), false).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics answers %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func expect(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%q is not among\n%s", line, text)
		}
	}
}

func listener(m *Metrics, handler http.HandlerFunc) http.Handler {
	routes := http.NewServeMux()
	for _, pattern := range []string{
		"GET /v1/installs/{install}", "POST /runner/v1/lease", "POST /runner/v1/jobs/{job}/attempts/{attempt}/logs",
	} {
		routes.Handle(pattern, http.NotFoundHandler())
	}
	return m.InstrumentHandler("test", RouteTemplate(routes), handler)
}

// TestRequestsAreCountedByTemplate checks that nothing that a client chooses becomes a label.
func TestRequestsAreCountedByTemplate(t *testing.T) {
	m := New("1.2.3")
	over := listener(m, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "bad") {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	for _, path := range []string{
		"/v1/installs/secret-one", "/v1/installs/secret-two", "/v1/installs/secret-bad",
		"/secret/secret", "/secret/other",
	} {
		over.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	over.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("SECRET", "/v1/installs/x", nil))
	over.ServeHTTP(httptest.NewRecorder(),
		httptest.NewRequest(http.MethodPost, "/runner/v1/jobs/secret/attempts/1/logs", strings.NewReader("12345")))
	text := scrape(t, m)
	expect(t, text,
		`nuon_http_requests_total{class="2xx",listener="test",route="GET /v1/installs/{install}"} 2`,
		`nuon_http_requests_total{class="4xx",listener="test",route="GET /v1/installs/{install}"} 1`,
		`nuon_http_requests_total{class="2xx",listener="test",route="other"} 3`,
		`nuon_http_in_flight{listener="test"} 0`, `nuon_log_received_bytes_total 5`,
		`nuon_build_info{version="1.2.3"} 1`)
	if strings.Contains(strings.ToLower(text), "secret") {
		t.Errorf("what clients choose is a label:\n%s", text)
	}
}

// TestPollsAndStreams checks that an open poll is counted while it lasts, and that a stream is
// flushed.
func TestPollsAndStreams(t *testing.T) {
	m := New("1")
	flushed, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(listener(m, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		close(flushed)
		<-release
	}))
	defer server.Close()
	var asking sync.WaitGroup
	asking.Go(func() {
		answer, err := http.Post(server.URL+"/runner/v1/lease", "", nil) //nolint:noctx // of this test's own server
		if err != nil {
			t.Error(err)
			return
		}
		first := make([]byte, 5)
		if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "first" {
			t.Errorf("streamed %q, %v", first, err)
		}
		expect(t, scrape(t, m), "nuon_lease_polls_waiting 1", `nuon_http_in_flight{listener="test"} 1`)
		close(release)
		_ = answer.Body.Close()
	})
	<-flushed
	asking.Wait()
	server.Close() // waits for the handler
	expect(t, scrape(t, m), "nuon_lease_polls_waiting 0", `nuon_http_in_flight{listener="test"} 0`)
}

// TestWhatTheStoreKnows checks that the store is read on a scrape, at most every few seconds, and
// that a failed read is reported along with the other figures.
func TestWhatTheStoreKnows(t *testing.T) {
	m := New("1")
	asked := 0
	known, err := Figures{
		QueueDelaySeconds: 2.5, FailingJobs: 3, Jobs: map[JobKind]int{{"plan", "queued"}: 4}, AttemptsOutOfContact: 1,
		ContestedStates: 2,
		Runners:         map[string]int{"online": 7}, Replicas: 2,
	}, error(nil)
	source := &collector{sources: Sources{
		Figures:   func(context.Context) (Figures, error) { asked++; return known, err },
		Pool:      func() Pool { return Pool{InUse: 5, Idle: 6, Max: 24, Waits: 9, Waited: 1500 * time.Millisecond} },
		Listening: func() bool { return true }, Reconnects: func() int { return 4 },
	}}
	m.registry.MustRegister(source)
	scrape(t, m)
	expect(t, scrape(t, m), "nuon_due_late_seconds 2.5", "nuon_work_failing 3",
		`nuon_jobs_open{kind="plan",status="queued"} 4`,
		"nuon_attempts_out_of_contact 1", "nuon_components_contested 2", `nuon_runners{state="online"} 7`,
		"nuon_replicas 2", "nuon_store_readable 1",
		`nuon_pool_connections{state="in_use"} 5`, "nuon_pool_wait_seconds_total 1.5", "nuon_notifier_listening 1",
		"nuon_notifier_reconnects_total 4")
	if asked != 1 {
		t.Errorf("two scrapes asked the store %d times", asked)
	}
	err, source.readAt = errors.New("away"), time.Time{}
	text := scrape(t, m)
	expect(t, text, "nuon_store_readable 0", "nuon_pool_connections_most 24")
	if strings.Contains(text, "nuon_due_late_seconds 2.5") {
		t.Error("old figures are told as if they were new")
	}
}

func TestWorkAndAttempts(t *testing.T) {
	m := New("1")
	m.RecordWork("rollout", time.Second, nil)
	m.RecordWork("rollout", time.Second, errors.New("no"))
	m.RecordPoll("moved", time.Second)
	m.RecordAccepted("plan", time.Second, time.Millisecond)
	m.RecordEnded("plan", "succeeded", time.Minute)
	expect(t, scrape(t, m), `nuon_work_total{kind="rollout",outcome="again"} 1`,
		`nuon_work_total{kind="rollout",outcome="done"} 1`,
		`nuon_git_look_seconds_count{outcome="moved"} 1`, `nuon_job_queued_seconds_count{kind="plan"} 1`,
		`nuon_attempt_accept_seconds_sum{kind="plan"} 0.001`,
		`nuon_attempt_run_seconds_count{kind="plan",outcome="succeeded"} 1`)
}

func TestProfilesAreOffByDefault(t *testing.T) {
	for profiles, want := range map[bool]int{false: http.StatusNotFound, true: http.StatusOK} {
		w := httptest.NewRecorder()
		New("1").Handler(http.NotFoundHandler(), profiles).ServeHTTP(w,
			httptest.NewRequest(http.MethodGet, "/debug/pprof/cmdline", nil))
		if w.Code != want {
			t.Errorf("with profiles %v: %d", profiles, w.Code)
		}
	}
}
