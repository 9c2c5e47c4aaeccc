package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// caller is who a request comes from.
type caller struct {
	org   store.Org
	actor string
	role  role
	// app is the id of the only app that it sees, and appName that app's name; empty for one that sees all.
	app, appName string
	// token is the id of what it showed, and expires when that ends; nil for never.
	token   string
	expires *time.Time
	// accept is the request's Accept header: a log can be had at once or followed.
	accept string
}

// scope is what the caller's units of work see.
func (c caller) scope() store.Scope { return store.Scope{Org: c.org.ID, App: c.app} }

// role is what a token may do. Each role may do all that the ones before it may.
type role int

const (
	viewer role = iota
	ci
	operator
	approver
	admin
)

// roleNames are the roles in their order.
var roleNames = []string{"viewer", "ci", "operator", "approver", "admin"}

// roleNamed is the role of that name. A name that is none gives one that may nothing.
func roleNamed(name string) role { return role(slices.Index(roleNames, name)) }

func (r role) String() string {
	if r < 0 {
		return "unknown" // a newer control plane beside this one may know more of them
	}
	return roleNames[r]
}

// needs is the role for each operation that changes something, and for each that shows more than a viewer is to see; any other
// reading needs viewer. One that changes something and is left out here needs admin.
var needs = map[string]role{
	"SyncApp": ci, "UploadAppVersion": ci, "PreviewApp": ci, "RetryBuild": ci, "CreatePartialRelease": ci, "LookAtRepo": ci,
	"CreateInstall": operator, "UpdateInstall": operator, "PreviewInstall": operator, "PinInstall": operator, "UnpinInstall": operator,
	"CreateWorkflow": operator, "CancelWorkflow": operator, "RevokeWorkflowRule": operator, "RetryStep": operator, "SkipStep": operator,
	"RestoreState": operator, "DismissState": operator, "FreeStateLock": operator, "GetRunnerLogs": operator,
	"RespondApproval": approver, "SetWorkflowRule": approver,
	"CreateApp": admin, "ForgetInstall": admin, "CreateCredential": admin, "UpdateCredential": admin, "CreateWebhook": admin, "RotateWebhook": admin, "CreateRunner": admin,
	"CreateRegistration": admin, "ReplaceRunner": admin, "AbandonState": admin, "ListTokens": admin, "CreateToken": admin,
	"DeleteApp": admin, "DeleteRunner": admin, "DeleteCredential": admin, "DeleteWebhook": admin,
	"RevokeToken": viewer, // its own; another's is for the operation itself to refuse
}

// inApp are the operations that a token for one app may ask for: those that concern an app and what belongs to it. Row-level security
// hides the other apps from them. An operation that is not here, such as a new one for which nobody has decided, concerns the org.
var inApp = map[string]bool{
	"Whoami": true, "GetSealingKey": true, "RevokeToken": true, "Explain": true,
	"ListApps": true, "GetApp": true, "DeleteApp": true, "GetAppConfig": true, "PreviewApp": true, "SyncApp": true, "GetSync": true,
	"ListAppVersions": true, "ListReleases": true, "GetRelease": true, "DiffRelease": true, "CreatePartialRelease": true, "UploadAppVersion": true, "ListComponents": true, "ListBuilds": true, "GetBuild": true, "RetryBuild": true,
	"ListInstalls": true, "GetInstall": true, "CreateInstall": true, "UpdateInstall": true, "PreviewInstall": true, "ForgetInstall": true,
	"PinInstall": true, "UnpinInstall": true, "RenderTexts": true,
	"ListWorkflows": true, "CreateWorkflow": true, "GetWorkflow": true, "StreamWorkflow": true, "CancelWorkflow": true, "SetWorkflowRule": true, "RevokeWorkflowRule": true,
	"RetryStep": true, "SkipStep": true, "GetPlan": true, "ListApprovals": true, "GetApproval": true, "RespondApproval": true,
	"GetJob": true, "GetLogs": true,
	"ListStates": true, "ListStateVersions": true, "RestoreState": true, "DismissState": true, "AbandonState": true, "FreeStateLock": true,
}

type callerKey struct{}

func callerOf(ctx context.Context) caller { return ctx.Value(callerKey{}).(caller) }

func acceptOf(ctx context.Context) string { return callerOf(ctx).accept }

