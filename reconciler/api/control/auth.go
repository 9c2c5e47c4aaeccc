package control

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// caller is who a request comes from.
type caller struct {
	org   store.Org
	actor string
	role  role
	// accept is the request's Accept header: a log can be had at once or followed.
	accept string
}

// role is what a token may do. Each role may do all that the ones before it may.
type role int

const (
	viewer role = iota
	operator
	approver
	admin
)

var roles = map[string]role{"viewer": viewer, "operator": operator, "approver": approver, "admin": admin}

func (r role) String() string { return [...]string{"viewer", "operator", "approver", "admin"}[r] }

// needs is the role for each operation that changes something; reading needs viewer. One that is left out here needs admin.
var needs = map[string]role{
	"SyncApp": operator, "UploadAppVersion": operator, "RetryBuild": operator,
	"CreateInstall": operator, "UpdateInstall": operator, "CreateWorkflow": operator, "CancelWorkflow": operator,
	"RespondApproval": approver,
	"CreateApp":       admin, "ForgetInstall": admin, "CreateCredential": admin, "CreateWebhook": admin, "CreateRunner": admin,
}

type callerKey struct{}

func callerOf(ctx context.Context) caller { return ctx.Value(callerKey{}).(caller) }

func acceptOf(ctx context.Context) string { return callerOf(ctx).accept }

// authenticate finds out who holds the bearer token. Every failure looks the same.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.find(r)
		if err != nil {
			if p, _ := problem.Of(err); p.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Bearer realm="nuon"`)
			}
			problem.Writer(slog.Default())(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

var unauthorized = problem.Error{
	Status: http.StatusUnauthorized, Code: "unauthorized", Title: "the token is missing, wrong, expired or revoked",
	Detail: "Set NUON_TOKEN, or choose a context with a token that is valid here.",
}

func (s *Server) find(r *http.Request) (caller, error) {
	plain, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return caller{}, unauthorized
	}
	prefix, parts, hash, ok := token.Parse(plain)
	if !ok || prefix != token.Control || len(parts) != 1 {
		return caller{}, unauthorized
	}
	c := caller{accept: r.Header.Get("Accept")}
	err := s.store.Read(r.Context(), parts[0], func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.TokenByHash(ctx, tx.Org, hash)
		if err != nil {
			return err
		}
		c.actor, c.role = row.Name, roles[row.Role]
		c.org, err = tx.OrgByID(ctx, tx.Org)
		return err
	})
	if err != nil {
		return caller{}, hidden(err, unauthorized)
	}
	return c, nil
}

// hidden gives the answer for something that is not there, and leaves other errors as they are.
func hidden(err error, answer problem.Error) error {
	if isNotFound(err) {
		return answer
	}
	return fmt.Errorf("authenticate: %w", err)
}

// authorize refuses an operation that the caller's role does not allow.
func authorize(next StrictHandlerFunc, operation string) StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if c, need := callerOf(ctx), neededFor(operation, r.Method); c.role < need {
			return nil, problem.Error{
				Status: http.StatusForbidden, Code: "forbidden",
				Title:  fmt.Sprintf("token %s has the role %s; this needs %s", quoted(c.actor), c.role, need),
				Detail: "Ask an admin for a token with that role.",
			}
		}
		return next(ctx, w, r, request)
	}
}

// neededFor is the role for an operation. Nobody but an admin may change something by a route for which nobody has decided.
func neededFor(operation, method string) role {
	need, decided := needs[operation]
	if !decided && method != http.MethodGet {
		return admin
	}
	return need
}

// quoted shows a name that came from outside on one line.
func quoted(s string) string { return strconv.Quote(s) }
