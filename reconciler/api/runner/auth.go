package runner

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/phonehome"
	"github.com/nuon-toolkit/nuon/reconciler/runnerprogram"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

// Options configures the runner API. The services and Vendor must be set.
type Options struct {
	Jobs    *jobs.Service
	Runners *runners.Service
	States  *tfstate.Service
	Logs    *joblog.Service
	Vendor  Blobs
	// Credentials returns the credentials for Terraform modules to builds.
	Credentials Credentials
	// Program is what machines of runners download.
	Program *runnerprogram.Program
	// PhoneHome takes the reports of stacks.
	PhoneHome *phonehome.Service
	// Log receives the details that clients do not see; nil discards them.
	Log *slog.Logger
	// Quota limits the requests of one runner with all its attempts. Its zero value has generous
	// limits; a poll counts once, however long it lasts.
	Quota ratelimit.Options
	// ClaimQuota limits the requests with one claim token, which others can read. Its zero value has
	// strict limits, because each request may make a cloud check a proof.
	ClaimQuota ratelimit.Options
}

// DefaultRate is the sustained rate of requests per second of one runner: each of its jobs sends
// its log, its states and its result.
const DefaultRate = 1000

// How much of the bodies of requests without a runner key is in memory at once, in bytes: of one address,
// and of all.
const (
	eachStranger = 8 * mib
	allStrangers = 64 * mib
)

// Limits of the requests with one claim token.
const (
	claimRate  = 2 // a second
	claimBurst = 40
)

// New returns the runner API with all its routes: those of the OpenAPI document, and /v2/ over the
// vendor's registry.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Quota.Rate == 0 {
		o.Quota.Rate = DefaultRate
	}
	if o.ClaimQuota.Rate == 0 {
		o.ClaimQuota.Rate, o.ClaimQuota.Burst = claimRate, claimBurst
	}
	if o.ClaimQuota.EachBodies == 0 {
		o.ClaimQuota.EachBodies, o.ClaimQuota.AllBodies = eachStranger, allStrangers
	}
	authorizer := &authorizer{jobs: o.Jobs, runners: o.Runners, quota: ratelimit.New(o.Quota),
		claims: ratelimit.New(o.ClaimQuota), fail: problem.Writer(o.Log)}
	mux := routesOf(handlers{
		jobs: o.Jobs, runners: o.Runners, states: o.States, logs: o.Logs, credentials: o.Credentials, log: o.Log,
		phone: o.PhoneHome,
	}, authorizer)
	mux.Handle("/v2/", newProxy(authorizer, o.Vendor, o.Log))
	if o.Program != nil {
		mux.Handle(runnerprogram.Route, boundDownloads(o.Program, o.Quota.BehindProxy))
	}
	return middleware.New(problem.Mux(mux), middleware.Options{Log: o.Log})
}

// Limits of the downloads of the runner's program, which need no token: how many of one address at once,
// and how long a client has to read a piece.
const (
	maxDownloads = 4
	pieceTime    = 15 * time.Second
)

// boundDownloads limits how many downloads of one address run at once, and ends those whose client does
// not read: the program has few places for all.
func boundDownloads(program http.Handler, behindProxy bool) http.Handler {
	places := ratelimit.New(ratelimit.Options{Streams: maxDownloads, BehindProxy: behindProxy})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		release, err := places.OpenStream(places.Address(r))
		if err != nil {
			problem.Write(w, err)
			return
		}
		defer release()
		program.ServeHTTP(middleware.Paced(w, pieceTime, slow), r)
	})
}

// routesOf mounts the operations of the document behind the authorizer.
func routesOf(
	operations StrictServerInterface, authorizer *authorizer, middlewares ...StrictMiddlewareFunc,
) *http.ServeMux {
	mux := http.NewServeMux()
	strict := NewStrictHandlerWithOptions(operations, middlewares, StrictHTTPServerOptions{
		RequestErrorHandlerFunc: problem.Undecodable,
		ResponseErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) {
			if errors.Is(err, runners.ErrRegistration) {
				authorizer.quota.Bad(tokenOf(r), authorizer.runners.Genuine(r.Context(), tokenOf(r)), r)
			}
			authorizer.fail(w, r, faultOf(err))
		},
	})
	HandlerWithOptions(strict, StdHTTPServerOptions{
		BaseRouter: mux, Middlewares: []MiddlewareFunc{authorizer.guard}, ErrorHandlerFunc: problem.Undecodable,
	})
	return mux
}