// authenticate finds out who holds the bearer token. Every failure looks the same.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.admit(r)
		if err != nil {
			if p, _ := problem.Of(err); p.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Bearer realm="nuon"`)
			}
			problem.Writer(slog.Default())(w, r, err)
			return
		}
		ctx := telemetry.With(r.Context(), slog.String("org", c.org.ID), slog.String("actor", c.actor))
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callerKey{}, c)))
	})
}

// admit looks a request's token up, unless its caller has asked for too much. What is no token of ours is refused without a lookup.
func (s *Server) admit(r *http.Request) (caller, error) {
	credential := r.Header.Get("Authorization")
	keys, err := s.store.Tokens(r.Context())
	if err != nil {
		return caller{}, err
	}
	plain, bearer := strings.CutPrefix(credential, "Bearer ")
	genuine := bearer && keys.Genuine(plain)
	if err := s.quota.Admit(credential, genuine, r); err != nil {
		return caller{}, err
	}
	c, err := caller{}, error(unauthorized)
	if genuine {
		c, err = s.find(r, keys, plain)
	}
	var p problem.Error
	switch {
	case err == nil:
		s.quota.Good(credential, c.token)
	case errors.As(err, &p) && p.Status == http.StatusUnauthorized:
		s.quota.Bad(credential, genuine, r)
	}
	return c, err
}

var unauthorized = problem.Error{
	Status: http.StatusUnauthorized, Code: "unauthorized", Title: "the token is missing, wrong, expired or revoked",
	Detail: "Set NUON_TOKEN, or choose a context with a token that is valid here.",
}

// find looks a genuine token up.
func (s *Server) find(r *http.Request, keys token.Keys, plain string) (caller, error) {
	prefix, parts, hash, ok := keys.Parse(plain)
	if !ok || prefix != token.Control || len(parts) != 1 {
		return caller{}, unauthorized
	}
	c := caller{accept: r.Header.Get("Accept")}
	var used *time.Time
	err := s.store.Read(r.Context(), parts[0], func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.TokenByHash(ctx, tx.Org, hash)
		if err != nil {
			return err
		}
		t := row.Token
		c.actor, c.role, c.token, c.expires, used = t.Name, roleNamed(t.Role), t.ID, t.ExpiresAt, t.LastUsedAt
		if t.AppID != nil {
			c.app, c.appName = *t.AppID, row.App
		}
		c.org, err = tx.OrgByID(ctx, tx.Org)
		return err
	})
	if err != nil {
		return caller{}, hidden(err, unauthorized)
	}
	s.touch(r.Context(), c, used)
	return c, nil
}

// touchEvery is how old the note may get that a token was used: a request that only reads writes nothing but this now and then.
const touchEvery = 5 * time.Minute

// touch notes that a token was used. A note that cannot be written is no reason to refuse the request.
func (s *Server) touch(ctx context.Context, c caller, used *time.Time) {
	if used != nil && time.Since(*used) < touchEvery {
		return
	}
	err := s.store.In(ctx, c.org.ID, func(ctx context.Context, tx *store.Tx) error {
		return tx.TouchToken(ctx, tx.Org, c.token, touchEvery.Seconds())
	})
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "note that a token was used", "token", c.token, "error", err)
	}
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
		c := callerOf(ctx)
		if need := neededFor(operation, r.Method); c.role < need {
			return nil, forbidden(c, need)
		}
		if c.app != "" && !inApp[operation] {
			return nil, forApp(c)
		}
		return next(ctx, w, r, request)
	}
}

func forbidden(c caller, need role) error {
	return problem.Error{
		Status: http.StatusForbidden, Code: "forbidden",
		Title:  fmt.Sprintf("token %s has the role %s; this needs %s", quoted(c.actor), c.role, need),
		Detail: "Ask an admin for a token with that role.",
	}
}

// forApp refuses what concerns the whole org to a token for one app.
func forApp(c caller) error {
	return problem.Error{
		Status: http.StatusForbidden, Code: "forbidden",
		Title:  fmt.Sprintf("token %s is for app %s alone; this concerns the whole org", quoted(c.actor), c.appName),
		Detail: "Ask an admin for a token that is for all apps.",
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

// shownLength is how many characters of a name that came from outside are shown: names are shorter.
const shownLength = 100

// quoted shows a name that came from outside on one line, whatever it holds.
func quoted(s string) string {
	if all := []rune(s); len(all) > shownLength {
		s = string(all[:shownLength]) + "…"
	}
	return strconv.Quote(s)
}
