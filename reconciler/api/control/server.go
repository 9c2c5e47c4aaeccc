// Package control is the control API: HTTP in, typed calls out. It authenticates people and CI, checks their role, reads what the
// rooms of the reconciler have written and calls them to change something. Routes and types are generated from
// pkg/api/openapi.yaml (server.gen.go). It decides nothing about builds, workflows or plans. Its callers are the CLI and whoever
// else speaks the API.
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
	"github.com/nuon-toolkit/nuon/reconciler/api/edge"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/api/quota"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Rooms is what the control API asks of the reconciler's rooms.
type Rooms struct {
	// Watch finds or makes the watch of a ref of a repository. It refuses, in words, what this control plane must not read.
	Watch func(ctx context.Context, tx *store.Tx, url, ref, credential string) (store.Watch, error)
	// ChangeRepositories returns what a credential may be used for, with repositories added and removed.
	ChangeRepositories func(now, add, remove []string) ([]string, error)
	// Look looks at a watched ref now. That it cannot be read is kept with the watch.
	Look func(ctx context.Context, org, watch string) error
	// SyncNow looks at a connected app's ref, reads its config and plans its builds, all in this call.
	SyncNow func(ctx context.Context, org, app string) error
	// Upload makes a version of an app that has no repository from a tar+gzip of its directory.
	Upload func(ctx context.Context, org, app, actor string, archive io.Reader) error
	// PreviewApp says what a sync of a tar+gzip of an app's files would cause, with the config in a directory of it. It keeps nothing.
	PreviewApp func(ctx context.Context, org, app, directory string, archive io.Reader) (api.AppPreview, error)
	// ReleasePartial releases what could be built of a locked app's newest release.
	ReleasePartial func(ctx context.Context, tx *store.Tx, app store.App, actor string) (*store.Release, error)
	// RetryBuild builds the input of a failed build again and gives the new build's id.
	RetryBuild func(ctx context.Context, tx *store.Tx, build string) (string, error)
	// AdvanceNow takes a workflow as far as it goes, so that an answer shows what came of a word.
	AdvanceNow func(ctx context.Context, org, workflow string) error
	// RolloutNow works out what an install wants and starts what is missing.
	RolloutNow func(ctx context.Context, org, install string) error
	// Ask takes a person's wish for an install's components and starts what is to be done; Sketch only says what would be.
	Ask, Sketch func(ctx context.Context, tx *store.Tx, install store.Install, wish rollout.Wish) (rollout.Granted, error)
	// AskAction starts one run of an action and gives the workflow's id; SketchAction only says what would be started.
	AskAction    func(ctx context.Context, tx *store.Tx, install store.Install, run rollout.Run) (string, error)
	SketchAction func(ctx context.Context, tx *store.Tx, install store.Install, run rollout.Run) (rollout.Sketch, error)
	// RetryStep begins again what failed at a step, and gives the id of the workflow in which it does.
	RetryStep func(ctx context.Context, tx *store.Tx, workflow, step, actor string) (string, error)
	// SkipStep goes on without what a step belongs to.
	SkipStep func(ctx context.Context, tx *store.Tx, workflow, step, actor, reason string) error
	// Respond takes a person's answer to an approval.
	Respond func(ctx context.Context, tx *store.Tx, approval string, answer api.Response, actor string) error
	// ApproveWorkflow has an approver approve what a workflow plans until it ends; RevokeWorkflowRule takes that back.
	ApproveWorkflow    func(ctx context.Context, tx *store.Tx, id string, by workflow.Approver) error
	RevokeWorkflowRule func(ctx context.Context, tx *store.Tx, id string) error
	// CancelWorkflow stops a workflow as soon as that is safe.
	CancelWorkflow func(ctx context.Context, tx *store.Tx, workflow, actor, reason string) error
	// AddRunner makes a runner and its registration token.
	AddRunner func(ctx context.Context, tx *store.Tx, r api.NewRunner) (store.Runner, string, error)
	// MoveBuilds has builds that no runner has in hand given to one.
	MoveBuilds func(ctx context.Context, tx *store.Tx) error
	// ReplaceRunner takes a person's word that a runner's machine is gone.
	ReplaceRunner func(ctx context.Context, tx *store.Tx, r dispatch.Replacement) (dispatch.Replaced, error)
	// AskRestore starts the workflow that makes a version of a component's state the newest one, and gives its id.
	AskRestore func(ctx context.Context, tx *store.Tx, install store.Install, component string, version int, reason, actor string) (string, error)
	// AbandonState takes a person's word that the key of a component's state is lost.
	AbandonState func(ctx context.Context, tx *store.Tx, install store.Install, component, reason, actor string) error
	// FollowLogs streams a job's log as server-sent events.
	FollowLogs func(ctx context.Context, w http.ResponseWriter, org, job, lastEventID string) error
	// Logs gives a job's log so far.
	Logs func(ctx context.Context, org, job string) ([]api.LogChunk, error)
	// FollowRunnerLog streams a runner's own log as server-sent events.
	FollowRunnerLog func(ctx context.Context, w http.ResponseWriter, org, runner, lastEventID string) error
	// RunnerLog gives what is kept of a runner's own log.
	RunnerLog func(ctx context.Context, org, runner string) ([]api.LogChunk, error)
	// Health is the control plane's own: what of GET /v1/system belongs to no org.
	Health func(ctx context.Context) (api.System, error)
}

