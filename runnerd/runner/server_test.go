package runner_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient/contacttest"
)

// server is a control plane from a runner's point of view: it stores what it receives,
// and fails the test when that violates the contract.
type server struct {
	t    testing.TB
	http *httptest.Server

	mutex          sync.Mutex
	changed        chan struct{} // closed and replaced at every change
	token          string        // the registration token; empty once used
	key            string        // the runner key; empty when the runner was replaced
	nextKey        string        // issued and not used yet
	insteadOfNonce seal.Context  // what a hostile control plane seals for another use and sends as a challenge
	newKey         string        // the key of the next registration; empty for key
	rotated        int
	offerAfter     time.Duration // offers that nobody accepts are repeated after this time
	again          bool          // requests may be repeated late
	hold           time.Duration // how long a poll is held open
	runnerID       string
	kind           string // the kind of the runner that registers
	recipient      string
	proof          string // of the last challenge, until it is used
	registered     bool
	policy         api.RunnerPolicy        // as last reported
	own            map[int64][]api.LogLine // the runner's own log
	queue          []*served
	known          map[string]*served
	// trouble, when set, may respond in place of the server. after means that the server has
	// already executed the call.
	trouble func(r *http.Request, after bool) (status int)
	calls   []string
}

// served is one attempt as the server sees it.
type served struct {
	spec          api.JobSpec
	componentKind string       // in the offer
	offeredKind   string       // if it differs from the spec's
	later         *api.JobSpec // what a second request for the spec gets, if it differs
	asked         int          // for the spec
	offered       bool
	offeredAt     time.Time
	offers        int // the number of offers
	accepted      bool
	cancel        bool
	superseded    bool
	beats         int
	locked        bool
	states        []api.State
	lines         map[int64][]api.LogLine
	result        *api.JobResult
	results       int
	order         []string // in order of arrival: state, unlock, log, result
}

func newServer(t testing.TB) *server {
	s := &server{t: t, changed: make(chan struct{}), token: "register-once", key: "key-of-the-runner",
		runnerID: "run_1", hold: 300 * time.Millisecond,
		offerAfter: 8 * time.Second, kind: "install", known: map[string]*served{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runner/v1/register", s.register)
	mux.HandleFunc("POST /runner/v1/register/challenge", s.challenge)
	mux.HandleFunc("POST /runner/v1/key", s.rotate)
	mux.HandleFunc("POST /runner/v1/lease", s.lease)
	mux.HandleFunc("POST /runner/v1/heartbeat", s.heartbeat)
	mux.HandleFunc("POST /runner/v1/logs", s.ownLog)
	const attempt = "/runner/v1/jobs/{job}/attempts/{attempt}"
	for route, handle := range map[string]func(*served, http.ResponseWriter, *http.Request){
		"POST " + attempt + "/accept":       s.accept,
		"GET " + attempt + "/spec":          s.spec,
		"POST " + attempt + "/logs":         s.logs,
		"POST " + attempt + "/result":       s.result,
		"GET " + attempt + "/state":         s.getState,
		"POST " + attempt + "/state":        s.putState,
		"POST " + attempt + "/state/lock":   s.lock,
		"DELETE " + attempt + "/state/lock": s.unlock,
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			job := s.known[r.PathValue("job")+"/"+r.PathValue("attempt")]
			if job == nil {
				problem(w, http.StatusNotFound, "unknown_attempt")
				return
			}
			handle(job, w, r)
			s.note()
		})
	}
	unpacked := contacttest.Unpacked(mux)
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.inTrouble(w, r, false) {
			return
		}
		recorder := httptest.NewRecorder()
		unpacked.ServeHTTP(recorder, r)
		if s.inTrouble(w, r, true) {
			return
		}
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	}))
	t.Cleanup(s.http.Close)
	return s
}

// The statuses for which the connection is cut, and for which a proxy in between
// responds with its own page.
const (
	noAnswer = -1
	aPage    = -2
)

func (s *server) inTrouble(w http.ResponseWriter, r *http.Request, after bool) bool {
	s.mutex.Lock()
	trouble := s.trouble
	// Calls for the runner's own log are left out, because they depend on what is logged.
	if !after && r.URL.Path != "/runner/v1/logs" {
		s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	}
	s.mutex.Unlock()
	if trouble == nil {
		return false
	}
	switch status := trouble(r, after); status {
	case 0:
		return false
	case noAnswer:
		panic(http.ErrAbortHandler)
	case aPage:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>back soon</html>"))
		return true
	default:
		problem(w, status, "trouble")
		return true
	}
}

