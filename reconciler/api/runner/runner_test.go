package runner_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/phonehome"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// served is the runner API over a world.
type served struct {
	*jobstest.World
	url string
}

func serve(t *testing.T, vendor runner.Blobs) served {
	t.Helper()
	return serveBounded(t, vendor, ratelimit.Options{Rate: 10_000})
}

func serveBounded(t *testing.T, vendor runner.Blobs, limits ratelimit.Options) served {
	t.Helper()
	w := jobstest.New(t)
	server := httptest.NewServer(runner.New(runner.Options{
		Jobs: w.Jobs, Runners: w.Runners, States: w.States, Logs: w.Logs, Vendor: vendor, Quota: limits,
		Credentials: build.NewModuleCredentials(w.Store, seal.Identity{}), PhoneHome: phonehome.New(w.Store, nil, nil),
	}))
	t.Cleanup(server.Close)
	t.Cleanup(w.Jobs.Drain)
	return served{w, server.URL}
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// code returns the code of the problem in the response.
func (a answer) code(t testing.TB) string {
	t.Helper()
	var p api.Problem
	if a.header.Get("Content-Type") != problem.ContentType || json.Unmarshal(a.body, &p) != nil ||
		p.Status != a.status || p.Title == "" {
		t.Fatalf("%d is no problem: %s", a.status, a.body)
	}
	return p.Code
}

func (s served) call(t testing.TB, method, path, token string, body any) answer {
	t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case io.Reader:
		reader = b
	default:
		raw, err := json.Marshal(b)
		must(t, err)
		reader = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, reader)
	must(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return do(t, request)
}

func do(t testing.TB, request *http.Request) answer {
	t.Helper()
	came, err := http.DefaultTransport.RoundTrip(request)
	must(t, err)
	defer came.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(came.Body)
	must(t, err)
	return answer{came.StatusCode, came.Header, body}
}

// ok is call with the requirement of a 2xx response, whose body it decodes into out.
func (s served) ok(t testing.TB, method, path, token string, body, out any) {
	t.Helper()
	a := s.call(t, method, path, token, body)
	if a.status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	if out != nil {
		must(t, json.Unmarshal(a.body, out))
	}
}

func attemptPath(ref api.AttemptRef, rest string) string {
	return fmt.Sprintf("/runner/v1/jobs/%s/attempts/%d/%s", ref.Job, ref.Attempt, rest)
}

func aState(serial int64) api.State {
	return api.State{
		Serial: serial, Lineage: "l", Digest: fmt.Sprint("d", serial),
		Sealed: seal.Sealed{KeyID: "key-1", Ciphertext: []byte{1, 2}},
	}
}

func TestARunnersDayOverHTTP(t *testing.T) {
	s := serve(t, nil)
	r := s.Runner(t, runners.KindInstall)
	jobID := s.Job(t, r, "apply", s.Component(t, r))
	var offers api.Offers
	s.ok(t, "POST", "/runner/v1/lease", r.Key, api.LeaseRequest{Free: 2, Version: "0.1.0"}, &offers)
	if len(offers.Offers) != 1 || offers.Offers[0].Job != jobID || offers.Offers[0].Kind != "apply" ||
		offers.Offers[0].AcceptWithinSeconds < 1 {
		t.Fatalf("offers %+v", offers)
	}
	ref := api.AttemptRef{Job: jobID, Attempt: offers.Offers[0].Attempt}
	var accepted api.Accepted
	s.ok(t, "POST", attemptPath(ref, "accept"), r.Key, nil, &accepted)
	var spec api.JobSpec
	s.ok(t, "GET", attemptPath(ref, "spec"), accepted.Token, nil, &spec)
	if spec.Job != jobID || spec.Apply.Deploy.InstallComponent == "" {
		t.Errorf("spec %+v", spec)
	}
	var beat api.HeartbeatAnswer
	s.ok(t, "POST", "/runner/v1/heartbeat", r.Key,
		api.Heartbeat{Version: "0.1.0", Attempts: []api.AttemptRef{ref}}, &beat)
	if len(beat.Attempts) != 1 || beat.Attempts[0].Superseded || beat.LeaseSeconds != accepted.LeaseSeconds {
		t.Errorf("heartbeat: %+v", beat)
	}
	if a := s.call(t, "GET", attemptPath(ref, "state"), accepted.Token, nil); a.status != 404 ||
		a.code(t) != "no_state" {
		t.Errorf("no state: %d %s", a.status, a.body)
	}
	s.ok(t, "POST", attemptPath(ref, "state/lock"), accepted.Token,
		api.StateLock{ID: "lock-1", Info: json.RawMessage(`{"Who":"me"}`)}, nil)
	s.ok(t, "POST", attemptPath(ref, "state"), accepted.Token, aState(1), nil)
	s.ok(t, "POST", attemptPath(ref, "state"), r.Key, aState(2), nil)
	if a := s.call(t, "POST", attemptPath(ref, "state"), r.Key, aState(0)); a.status != 204 {
		t.Errorf("its own older state, late: %d %s", a.status, a.body)
	}
	foreign := aState(3)
	foreign.Lineage = "another"
	if a := s.call(t, "POST", attemptPath(ref, "state"), r.Key, foreign); a.status != 202 {
		t.Errorf("a state that does not follow on: %d %s", a.status, a.body)
	}
	var got api.State
	s.ok(t, "GET", attemptPath(ref, "state"), accepted.Token, nil, &got)
	if diff := cmp.Diff(aState(2), got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	// The job process releases its lock; if it cannot reach the API, runnerd does it later with its
	// key.
	for _, token := range []string{accepted.Token, r.Key} {
		s.ok(t, "POST", attemptPath(ref, "state/lock"), accepted.Token,
			api.StateLock{ID: "lock-1", Info: json.RawMessage(`{"Who":"me"}`)}, nil)
		s.ok(t, "DELETE", attemptPath(ref, "state/lock"), token, nil, nil)
		if held := s.Text(t, "select count(*)::text from state_locks"); held != "0" {
			t.Errorf("%s locks are left", held)
		}
	}
	line := api.LogLine{L: api.Info, M: "applied"}
	for _, token := range []string{r.Key, accepted.Token} {
		s.ok(t, "POST", attemptPath(ref, "logs"), token,
			api.LogBatch{Chunks: []api.NewLogChunk{{Seq: 0, Lines: []api.LogLine{line}}}}, nil)
		s.ok(t, "POST", attemptPath(ref, "result"), token, api.JobResult{Status: api.JobResultStatusSucceeded}, nil)
	}
	if got := s.JobStatus(t, jobID); got != "succeeded" {
		t.Errorf("the job is %s", got)
	}
	if a := s.call(t, "POST", attemptPath(ref, "accept"), r.Key, nil); a.status != 409 || a.code(t) != "offer_gone" {
		t.Errorf("accept what has ended: %d %s", a.status, a.body)
	}
}

func TestRegisterOverHTTP(t *testing.T) {
	s := serve(t, nil)
	forged, _ := token.NewKeys([]byte("a guess")).Mint(token.Registration, s.Org.ID)
	r := s.Runner(t, runners.KindBuild)
	for name, plain := range map[string]string{"forged": forged, "nonsense": "nonsense", "a runner key": r.Key} {
		a := s.call(t, "POST", "/runner/v1/register", plain, api.Registration{Version: "1", Capacity: 1})
		if a.status != 401 || a.code(t) != "registration_refused" ||
			!strings.Contains(string(a.body), "nuon runners register") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := s.call(t, "POST", "/runner/v1/register", "", api.Registration{}); a.status != 401 ||
		a.code(t) != "no_token" || a.header.Get("WWW-Authenticate") == "" {
		t.Errorf("no token: %d %s", a.status, a.body)
	}
}

func TestTheLockedAnswerNamesTheHolder(t *testing.T) {
	s := serve(t, nil)
	one, two := s.Runner(t, runners.KindInstall), s.Runner(t, runners.KindInstall)
	component := s.Component(t, one)
	s.Job(t, one, "apply", component)
	s.Job(t, two, "apply", component)
	first, firstToken := s.Start(t, one)
	second, secondToken := s.Start(t, two)
	s.ok(t, "POST", attemptPath(first, "state/lock"), firstToken,
		api.StateLock{ID: "lock-1", Info: json.RawMessage(`{"Who":"me"}`)}, nil)
	a := s.call(t, "POST", attemptPath(second, "state/lock"), secondToken, api.StateLock{
		ID: "lock-2", Info: json.RawMessage(`{}`),
	})
	var holder api.StateLock
	if a.status != 423 || json.Unmarshal(a.body, &holder) != nil || holder.ID != "lock-1" ||
		!strings.Contains(holder.Holder, first.Job) || !strings.Contains(string(holder.Info), "me") {
		t.Errorf("locked: %d %s", a.status, a.body)
	}
}

// generated returns the routes of the OpenAPI document, as the generated server mounts them.
func generated(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("server.gen.go")
	must(t, err)
	var routes []string
	for _, m := range regexp.MustCompile(
		`HandleFunc\(http\.Method(\w+)\+" "\+options\.BaseURL\+"([^"]+)"`,
	).FindAllSubmatch(source, -1) {
		routes = append(routes, strings.ToUpper(string(m[1]))+" "+string(m[2]))
	}
	if len(routes) < 11 {
		t.Fatalf("found only %v", routes)
	}
	return routes
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestRequestsAreBounded(t *testing.T) {
	s := serve(t, nil)
	r := s.Runner(t, runners.KindInstall)
	s.Job(t, r, "apply", s.Component(t, r))
	ref, _ := s.Start(t, r)
	for path, mib := range map[string]int64{"/runner/v1/heartbeat": 1, attemptPath(ref, "logs"): 4} {
		if a := s.call(t, "POST", path, r.Key, io.LimitReader(endless{}, mib<<20+1)); a.status != 413 ||
			a.code(t) != "too_large" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for path, code := range map[string]string{
		"/runner/v1/lease": "bad_request", attemptPath(ref, "result"): "bad_request",
	} {
		if a := s.call(t, "POST", path, r.Key, "{"); a.status != 400 || a.code(t) != code {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := s.call(t, "POST", "/runner/v1/jobs/"+ref.Job+"/attempts/one/accept", r.Key, nil); a.status != 400 ||
		a.code(t) != "bad_request" {
		t.Errorf("an attempt that is no number: %d %s", a.status, a.body)
	}
	if a := s.call(t, "POST", "/runner/v1/jobs/%00/attempts/1/accept", r.Key, nil); a.status != 404 ||
		a.code(t) != "not_found" {
		t.Errorf("NUL: %d %s", a.status, a.body)
	}
	if a := s.call(t, "POST", attemptPath(ref, "result"), r.Key, api.JobResult{Status: "great"}); a.status != 422 ||
		a.code(t) != "invalid" {
		t.Errorf("odd result: %d %s", a.status, a.body)
	}
	if a := s.call(t, "GET", "/runner/v1/lease", r.Key, nil); a.status != 405 || a.code(t) != "method_not_allowed" {
		t.Errorf("wrong method: %d %s", a.status, a.body)
	}
	if a := s.call(t, "GET", "/runner/v2/lease", r.Key, nil); a.status != 404 || a.code(t) != "no_route" {
		t.Errorf("no route: %d %s", a.status, a.body)
	}
}

// TestARunnerThatAsksTooMuch checks that it gets a Retry-After, for requests with any of its
// attempts' tokens, and that other runners and their polls are not affected.
func TestARunnerThatAsksTooMuch(t *testing.T) {
	v := newVendor(t)
	now := time.Now()
	s := serveBounded(t, v, ratelimit.Options{Rate: 1, Burst: 3, Now: func() time.Time { return now }})
	named, _ := v.add(t, "acme/web", "the module")
	busy, calm := s.Runner(t, runners.KindInstall), s.Runner(t, runners.KindInstall)
	_, attempt := s.sync(t, busy, named)
	path := "/v2/" + named.Repository + "/manifests/" + named.Digest
	s.ok(t, "GET", path, attempt, nil, nil)
	s.ok(t, "POST", "/runner/v1/heartbeat", busy.Key, api.Heartbeat{}, nil)
	for range 3 {
		s.ok(t, "GET", path, attempt, nil, nil)
	}
	a := s.call(t, "POST", "/runner/v1/heartbeat", busy.Key, api.Heartbeat{})
	if a.status != 429 || a.code(t) != "too_many_requests" || a.header.Get("Retry-After") != "1" {
		t.Errorf("its key: %d %s", a.status, a.body)
	}
	a = s.call(t, "GET", path, attempt, nil)
	if a.status != 429 || a.header.Get("Retry-After") != "1" || !strings.Contains(string(a.body), "TOOMANYREQUESTS") {
		t.Errorf("its attempt: %d %s", a.status, a.body)
	}
	s.ok(t, "POST", "/runner/v1/lease", calm.Key, api.LeaseRequest{Free: 1, Version: "1", WaitSeconds: -1}, nil)
	now = now.Add(time.Second)
	s.ok(t, "POST", "/runner/v1/heartbeat", busy.Key, api.Heartbeat{}, nil)
}

// TestGuessesAtRegistrations checks that an address that sends only wrong tokens causes no more
// lookups.
func TestGuessesAtRegistrations(t *testing.T) {
	now := time.Now()
	s := serveBounded(t, nil, ratelimit.Options{Now: func() time.Time { return now }})
	forged, _ := token.NewKeys([]byte("a guess")).Mint(token.Registration, s.Org.ID)
	good := s.registration(t)
	for range 300 {
		s.call(t, "POST", "/runner/v1/register", forged, api.Registration{Version: "1", Capacity: 1})
	}
	if a := s.call(
		t, "POST", "/runner/v1/register", forged, api.Registration{Version: "1", Capacity: 1},
	); a.status != 429 || a.code(t) != "too_many_requests" {
		t.Errorf("after 300 guesses: %d %s", a.status, a.body)
	}
	// A genuine token from the same address is still admitted.
	s.ok(t, "POST", "/runner/v1/register", good, api.Registration{Version: "1", Capacity: 1}, nil)
}

// TestAFloodOfGuessesHoldsNobodyUp checks that after 10,000 wrong tokens from one address, a runner
// at that address and its attempt, both new to this replica, are served.
func TestAFloodOfGuessesHoldsNobodyUp(t *testing.T) {
	now := time.Now() // the clock stands still, so that a slow machine sends as fast as any
	s := serveBounded(t, nil, ratelimit.Options{Now: func() time.Time { return now }})
	r := s.Runner(t, runners.KindInstall)
	s.Job(t, r, "apply", s.Component(t, r))
	ref, registration := s.Offer(t, r), s.registration(t)
	flood(t, s, r.Runner, 10_000)
	var accepted api.Accepted
	s.ok(t, "POST", attemptPath(ref, "accept"), r.Key, nil, &accepted)
	s.ok(t, "GET", attemptPath(ref, "spec"), accepted.Token, nil, nil)
	s.ok(t, "POST", "/runner/v1/register", registration, api.Registration{Version: "1", Capacity: 1}, nil)
	// A key that was issued here and voided counts separately.
	s.replace(t, r)
	last := 0
	for range 400 {
		last = s.call(t, "POST", "/runner/v1/heartbeat", r.Key, api.Heartbeat{}).status
	}
	if last != 429 {
		t.Errorf("a void key is looked up for ever: %d", last)
	}
	other := s.Runner(t, runners.KindInstall)
	s.ok(t, "POST", "/runner/v1/heartbeat", other.Key, api.Heartbeat{}, nil)
}

// TestGuessesAreRefusedWithoutTheDatabase checks that forged tokens are not looked up; a lookup
// would fail with a server error here.
func TestGuessesAreRefusedWithoutTheDatabase(t *testing.T) {
	s := serveBounded(t, nil, ratelimit.Options{})
	r := s.Runner(t, runners.KindInstall) // reads the token keys
	s.Store.Close()
	if a := s.call(t, "POST", "/runner/v1/heartbeat", r.Key, api.Heartbeat{}); a.status < 500 {
		t.Fatalf("a genuine key: %d %s", a.status, a.body)
	}
	flood(t, s, r.Runner, 1000)
}

// flood sends many tokens that this control plane did not issue, and requires that each is refused
// as unknown.
func flood(t *testing.T, s served, runner string, many int) {
	t.Helper()
	forger := token.NewKeys([]byte("a guess"))
	for i := range many / 4 {
		key, _ := forger.Mint(token.Runner, s.Org.ID, runner)
		attempt, _ := forger.Mint(token.Attempt, s.Org.ID, "job_1", "1")
		registration, _ := forger.Mint(token.Registration, s.Org.ID)
		for _, plain := range []string{key, attempt, fmt.Sprint("garbage", i)} {
			if a := s.call(
				t, "POST", "/runner/v1/heartbeat", plain, api.Heartbeat{},
			); a.status != 401 && a.status != 429 {
				t.Fatalf("a forged token: %d %s", a.status, a.body)
			}
		}
		a := s.call(t, "POST", "/runner/v1/register", registration, api.Registration{Version: "1", Capacity: 1})
		if a.status != 401 && a.status != 429 {
			t.Fatalf("a forged registration: %d %s", a.status, a.body)
		}
	}
}