// Server answers the control API.
type Server struct {
	store   *store.Store
	bell    *store.Bell
	key     seal.Identity
	rooms   Rooms
	version string
	quota   *quota.Quota

	drain   sync.Once
	drained chan struct{} // made by the first stream; see draining
}

// Options are what a Server needs; every field must be set.
type Options struct {
	Store   *store.Store
	Bell    *store.Bell
	Key     seal.Identity // the control plane's own key, to which clients seal credentials
	Rooms   Rooms
	Version string
	// Hooks takes signed webhooks, with the path values org and hook.
	Hooks http.Handler
	// Quota bounds how much one token may ask; its zero value has generous bounds.
	Quota quota.Options
}

// Limits of one request.
const (
	bodyLimit   = 1 << 20  // bytes of a JSON body
	uploadLimit = 64 << 20 // bytes of an uploaded app directory
	requestTime = time.Minute
)

// New is the handler of the control listener.
func New(o Options) http.Handler {
	s := &Server{store: o.Store, bell: o.Bell, key: o.Key, rooms: o.Rooms, version: o.Version, quota: quota.New(o.Quota)}
	mux := http.NewServeMux()
	mux.Handle("/hooks/{org}/{hook}", s.limitHooks(o.Hooks))
	mux.Handle("/v1/", limitBody(s.authenticate(problem.Mux(routes(s, wellFormed, authorize, withTimeout)))))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return edge.New(problem.Mux(mux), edge.Options{})
}

// routes mounts the operations of the document. The middlewares are the first to see a request that could be decoded, the last of
// them before the others.
func routes(operations StrictServerInterface, middlewares ...StrictMiddlewareFunc) *http.ServeMux {
	failed := problem.Writer(slog.Default())
	strict := NewStrictHandlerWithOptions(operations, middlewares, StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  problem.Undecodable,
		ResponseErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) { failed(w, r, explained(err)) },
	})
	mux := http.NewServeMux()
	HandlerWithOptions(strict, StdHTTPServerOptions{BaseRouter: mux, ErrorHandlerFunc: problem.Undecodable})
	return mux
}

// limitBody bounds every body before anything reads it. Only uploads may be large, whatever a request says that it holds.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := int64(bodyLimit)
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/apps/") && (strings.HasSuffix(r.URL.Path, "/versions") || strings.HasSuffix(r.URL.Path, "/preview")) {
			limit = uploadLimit
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		next.ServeHTTP(w, r)
	})
}

// limitHooks bounds deliveries: a webhook that took one counts as a caller of its own, and what was not verified counts for its
// address. Who forges deliveries from elsewhere does not use up what the webhook may take.
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

// withTimeout bounds every request but the ones that follow something: they write their answer after next has returned.
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

// explained turns what the store says into what a client may know.
func explained(err error) error {
	if _, known := problem.Of(err); known {
		return err
	}
	switch {
	case store.IsGone(err):
		return problem.New(http.StatusConflict, "gone", "something that this names was removed meanwhile", "Look again.")
	case errors.Is(err, store.ErrNotFound):
		return problem.New(http.StatusNotFound, "not_found", "there is no such thing in this org", "Names and ids are those that the list commands show.")
	case errors.Is(err, context.DeadlineExceeded):
		return problem.New(http.StatusGatewayTimeout, "timeout", "this took too long", "It may still be done; look before you ask again.")
	}
	return err
}

// named is the error for something that a client named and that is not there.
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

// oneOf refuses a word that is none of those that the document lists.
func oneOf(known bool, code, what, word string, words ...string) error {
	if known {
		return nil
	}
	return problem.New(http.StatusUnprocessableEntity, code, quoted(word)+" is no "+what, "Use one of: "+strings.Join(words, ", ")+".")
}