func (s *server) setTrouble(trouble func(r *http.Request, after bool) int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.trouble = trouble
}

func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Problem{Type: "about:blank", Title: "the server says " + code, Status: status,
		Code: code})
}

func answer(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(content)
}

// note wakes waiters after a change. The mutex is held.
func (s *server) note() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// byRunner authorizes the runner's key, or one of others. The first use of a new
// key revokes the old one.
func (s *server) byRunner(w http.ResponseWriter, r *http.Request, others ...string) bool {
	if s.nextKey != "" && r.Header.Get("Authorization") == "Bearer "+s.nextKey {
		s.key, s.nextKey = s.nextKey, ""
		s.note()
	}
	return s.authorised(w, r, append(others, s.key)...)
}

// rotate issues a key, a different one each time.
func (s *server) rotate(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.byRunner(w, r) {
		s.rotated++
		s.nextKey = fmt.Sprintf("key-%d", s.rotated)
		s.note()
		answer(w, api.RunnerKey{RunnerKey: s.nextKey})
	}
}

func (s *server) authorised(w http.ResponseWriter, r *http.Request, tokens ...string) bool {
	for _, token := range tokens {
		if token != "" && r.Header.Get("Authorization") == "Bearer "+token {
			return true
		}
	}
	problem(w, http.StatusUnauthorized, "unknown_token")
	return false
}

func read[T any](t testing.TB, r *http.Request) (content T) {
	if err := json.NewDecoder(r.Body).Decode(&content); err != nil {
		t.Errorf("%s %s: the body is not what the contract says: %v", r.Method, r.URL.Path, err)
	}
	return content
}

// challenge seals a nonce, or what a hostile control plane puts in its place.
func (s *server) challenge(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.token == "" || !s.authorised(w, r, s.token) {
		if s.token == "" {
			problem(w, http.StatusUnauthorized, "token_used")
		}
		return
	}
	to, err := seal.ParseRecipient(read[api.ChallengeRequest](s.t, r).Recipient)
	if err != nil {
		s.t.Error(err)
		return
	}
	use := seal.RegistrationContext(to)
	if s.insteadOfNonce.Kind != "" {
		use = s.insteadOfNonce
	}
	s.proof = "the nonce"
	sealed, err := to.Seal(use, []byte(s.proof))
	if err != nil {
		s.t.Error(err)
	}
	answer(w, api.Challenge{Nonce: sealed})
}

func (s *server) register(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.token == "" || !s.authorised(w, r, s.token) {
		if s.token == "" {
			problem(w, http.StatusUnauthorized, "token_used")
		}
		return
	}
	registration := read[api.Registration](s.t, r)
	if registration.Proof != "the nonce" {
		s.t.Errorf("the runner proved its key with %q", registration.Proof)
	}
	if s.proof == "" {
		problem(w, http.StatusUnprocessableEntity, "proof_refused")
		return
	}
	s.registered, s.proof, s.key = true, "", cmp.Or(s.newKey, s.key, "key-of-the-runner")
	s.recipient = registration.Recipient
	s.note()
	answer(w, api.Registered{RunnerID: s.runnerID, RunnerKey: s.key, Name: "local", Kind: api.RegisteredKind(s.kind)})
}