// tokenKinds is a set of the kinds of token that a route accepts.
type tokenKinds int

const (
	byRegistration tokenKinds = 1 << iota // checked by the handler itself, which uses it up
	byClaim                               // checked by the handler itself, with the cloud identity
	byRunner
	byAttempt
	// idle marks the route on which runners wait for work, which receives most requests.
	idle
)

// route holds the authorizer's rules for one route.
type route struct {
	by   tokenKinds
	body int64         // maximum bytes of a request's body
	time time.Duration // from the first byte of the request to the last of the response, without Hold
}

const (
	kib = 1 << 10
	mib = 1 << 20
	// usual is long enough for small requests over slow connections.
	usual = 30 * time.Second
	// slow is for bodies that may be large.
	slow = 5 * time.Minute
)

// routes lists all routes of the OpenAPI document; a missing one is closed. A test compares it with
// the generated routes.
var routes = map[string]route{
	"POST /runner/v1/register":                                        {byRegistration, mib, usual},
	"POST /runner/v1/register/challenge":                              {byRegistration, 64 * kib, usual},
	"POST /runner/v1/claim/challenge":                                 {byClaim, 16 * kib, usual},
	"POST /runner/v1/claim/register":                                  {byClaim, 64 * kib, usual},
	"POST /runner/v1/claim/phone-home":                                {byClaim, 512 * kib, usual},
	"POST /runner/v1/stack-outputs":                                   {byRunner, 512 * kib, usual},
	"POST /runner/v1/key":                                             {byRunner, 64 * kib, usual},
	"POST /runner/v1/lease":                                           {byRunner | idle, mib, usual},
	"POST /runner/v1/heartbeat":                                       {byRunner, mib, usual},
	"POST /runner/v1/logs":                                            {byRunner, mib, usual},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/accept":            {byRunner, 64 * kib, usual},
	"GET /runner/v1/jobs/{job}/attempts/{attempt}/spec":               {byAttempt, 64 * kib, usual},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/module-credential": {byAttempt, 64 * kib, usual},
	"GET /runner/v1/jobs/{job}/attempts/{attempt}/shell":              {byAttempt, 64 * kib, usual},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/shell":             {byAttempt, 256 * kib, usual},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/logs":              {byRunner | byAttempt, 4 * mib, usual},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/result":            {byRunner | byAttempt, 32 * mib, slow},
	"GET /runner/v1/jobs/{job}/attempts/{attempt}/state":              {byAttempt, 64 * kib, slow},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/state":             {byRunner | byAttempt, 64 * mib, slow},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/state/lock":        {byAttempt, mib, usual},
	// Also by runnerd, which releases what its job process could not.
	"DELETE /runner/v1/jobs/{job}/attempts/{attempt}/state/lock": {byRunner | byAttempt, 64 * kib, usual},
}

// holds are the times by route that openapi.yaml allows for waiting until there is something to
// answer.
var holds = func() map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, o := range api.Operations() {
		all[o.Method+" "+o.Path] = o.Hold
	}
	return all
}()

// authorizer guards every route: it limits the size and time of a request and authenticates
// the caller before a byte of the body is read.
type authorizer struct {
	jobs    *jobs.Service
	runners *runners.Service
	quota   *ratelimit.Quota
	claims  *ratelimit.Quota // by claim token, and for bodies by address
	fail    func(http.ResponseWriter, *http.Request, error)
}

func (a *authorizer) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, known := routes[r.Pattern]
		if !known {
			a.fail(w, r, errors.New("route "+r.Pattern+" has no authorization rule"))
			return
		}
		limit := route.time + holds[r.Pattern]
		ctx, stop := context.WithTimeout(r.Context(), limit)
		defer stop()
		middleware.Within(w, limit)
		r.Body = http.MaxBytesReader(w, r.Body, route.body)
		ctx, err := a.enter(ctx, r, route)
		if err == nil {
			err = plainBody(w, r, route.body)
		}
		var release func()
		if err == nil {
			release, err = a.bound(ctx, w, r)
		}
		if err != nil {
			challenge(w, err)
			a.fail(w, r, faultOf(err))
			return
		}
		defer release()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// bound bounds the body of a request, and the requests that one runner has open while they wait for
