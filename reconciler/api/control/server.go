// Package control implements the control API: it authenticates people and CI, checks their roles,
// reads what the reconciler's packages have written, and calls them to change something. Routes and
// types are generated from pkg/api/openapi.yaml (server.gen.go). It decides nothing about builds,
// workflows or plans. The CLI and other API clients call it.
package control

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Rooms holds the functions of the reconciler's services that the control API calls.
type Rooms struct {
	// Watch finds or creates the watch of a ref of a repository. It refuses, with a reason, a
	// repository that this control plane must not read.
	Watch func(ctx context.Context, tx *store.Tx, url, ref, credential string) (store.Watch, error)
	// ChangeRepositories returns what a credential may be used for, with repositories added and
	// removed.
	ChangeRepositories func(now, add, remove []string) ([]string, error)
	// Look polls a watched ref now. The watch records if it cannot be read.
	Look func(ctx context.Context, org, watch string) error
	// SyncNow polls a connected app's ref, reads its config and plans its builds, all in this call.
	SyncNow func(ctx context.Context, org, app string) error
	// Upload makes a version of an app without a repository from a tar+gzip of its directory.
	Upload func(ctx context.Context, org, app, actor string, archive io.Reader) error
	// PreviewApp returns the effect of a sync of a tar+gzip of an app's files, with the config in a
	// directory of it. It stores nothing.
	PreviewApp func(ctx context.Context, org, app, directory string, archive io.Reader) (api.AppPreview, error)
	// ReleasePartial makes a release of what could be built of a locked app's newest release.
	ReleasePartial func(ctx context.Context, tx *store.Tx, app store.App, actor string) (*store.Release, error)
	// RetryBuild builds the input of a failed build again and returns the new build's id.
	RetryBuild func(ctx context.Context, tx *store.Tx, build string) (string, error)
	// AdvanceNow runs a workflow as far as it can go, so that a response shows the effect of a
	// decision.
	AdvanceNow func(ctx context.Context, org, workflow string) error
	// RolloutNow determines an install's desired state and starts the missing workflows.
	RolloutNow func(ctx context.Context, org, install string) error
	// Ask starts what a person's request for an install's components requires; Sketch only returns
	// it.
	Ask, Sketch func(
		ctx context.Context, tx *store.Tx, install store.Install, wish rollout.DeployRequest,
	) (rollout.RequestResult, error)
	// AskAction starts one run of an action and returns the workflow's id; SketchAction only
	// returns what would be started.
	AskAction    func(ctx context.Context, tx *store.Tx, install store.Install, run rollout.ActionRequest) (string, error)
	SketchAction func(ctx context.Context, tx *store.Tx, install store.Install,
		run rollout.ActionRequest) (rollout.DryRunWorkflow, error)
	// RetryStep retries what failed at a step, and returns the id of the workflow that does.
	RetryStep func(ctx context.Context, tx *store.Tx, workflow, step, actor string) (string, error)
	// SkipStep skips the component or action that a step belongs to.
	SkipStep func(ctx context.Context, tx *store.Tx, workflow, step, actor, reason string) error
	// Respond records a person's response to an approval.
	Respond func(ctx context.Context, tx *store.Tx, approval string, answer api.Response, actor string) error
	// ApproveWorkflow approves everything that a workflow plans until it ends; RevokeWorkflowRule
	// revokes that.
	ApproveWorkflow    func(ctx context.Context, tx *store.Tx, id string, by workflow.Approver) error
	RevokeWorkflowRule func(ctx context.Context, tx *store.Tx, id string) error
	// CancelWorkflow stops a workflow as soon as that is safe.
	CancelWorkflow func(ctx context.Context, tx *store.Tx, workflow, actor, reason string) error
	// AddRunner creates a runner and its registration token.
	AddRunner func(ctx context.Context, tx *store.Tx, r api.NewRunner) (store.Runner, string, error)
	// MoveBuilds assigns builds that no runner is working on to an online runner.
	MoveBuilds func(ctx context.Context, tx *store.Tx) error
	// ReplaceRunner records a person's decision that a runner's machine is gone.
	ReplaceRunner func(ctx context.Context, tx *store.Tx, r jobs.Replacement) (jobs.Replaced, error)
	// AskRestore starts the workflow that makes a version of a component's state the newest one,
	// and returns its id.
	AskRestore func(
		ctx context.Context, tx *store.Tx, install store.Install, component string, version int, reason, actor string,
	) (string, error)
	// AbandonState records a person's decision that the key of a component's state is lost.
	AbandonState func(ctx context.Context, tx *store.Tx, install store.Install, component, reason, actor string) error
	// FollowLogs streams a job's log as server-sent events.
	FollowLogs func(ctx context.Context, w http.ResponseWriter, org, job, lastEventID string) error
	// Logs returns a job's log so far.
	Logs func(ctx context.Context, org, job string) ([]api.LogChunk, error)
	// FollowRunnerLog streams a runner's own log as server-sent events.
	FollowRunnerLog func(ctx context.Context, w http.ResponseWriter, org, runner, lastEventID string) error
	// RunnerLog returns the stored log of a runner.
	RunnerLog func(ctx context.Context, org, runner string) ([]api.LogChunk, error)
	// Health returns the part of GET /v1/system that belongs to no org.
	Health func(ctx context.Context) (api.System, error)
}