func (s *server) lease(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	known := s.byRunner(w, r)
	s.mutex.Unlock()
	if !known {
		return
	}
	request := read[api.LeaseRequest](s.t, r)
	if request.Free < 1 && request.WaitSeconds >= 0 {
		s.t.Error("asked for work without room for it")
	}
	s.with(func() {
		s.policy = request.Policy
		if s.registered {
			s.token, s.registered = "", false // the first poll of the machine that registered with it uses it up
		}
	})
	if request.WaitSeconds < 0 {
		answer(w, api.Offers{Offers: []api.Offer{}})
		return
	}
	hold := time.After(s.hold) //walltime: how long this server holds a poll; the test does not see it end
	for {
		s.mutex.Lock()
		offers := []api.Offer{}
		if shown := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); shown != s.key && shown != s.nextKey {
			// The key was revoked while the call waited: like a real claim, it finds nothing.
			s.mutex.Unlock()
			answer(w, api.Offers{Offers: offers})
			return
		}
		s.offerAgain()
		for len(s.queue) > 0 && len(offers) < request.Free {
			job := s.queue[0]
			s.queue, job.offered, job.offeredAt = s.queue[1:], true, time.Now()
			job.offers++
			offers = append(offers, api.Offer{Job: job.spec.Job, Attempt: job.spec.Attempt,
				Kind: cmp.Or(job.offeredKind, string(job.spec.Kind)), ComponentKind: job.componentKind,
				AcceptWithinSeconds: 600}) // a busy machine lets no offer expire
		}
		changed := s.changed
		s.mutex.Unlock()
		if len(offers) > 0 {
			s.with(func() {})
			answer(w, api.Offers{Offers: offers})
			return
		}
		select {
		case <-changed:
		case <-hold:
			answer(w, api.Offers{Offers: offers})
			return
		case <-r.Context().Done():
			return
		}
	}
}

// offerAgain repeats offers that nobody has accepted, because their response went to a runner
// that had hung up. A real server gives them another attempt number. It does so after the time
// to accept, when the runner no longer accepts.
func (s *server) offerAgain() {
	for _, job := range s.known {
		if job.offered && !job.accepted && time.Since(job.offeredAt) > s.offerAfter { //walltime: of this server
			job.offered, s.queue = false, append(s.queue, job)
		}
	}
}

func (s *server) heartbeat(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.byRunner(w, r) {
		return
	}
	orders := api.HeartbeatAnswer{Attempts: []api.AttemptOrder{}, LeaseSeconds: 60}
	for _, ref := range read[api.Heartbeat](s.t, r).Attempts {
		job := s.known[ref.Job+"/"+strconv.Itoa(ref.Attempt)]
		if job == nil || !job.accepted {
			s.t.Errorf("heartbeat for %v, which was not accepted", ref)
			continue
		}
		job.beats++
		orders.Attempts = append(orders.Attempts,
			api.AttemptOrder{Job: ref.Job, Attempt: ref.Attempt, Cancel: job.cancel, Superseded: job.superseded})
	}
	s.note()
	answer(w, orders)
}

func (s *server) ownLog(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.byRunner(w, r) {
		return
	}
	for _, chunk := range read[api.LogBatch](s.t, r).Chunks {
		if had, there := s.own[chunk.Seq]; there && gocmp.Diff(had, chunk.Lines) != "" {
			s.t.Errorf("chunk %d of the runner's own log came twice and differs", chunk.Seq)
		}
		if s.own == nil {
			s.own = map[int64][]api.LogLine{}
		}
		s.own[chunk.Seq] = chunk.Lines
	}
	s.note()
	w.WriteHeader(http.StatusNoContent)
}

