package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient/contacttest"
)

// Token is the registration token that the plane accepts.
const Token = "registration-of-the-hostile-plane"

const (
	runnerKey   = "runner-key-of-the-hostile-plane"
	attemptKey  = "attempt-token-of-the-hostile-plane"
	leasePeriod = 60 // seconds
)

// Plane is the runner API as an attacker serves it.
type Plane struct {
	server *http.Server
	url    string

	mutex     sync.Mutex
	changed   chan struct{} // closed and replaced at every change
	recipient seal.Recipient
	nonce     string
	jobs      map[string]*Job
	queue     []*Job
	received  strings.Builder
}

// Job is one job of the plane.
type Job struct {
	// Spec is sent to the runner; OfferedKind and OfferedComponent are in the offer, if they differ
	// from the spec's.
	Spec             api.JobSpec
	OfferedKind      string
	OfferedComponent string
	// States holds the versions of the Terraform state that the plane returns, newest last,
	// regardless of what the runner stored.
	States []api.State

	offered, accepted bool
	passed            int // polls that ended since the offer without an accept
	result            *api.JobResult
}

// Start serves a plane on a loopback address.
func Start() (*Plane, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Plane{url: "http://" + listener.Addr().String(), changed: make(chan struct{}), jobs: map[string]*Job{}}
	p.server = &http.Server{Handler: contacttest.Unpacked(p.recorded(p.routes())), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }() // until Close
	return p, nil
}

// Close ends every connection.
func (p *Plane) Close() error { return p.server.Close() }

// URL returns the address for runnerd run --url.
func (p *Plane) URL() string { return p.url }

// Recipient returns the public half of the install key, once the runner has registered.
func (p *Plane) Recipient() seal.Recipient {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.recipient
}

// Received returns everything that the runner has sent, as text.
func (p *Plane) Received() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.received.String()
}

// declined is the number of polls after which an offer counts as declined. A runner that accepts
// does so at once; Settle waits for jobs that are accepted even later.
const declined = 4

// Do offers a job to the runner and waits for its result, or until the runner has declined the
// offer. A nil result means that the runner did not accept the job.
func (p *Plane) Do(ctx context.Context, job *Job) (*api.JobResult, error) {
	p.mutex.Lock()
	p.jobs[key(job.Spec.Job, job.Spec.Attempt)] = job
	p.queue = append(p.queue, job)
	p.note()
	p.mutex.Unlock()
	var result *api.JobResult
	err := p.until(ctx, func() bool {
		result = job.result
		return result != nil || !job.accepted && job.passed >= declined
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the result of %s job %s: %w", job.Spec.Kind, job.Spec.Job, err)
	}
	return result, nil
}

// Settle waits until every job that the runner ever accepted has a result.
func (p *Plane) Settle(ctx context.Context) error {
	return p.until(ctx, func() bool {
		for _, job := range p.jobs {
			if job.accepted && job.result == nil {
				return false
			}
		}
		return true
	})
}

// Registered waits until a runner has registered.
func (p *Plane) Registered(ctx context.Context) error {
	return p.until(ctx, func() bool { return !p.recipient.IsZero() })
}

// until waits until holds returns true. It calls holds with the mutex held.
func (p *Plane) until(ctx context.Context, holds func() bool) error {
	for {
		p.mutex.Lock()
		held, changed := holds(), p.changed
		p.mutex.Unlock()
		if held {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// note wakes all waiters. The caller holds the mutex.
func (p *Plane) note() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func key(job string, attempt int) string { return job + "/" + strconv.Itoa(attempt) }

func (p *Plane) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runner/v1/register/challenge", p.challenge)
	mux.HandleFunc("POST /runner/v1/register", p.register)
	mux.HandleFunc("POST /runner/v1/key",
		func(w http.ResponseWriter, _ *http.Request) { answer(w, api.RunnerKey{RunnerKey: runnerKey}) })
	mux.HandleFunc("POST /runner/v1/lease", p.lease)
	mux.HandleFunc("POST /runner/v1/heartbeat", p.heartbeat)
	mux.HandleFunc("POST /runner/v1/logs", taken)
	const attempt = "/runner/v1/jobs/{job}/attempts/{attempt}"
	for route, handle := range map[string]func(*Job, http.ResponseWriter, *http.Request){
		"POST " + attempt + "/accept":       p.accept,
		"GET " + attempt + "/spec":          func(j *Job, w http.ResponseWriter, _ *http.Request) { answer(w, j.Spec) },
		"POST " + attempt + "/logs":         func(_ *Job, w http.ResponseWriter, r *http.Request) { taken(w, r) },
		"POST " + attempt + "/result":       p.takeResult,
		"GET " + attempt + "/state":         p.state,
		"POST " + attempt + "/state":        func(_ *Job, w http.ResponseWriter, r *http.Request) { taken(w, r) },
		"POST " + attempt + "/state/lock":   func(_ *Job, w http.ResponseWriter, r *http.Request) { taken(w, r) },
		"DELETE " + attempt + "/state/lock": func(_ *Job, w http.ResponseWriter, r *http.Request) { taken(w, r) },
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			p.mutex.Lock()
			defer p.mutex.Unlock()
			job := p.jobs[r.PathValue("job")+"/"+r.PathValue("attempt")]
			if job == nil {
				refuse(w, http.StatusNotFound, "unknown_attempt")
				return
			}
			handle(job, w, r)
			p.note()
		})
	}
	return mux
}

// recorded is a middleware that stores what the runner sends.
func (p *Plane) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			refuse(w, http.StatusBadRequest, "bad_body")
			return
		}
		p.mutex.Lock()
		fmt.Fprintf(&p.received, "%s %s %v\n%s\n", r.Method, r.URL, r.Header, body)
		p.mutex.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, r)
	})
}

