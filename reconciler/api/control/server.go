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
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Server serves the control API.
type Server struct {
	store    *store.Store
	bell     *store.Notifier
	key      seal.Identity
	services Services
	version  string
	quota    *ratelimit.Quota
	hooks    *ratelimit.Quota // for the bodies of deliveries, by address

	drain   sync.Once
	drained chan struct{} // created by the first stream; see draining
}

// Options configures a Server; every field must be set.
type Options struct {
	Store    *store.Store
	Bell     *store.Notifier
	Key      seal.Identity // the control plane's own key, to which clients seal credentials
	Services Services
	Version  string
	// Hooks serves signed webhooks, with the path values org and hook.
	Hooks http.Handler
	// Quota limits the requests of one token; its zero value has generous limits.
	Quota ratelimit.Options
}

// Limits of one request.
const (
	bodyLimit   = 1 << 20  // bytes of a JSON body
	uploadLimit = 64 << 20 // bytes of an uploaded app directory
	// hookTime is how long the sender of a delivery has. Forges stop earlier.
	hookTime = 20 * time.Second
)

// How much of the bodies of deliveries is in memory at once, in bytes: of one address, and of all.
const (
	eachHooks = 2 * forge.MaxBody
	allHooks  = 8 * forge.MaxBody
)

// New returns the handler of the control listener.
func New(o Options) http.Handler {
	s := &Server{
		store: o.Store, bell: o.Bell, key: o.Key, services: o.Services, version: o.Version, quota: ratelimit.New(o.Quota),
		hooks: ratelimit.New(ratelimit.Options{EachBodies: eachHooks, AllBodies: allHooks}),
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

// limitBody limits every body before it is read. Only uploads may be large, regardless of the request's
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
		middleware.Within(w, hookTime)
		defer s.hooks.LimitBody(s.quota.Address(r), w, r)()
		next.ServeHTTP(w, r)
		if w.Header().Get(forge.HeaderResult) != "" {
			s.quota.Good(from, hook)
		} else {
			s.quota.Bad(from, false, r)
		}
	})
}

// withTimeout limits the time of every request to that which openapi.yaml declares. Streams have no
// limit: they write their response after next has returned.
func withTimeout(next StrictHandlerFunc, id string) StrictHandlerFunc {
	operation, _ := api.FindOperation(id)
	if operation.Streams {
		return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
			return next(context.WithValue(ctx, streamKey{}, operation.ID), w, r, request)
		}
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, operation.ResponseTime())
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
			"an object that the request refers to was removed in the meantime", "Look again.")
	case errors.Is(err, store.ErrNotFound):
		return problem.New(http.StatusNotFound, "not_found", "not found in this org",
			"Use a name or an ID that a list command shows.")
	case errors.Is(err, context.DeadlineExceeded):
		return problem.New(http.StatusGatewayTimeout, "timeout", "the request timed out",
			"It may have taken effect; check before you try again.")
	}
	return err
}

// named returns the error for something that a client named and that does not exist.
func named(kind, key string, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	detail := "Use a name or an ID that `nuon " + kind + "s list` shows."
	switch kind {
	case "approval":
		detail = "`nuon review` shows those that wait."
	case "refresh":
		detail = "`nuon builds refresh` starts one."
	case "job", "plan":
		detail = "`nuon workflows get` shows those of a workflow."
	case "revision":
		detail = "`nuon apps get` shows the newest of an app."
	case "credential":
		detail = "`nuon repos list` shows those in use."
	}
	return problem.New(http.StatusNotFound, "not_found", kind+" "+quoted(key)+" not found", detail)
}

// oneOf refuses a word that the document does not list.
func oneOf(known bool, code, what, word string, words ...string) error {
	if known {
		return nil
	}
	return problem.New(http.StatusUnprocessableEntity, code, quoted(word)+" is not a valid "+what,
		"Use one of: "+strings.Join(words, ", ")+".")
}