// said returns the runner's own log, in order. The caller has the lock: until and with call their functions with it.
func (s *server) said() string {
	var seqs []int64
	for seq := range s.own {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	var all strings.Builder
	for _, seq := range seqs {
		for _, l := range s.own[seq] {
			fmt.Fprintln(&all, l.L, l.M)
		}
	}
	return all.String()
}

func (s *server) accept(job *served, w http.ResponseWriter, r *http.Request) {
	if !s.byRunner(w, r) {
		return
	}
	if !job.offered || job.result != nil {
		problem(w, http.StatusConflict, "offer_gone")
		return
	}
	job.accepted = true
	answer(w, api.Accepted{Token: attemptToken(job), LeaseSeconds: 60})
}

func attemptToken(job *served) string { return "attempt-token-" + job.spec.Job }

func (s *server) spec(job *served, w http.ResponseWriter, r *http.Request) {
	if !job.accepted {
		s.t.Error("a process asked for its spec before the offer was accepted")
	}
	if !s.authorised(w, r, attemptToken(job)) {
		return
	}
	if job.asked++; job.asked > 1 && job.later != nil {
		answer(w, *job.later)
		return
	}
	answer(w, job.spec)
}

func (s *server) logs(job *served, w http.ResponseWriter, r *http.Request) {
	if !s.byRunner(w, r, attemptToken(job)) {
		return
	}
	if job.result != nil && !s.again {
		s.t.Error("log lines came after the result")
	}
	for _, chunk := range read[api.LogBatch](s.t, r).Chunks {
		if had, there := job.lines[chunk.Seq]; there {
			if diff := gocmp.Diff(had, chunk.Lines); diff != "" {
				s.t.Errorf("chunk %d came twice and differs:\n%s", chunk.Seq, diff)
			}
			continue
		}
		if job.result != nil {
			s.t.Errorf("chunk %d came after the result", chunk.Seq)
		}
		if chunk.Seq != int64(len(job.lines))+1 {
			s.t.Errorf("chunk %d came after %d chunks", chunk.Seq, len(job.lines))
		}
		if len(chunk.Lines) > 500 {
			s.t.Errorf("chunk %d has %d lines", chunk.Seq, len(chunk.Lines))
		}
		job.lines[chunk.Seq] = chunk.Lines
		job.order = append(job.order, "log")
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) result(job *served, w http.ResponseWriter, r *http.Request) {
	if !s.byRunner(w, r, attemptToken(job)) {
		return
	}
	result := read[api.JobResult](s.t, r)
	job.results++
	if job.result != nil {
		if diff := gocmp.Diff(*job.result, result); diff != "" {
			s.t.Errorf("a second result differs:\n%s", diff)
		}
	} else {
		job.result = &result
		job.order = append(job.order, "result")
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) getState(job *served, w http.ResponseWriter, r *http.Request) {
	if !s.authorised(w, r, attemptToken(job)) {
		return
	}
	if len(job.states) == 0 {
		problem(w, http.StatusNotFound, "no_state")
		return
	}
	answer(w, job.states[len(job.states)-1])
}

func (s *server) putState(job *served, w http.ResponseWriter, r *http.Request) {
	if !s.byRunner(w, r, attemptToken(job)) {
		return
	}
	state := read[api.State](s.t, r)
	for _, had := range job.states {
		if had.Serial == state.Serial && had.Digest == state.Digest {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	if job.result != nil {
		s.t.Error("a state came after the result")
	}
	job.states = append(job.states, state)
	job.order = append(job.order, "state")
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) lock(job *served, w http.ResponseWriter, r *http.Request) {
	if !s.authorised(w, r, attemptToken(job)) {
		return
	}
	for _, other := range s.known {
		if other != job && other.locked {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusLocked)
			_ = json.NewEncoder(w).Encode(api.StateLock{ID: "lock-of-" + other.spec.Job, Info: json.RawMessage(`{}`),
				Holder: other.spec.Job})
			return
		}
	}
	job.locked = true
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) unlock(job *served, w http.ResponseWriter, r *http.Request) {
	if !s.byRunner(w, r, attemptToken(job)) {
		return
	}
	job.locked = false
	job.order = append(job.order, "unlock")
	w.WriteHeader(http.StatusNoContent)
}

// enqueue adds a job: what the test handler do names.
func (s *server) enqueue(job, do string, env map[string]string) *served {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	entry := &served{
		spec: api.JobSpec{Job: job, Attempt: 1, Kind: api.JobSpecKindAction, Org: "org", TimeoutSeconds: 600,
			Action: api.ActionSpec{Action: do, Env: env}},
		lines: map[int64][]api.LogLine{},
	}
	s.known[fmt.Sprintf("%s/%d", job, 1)] = entry
	s.queue = append(s.queue, entry)
	s.note()
	return entry
}

// with reads or changes the server's state.
func (s *server) with(do func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	do()
	s.note()
}

// until waits until a condition on the server's state holds.
func (s *server) until(what string, holds func() bool) {
	s.t.Helper()
	limit := testtime.After()
	for {
		s.mutex.Lock()
		held, changed := holds(), s.changed
		s.mutex.Unlock()
		if held {
			return
		}
		select {
		case <-changed:
		case <-limit:
			s.t.Fatalf("waited in vain until %s; calls: %v", what, s.last(40))
		}
	}
}

func (s *server) last(n int) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.calls[max(0, len(s.calls)-n):])
}

// runs reports whether a line of the job itself has arrived; those of the runner say why a pod waits.
func (j *served) runs() bool {
	return slices.ContainsFunc(j.messages(), func(m string) bool { return !strings.HasPrefix(m, "the pod of this job") })
}

// messages returns the log as a reader sees it. The mutex is held.
func (j *served) messages() []string {
	var messages []string
	for seq := range len(j.lines) {
		for _, line := range j.lines[int64(seq+1)] {
			messages = append(messages, line.M)
		}
	}
	return messages
}
