package runner_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/runnerprogram"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

// stall sends a body that does not end until the test does. A request that is refused, because another one of the test
// was processed meanwhile, is sent again.
func (s served) stall(t *testing.T, path, token string, begun []byte) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path,
				io.MultiReader(bytes.NewReader(begun), untilDone{ctx}))
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Authorization", "Bearer "+token)
			if response, err := http.DefaultClient.Do(request); err == nil {
				_ = response.Body.Close()
			}
		}
	}()
}

// untilDone is a body that sends nothing and ends with its context.
type untilDone struct{ ctx context.Context }

func (u untilDone) Read([]byte) (int, error) {
	<-u.ctx.Done()
	return 0, u.ctx.Err()
}

// TestBodiesOfOneRunnerAreBounded checks that a runner that sends bodies and does not end them uses a bounded
// part of the memory, and that another runner is served meanwhile.
func TestBodiesOfOneRunnerAreBounded(t *testing.T) {
	t.Parallel()
	s := serveBounded(t, nil, ratelimit.Options{Rate: 10_000, EachBodies: 1 << 20, AllBodies: 4 << 20})
	r, other := s.Runner(t, runners.KindBuild), s.Runner(t, runners.KindBuild)
	begun := []byte(`{"lineage":"` + strings.Repeat("a", 400<<10))
	path := "/runner/v1/jobs/x/attempts/1/state"
	for range 2 {
		s.stall(t, path, r.Key, begun)
	}
	testtime.Until(t, "it is refused", func() bool {
		a := s.send(t, path, r.Key, "gzip", bytes.NewReader(zipped(t, begun, []byte(`"}`))))
		return a.status == http.StatusTooManyRequests && a.code(t) == "too_much_at_once" && a.header.Get("Retry-After") != ""
	})
	if a := s.send(t, path, other.Key, "", bytes.NewReader(append(begun, `"}`...))); a.status != http.StatusUnprocessableEntity {
		t.Errorf("another runner gets %d %s", a.status, a.body)
	}
}

// TestBodiesOfStrangersAreBounded does the same for clients that register, which are checked only after their body.
func TestBodiesOfStrangersAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	registration := s.registration(t)
	begun := []byte(`{"name":"` + strings.Repeat("a", 1000<<10))
	for range 8 {
		s.stall(t, "/runner/v1/register", registration, begun)
	}
	testtime.Until(t, "it is refused", func() bool {
		a := s.send(t, "/runner/v1/register", registration, "gzip", bytes.NewReader(zipped(t, begun, []byte(`"}`))))
		return a.status == http.StatusTooManyRequests && a.code(t) == "too_much_at_once"
	})
	r := s.Runner(t, runners.KindBuild)
	s.ok(t, "POST", "/runner/v1/heartbeat", r.Key, api.Heartbeat{}, nil)
}

// TestOnlyRegistrationTokensRegister checks that other genuine tokens, of which a claim is in every stack, are refused
// before the body is read.
func TestOnlyRegistrationTokensRegister(t *testing.T) {
	t.Parallel()
	c := serveCloudBounded(t, ratelimit.Options{})
	claim := c.claimed(t, ofCustomer).claim
	for name, token := range map[string]string{"a claim": claim, "a runner key": c.Runner(t, runners.KindBuild).Key} {
		body := &unread{}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/runner/v1/register", body)
		must(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Expect", "100-continue") // the body is sent once the server reads it
		transport := &http.Transport{ExpectContinueTimeout: testtime.Limit}
		response, err := transport.RoundTrip(request)
		must(t, err)
		_ = response.Body.Close()
		transport.CloseIdleConnections()
		if response.StatusCode != http.StatusUnauthorized || body.read {
			t.Errorf("%s: %s, and the body was read: %v", name, response.Status, body.read)
		}
	}
}

// unread is a body that records whether it was read.
type unread struct{ read bool }

func (u *unread) Read([]byte) (int, error) {
	u.read = true
	return 0, io.EOF
}

// TestSpellingsOfAClaimCountAsOne checks that line breaks in a token, which decoders of base64 ignore, make no other
// token of it.
func TestSpellingsOfAClaimCountAsOne(t *testing.T) {
	t.Parallel()
	c := serveCloudBounded(t, ratelimit.Options{})
	claim := c.claimed(t, ofCustomer).claim
	for _, spelled := range []string{claim[:len(claim)-7] + "\n" + claim[len(claim)-7:], claim[:len(claim)-3] + "\r\n" +
		claim[len(claim)-3:]} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/runner/v1/claim/challenge",
			strings.NewReader("{}"))
		must(t, err)
		request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("x:"+spelled)))
		if a := do(t, request); a.status != http.StatusUnauthorized {
			t.Errorf("%q: %d %s", spelled, a.status, a.body)
		}
	}
}

// TestPollsOfOneRunnerAreBounded checks that a runner has a bounded number of requests that wait.
func TestPollsOfOneRunnerAreBounded(t *testing.T) {
	t.Parallel()
	s := serveBounded(t, nil, ratelimit.Options{Rate: 10_000, Streams: 2})
	key := s.Runner(t, runners.KindBuild).Key
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		t.Cleanup(func() { stop(); <-done })
		client, err := api.NewClientWithResponses(s.url, api.WithRequestEditorFn(
			func(_ context.Context, r *http.Request) error {
				r.Header.Set("Authorization", "Bearer "+key)
				return nil
			}))
		must(t, err)
		go func() {
			defer close(done)
			for ctx.Err() == nil { // a poll that came while the test's own was open was refused
				_, _ = client.LeaseWithResponse(ctx, api.LeaseRequest{Free: 1, WaitSeconds: 300}) // held until the test ends
			}
		}()
	}
	testtime.Until(t, "it is refused", func() bool {
		a := s.call(t, "POST", "/runner/v1/lease", key, api.LeaseRequest{Free: 1, WaitSeconds: -1})
		return a.status == http.StatusTooManyRequests && a.code(t) == "too_many_streams"
	})
	s.ok(t, "POST", "/runner/v1/heartbeat", key, api.Heartbeat{}, nil)
}

// TestDownloadsOfOneAddressAreBounded checks that clients that do not read the runner's program take few of its
// places.
func TestDownloadsOfOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runnerd")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Truncate(file, 32<<20)) // more than the buffers of a connection have room for
	program, err := runnerprogram.Open(file)
	must(t, err)
	t.Cleanup(func() { _ = program.Close() })
	server := httptest.NewServer(runner.New(runner.Options{Program: program, Quota: ratelimit.Options{BehindProxy: true}}))
	t.Cleanup(server.Close)
	address := program.Runner(server.URL).DownloadURL
	download := func(from string) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		must(t, err)
		request.Header.Set("X-Forwarded-For", from)
		response, err := http.DefaultClient.Do(request)
		must(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	for n := range 5 {
		want := http.StatusOK
		if n == 4 {
			want = http.StatusTooManyRequests
		}
		if got := download("192.0.2.1").StatusCode; got != want {
			t.Errorf("download %d: %d, want %d", n+1, got, want)
		}
	}
	if got := download("192.0.2.2").StatusCode; got != http.StatusOK {
		t.Errorf("another address: %d", got)
	}
}