// something to answer. The caller calls release after the request.
func (a *authorizer) bound(ctx context.Context, w http.ResponseWriter, r *http.Request) (release func(), err error) {
	caller := callerOf(ctx)
	if caller.Runner == "" {
		return a.claims.LimitBody(a.quota.Address(r), w, r), nil
	}
	name := caller.Org + "/" + caller.Runner
	free := a.quota.LimitBody(name, w, r)
	if holds[r.Pattern] == 0 {
		return free, nil
	}
	closed, err := a.quota.OpenStream(name)
	if err != nil {
		free()
		return nil, err
	}
	return func() { closed(); free() }, nil
}

type callerKey struct{}
type registrationKey struct{}

// enter adds the caller, or a registration token, to the context.
func (a *authorizer) enter(ctx context.Context, r *http.Request, route route) (context.Context, error) {
	if route.by == byRegistration || route.by == byClaim {
		token, unknown := tokenOf(r), runners.ErrRegistration
		if token == "" {
			return nil, errNoToken
		}
		genuine := a.runners.Genuine(ctx, token)
		err := a.quota.Admit(token, genuine, r)
		known := a.runners.IsRegistration(ctx, token)
		if route.by == byClaim {
			unknown, known = cloudclaim.ErrClaim, a.runners.IsClaim(ctx, token)
		}
		if err == nil && !known {
			a.quota.Bad(token, genuine, r)
			err = unknown
		}
		if err == nil && route.by == byClaim {
			a.claims.Good(token, token)
			err = a.claims.Admit(token, true, r)
		}
		return context.WithValue(ctx, registrationKey{}, token), err
	}
	find := a.runners.Authenticate
	if route.by&idle != 0 {
		find = a.jobs.AuthenticateIdle
	}
	caller, err := a.authenticate(ctx, r, find)
	if err != nil {
		return nil, err
	}
	kind := byRunner
	if caller.Job != "" {
		kind = byAttempt
	}
	if route.by&kind == 0 {
		return nil, errWrongToken
	}
	ctx = telemetry.ContextWithAttrs(ctx, slog.String("org", caller.Org), slog.String("runner", caller.Runner),
		slog.String("job", r.PathValue("job")), slog.String("attempt", r.PathValue("attempt")))
	return context.WithValue(ctx, callerKey{}, caller), nil
}

// finder returns the holder of a token.
type finder func(ctx context.Context, plain string) (runners.Caller, error)

// authenticate returns the caller of a request, unless its runner, or unknown clients at its
// address, exceeded their quota.
func (a *authorizer) authenticate(ctx context.Context, r *http.Request, find finder) (runners.Caller, error) {
	token := tokenOf(r)
	genuine := a.runners.Genuine(ctx, token)
	if err := a.quota.Admit(token, genuine, r); err != nil {
		return runners.Caller{}, err
	}
	var caller runners.Caller
	var err error = errNoToken
	if token != "" {
		caller, err = find(ctx, token)
	}
	switch {
	case err == nil:
		a.quota.Good(token, caller.Org+"/"+caller.Runner)
	case errors.Is(err, errNoToken), errors.Is(err, runners.ErrUnknownToken):
		a.quota.Bad(token, genuine, r)
	}
	return caller, err
}

// callerOf returns the authenticated caller. Without one it returns the zero Caller, which has no
// access to anything.
func callerOf(ctx context.Context) runners.Caller {
	caller, _ := ctx.Value(callerKey{}).(runners.Caller)
	return caller
}

// tokenOf returns the token of a request: a bearer token, or the password of HTTP Basic, which OCI
// clients send.
func tokenOf(r *http.Request) string {
	if _, password, basic := r.BasicAuth(); basic {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// challenge sets the header that requests a token.
func challenge(w http.ResponseWriter, err error) {
	if errors.Is(err, errNoToken) || errors.Is(err, runners.ErrUnknownToken) {
		w.Header().Set("WWW-Authenticate", `Basic realm="nuon runner API"`)
	}
}

// attemptRef returns the attempt that a path names.
func attemptRef(job string, attempt int) api.AttemptRef {
	return api.AttemptRef{Job: job, Attempt: attempt}
}

// attemptOf returns the attempt of a caller with an attempt token.
func attemptOf(caller runners.Caller) (api.AttemptRef, error) {
	if caller.Job == "" {
		return api.AttemptRef{}, errWrongToken
	}
	return attemptRef(caller.Job, caller.Attempt), nil
}

// contentLength sets the Content-Length header if the size is known.
func contentLength(header http.Header, size int64) {
	if size >= 0 {
		header.Set("Content-Length", strconv.FormatInt(size, 10))
	}
}