// Server serves the control API.
type Server struct {
	store   *store.Store
	bell    *store.Notifier
	key     seal.Identity
	rooms   Rooms
	version string
	quota   *ratelimit.Quota

	drain   sync.Once
	drained chan struct{} // created by the first stream; see draining
}

// Options configures a Server; every field must be set.
type Options struct {
	Store   *store.Store
	Bell    *store.Notifier
	Key     seal.Identity // the control plane's own key, to which clients seal credentials
	Rooms   Rooms
	Version string
	// Hooks serves signed webhooks, with the path values org and hook.
	Hooks http.Handler
	// Quota limits the requests of one token; its zero value has generous limits.
	Quota ratelimit.Options
}

// Limits of one request.
const (
	bodyLimit   = 1 << 20  // bytes of a JSON body
	uploadLimit = 64 << 20 // bytes of an uploaded app directory
	requestTime = time.Minute
)

// New returns the handler of the control listener.
func New(o Options) http.Handler {
	s := &Server{
		store: o.Store, bell: o.Bell, key: o.Key, rooms: o.Rooms, version: o.Version, quota: ratelimit.New(o.Quota),
	}
	mux := http.NewServeMux()
	mux.Handle("/hooks/{org}/{hook}", s.limitHooks(o.Hooks))
	mux.Handle("/v1/", limitBody(s.authenticate(problem.Mux(routes(s, wellFormed, authorize, withTimeout)))))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return middleware.New(problem.Mux(mux), middleware.Options{})
}

// routes mounts the operations of the document. The middlewares run first for every decoded
// request, the last of them outermost.
func routes(operations StrictServerInterface, middlewares ...StrictMiddlewareFunc) *http.ServeMux {
	failed := problem.Writer(slog.Default())
	strict := NewStrictHandlerWithOptions(operations, middlewares, StrictHTTPServerOptions{
		RequestErrorHandlerFunc: problem.Undecodable,
		ResponseErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) {
			failed(w, r, explained(err))
		},
	})
	mux := http.NewServeMux()
	HandlerWithOptions(strict, StdHTTPServerOptions{BaseRouter: mux, ErrorHandlerFunc: problem.Undecodable})
	return mux
}

// limitBody limits every body before it is read. Only uploads may be large, whatever the request's
// Content-Type.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := int64(bodyLimit)
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/apps/") &&
			(strings.HasSuffix(r.URL.Path, "/versions") || strings.HasSuffix(r.URL.Path, "/preview")) {
			limit = uploadLimit
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		next.ServeHTTP(w, r)
	})
}

// limitHooks limits deliveries: a delivery that its webhook accepted counts for that webhook, and
// one that was not verified counts for its address. Forged deliveries from elsewhere do not use up
// the webhook's quota.
func (s *Server) limitHooks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hook := r.URL.Path
		from := hook + " from " + s.quota.Address(r)
		if err := s.quota.Admit(from, false, r); err != nil {
			problem.Write(w, err)
			return
		}
		next.ServeHTTP(w, r)
		if w.Header().Get(forge.HeaderResult) != "" {
			s.quota.Good(from, hook)
		} else {
			s.quota.Bad(from, false, r)
		}
	})
}

// withTimeout limits the time of every request except streams, which write their response after
// next has returned.
func withTimeout(next StrictHandlerFunc, operation string) StrictHandlerFunc {
	switch operation {
	case "StreamWorkflow", "GetLogs", "GetRunnerLogs":
		return next
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		return next(ctx, w, r, request)
	}
}

// explained turns a store error into one that a client may see.
func explained(err error) error {
	if _, known := problem.Of(err); known {
		return err
	}
	switch {
	case store.IsForeignKeyViolation(err):
		return problem.New(http.StatusConflict, "gone",
			"something that this names was removed meanwhile", "Look again.")
	case errors.Is(err, store.ErrNotFound):
		return problem.New(http.StatusNotFound, "not_found", "there is no such thing in this org",
			"Names and ids are those that the list commands show.")
	case errors.Is(err, context.DeadlineExceeded):
		return problem.New(http.StatusGatewayTimeout, "timeout", "this took too long",
			"It may still be done; look before you ask again.")
	}
	return err
}

// named returns the error for something that a client named and that does not exist.
func named(kind, key string, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	detail := "Use a name or an id that `nuon " + kind + "s list` shows."
	switch kind {
	case "approval":
		detail = "`nuon review` shows those that wait."
	case "job", "plan":
		detail = "`nuon workflows get` shows those of a workflow."
	case "revision":
		detail = "`nuon apps get` shows the newest of an app."
	case "credential":
		detail = "`nuon repos list` shows those in use."
	}
	return problem.New(http.StatusNotFound, "not_found", "there is no "+kind+" "+quoted(key), detail)
}

// oneOf refuses a word that the document does not list.
func oneOf(known bool, code, what, word string, words ...string) error {
	if known {
		return nil
	}
	return problem.New(http.StatusUnprocessableEntity, code, quoted(word)+" is no "+what,
		"Use one of: "+strings.Join(words, ", ")+".")
}