// challenge makes the runner prove possession of its key, as an honest plane does.
func (p *Plane) challenge(w http.ResponseWriter, r *http.Request) {
	var request api.ChallengeRequest
	_ = json.NewDecoder(r.Body).Decode(&request) // a missing field fails below
	to, err := seal.ParseRecipient(request.Recipient)
	if err != nil {
		refuse(w, http.StatusBadRequest, "no_recipient")
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.nonce = "nonce-of-the-hostile-plane"
	sealed, err := to.Seal(seal.RegistrationContext(to), []byte(p.nonce))
	if err != nil {
		refuse(w, http.StatusInternalServerError, "seal")
		return
	}
	answer(w, api.Challenge{Nonce: sealed})
}

func (p *Plane) register(w http.ResponseWriter, r *http.Request) {
	var registration api.Registration
	_ = json.NewDecoder(r.Body).Decode(&registration) // a runner without a key sends none
	to, err := seal.ParseRecipient(registration.Recipient)
	if err != nil {
		refuse(w, http.StatusBadRequest, "no_recipient")
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.recipient = to
	p.note()
	answer(w, api.Registered{RunnerID: "run_hostile", RunnerKey: runnerKey, Name: "victim",
		Kind: api.RegisteredKind(api.RunnerKindInstall)})
}

// lease offers a queued job, and holds a poll only for a short time.
func (p *Plane) lease(w http.ResponseWriter, r *http.Request) {
	var request api.LeaseRequest
	_ = json.NewDecoder(r.Body).Decode(&request)
	ctx, stop := context.WithTimeout(r.Context(), time.Second)
	defer stop()
	offers := []api.Offer{}
	_ = p.until(ctx, func() bool { // the end of the poll is an answer as well
		for len(p.queue) > 0 && len(offers) < request.Free && request.WaitSeconds >= 0 {
			job := p.queue[0]
			p.queue, job.offered = p.queue[1:], true
			offers = append(offers, job.offer())
		}
		return len(offers) > 0 || request.WaitSeconds < 0
	})
	p.mutex.Lock()
	for _, job := range p.jobs {
		if job.offered && !job.accepted {
			job.passed++
		}
	}
	p.note()
	p.mutex.Unlock()
	answer(w, api.Offers{Offers: offers})
}

// offer returns the part of a job that the runner sees before it accepts.
func (j *Job) offer() api.Offer {
	o := api.Offer{Job: j.Spec.Job, Attempt: j.Spec.Attempt, Kind: j.OfferedKind, ComponentKind: j.OfferedComponent,
		AcceptWithinSeconds: 30}
	if o.Kind == "" {
		o.Kind = string(j.Spec.Kind)
	}
	return o
}

func (p *Plane) heartbeat(w http.ResponseWriter, r *http.Request) {
	var beat api.Heartbeat
	_ = json.NewDecoder(r.Body).Decode(&beat)
	orders := api.HeartbeatAnswer{Attempts: []api.AttemptOrder{}, LeaseSeconds: leasePeriod}
	for _, ref := range beat.Attempts {
		orders.Attempts = append(orders.Attempts, api.AttemptOrder{Job: ref.Job, Attempt: ref.Attempt})
	}
	answer(w, orders)
}

func (p *Plane) accept(job *Job, w http.ResponseWriter, _ *http.Request) {
	job.accepted = true
	answer(w, api.Accepted{Token: attemptKey, LeaseSeconds: leasePeriod})
}

func (p *Plane) takeResult(job *Job, w http.ResponseWriter, r *http.Request) {
	var result api.JobResult
	if err := json.NewDecoder(r.Body).Decode(&result); err != nil {
		refuse(w, http.StatusBadRequest, "bad_result")
		return
	}
	job.result = &result
	taken(w, r)
}

func (p *Plane) state(job *Job, w http.ResponseWriter, r *http.Request) {
	if len(job.States) == 0 {
		refuse(w, http.StatusNotFound, "no_state")
		return
	}
	version, _ := strconv.Atoi(r.URL.Query().Get("version"))
	if version < 1 || version > len(job.States) {
		version = len(job.States)
	}
	answer(w, job.States[version-1])
}

func taken(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}

func answer(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(content)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Problem{Type: "about:blank", Title: "refused: " + code, Status: status, Code: code})
}
