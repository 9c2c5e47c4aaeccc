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

// caller is the authenticated sender of a request.
type caller struct {
	org   store.Org
	actor string
	role  role
	// app is the id of the only app that it sees, and appName that app's name; empty if it sees
	// all.
	app, appName string
	// token is the id of its token, and expires when that token expires; nil for never.
	token   string
	expires *time.Time
	// accept is the request's Accept header: a log can be returned at once or followed.
	accept string
}

// scope returns the scope of the caller's transactions.
func (c caller) scope() store.Scope { return store.Scope{Org: c.org.ID, App: c.app} }

// role is what a token may do. Each role may do everything that the roles before it may.
type role int

const (
	viewer role = iota
	ci
	operator
	approver
	admin
)

// roleNames are the names of the roles, in order.
var roleNames = []string{"viewer", "ci", "operator", "approver", "admin"}

// roleNamed returns the role with a name. An unknown name gives a role that may do nothing.
func roleNamed(name string) role { return role(slices.Index(roleNames, name)) }

func (r role) String() string {
	if r < 0 {
		return "unknown" // a newer control plane on the same database may have more roles
	}
	return roleNames[r]
}

// needs is the required role for each operation that changes something, and for each read that a
// viewer may not do. Any other read requires viewer. A change without an entry requires admin.
var needs = map[string]role{
	"SyncApp": ci, "UploadAppVersion": ci, "PreviewApp": ci, "RetryBuild": ci, "CreateModuleRefresh": ci,
	"CancelModuleRefresh": ci, "CreatePartialRelease": ci,
	"CreateInstall": operator, "UpdateInstall": operator, "PreviewInstall": operator, "PinInstall": operator,
	"UnpinInstall":    operator,
	"SetStackOutputs": operator, "RenderStack": operator, "ChangeAppVariables": operator, "CheckInstallSecrets": operator,
	"RequestBreakGlass": operator, "RevokeBreakGlass": operator,
	"CreateWorkflow": operator, "CancelWorkflow": operator, "RevokeWorkflowRule": operator,
	"RetryStep": operator, "SkipStep": operator,
	"CreateLogRequest": operator, "CancelJob": operator, "LookAtRepo": operator,
	"RestoreState": operator, "DismissState": operator, "FreeStateLock": operator, "GetRunnerLogs": operator,
	"CreateDebugCommand": approver, "CreateShell": approver, "SendShellInput": approver, "GetShell": operator,
	"RespondApproval": approver, "AssignApproval": approver, "SetWorkflowRule": approver,
	"CreateApp": admin, "ForgetInstall": admin, "CreateCredential": admin, "UpdateCredential": admin,
	"CreateWebhook": admin, "RotateWebhook": admin, "CreateRunner": admin,
	"CreateRegistration": admin, "ReplaceRunner": admin, "ConfirmRunner": admin, "ForgetStack": admin,
	"AbandonState": admin, "CollectRegistry": admin,
	"ListTokens": admin, "CreateToken": admin,
	"DeleteApp": admin, "DeleteRunner": admin, "DeleteCredential": admin, "DeleteWebhook": admin,
	"RevokeToken": viewer, // its own; the operation itself refuses another's
}

// inApp lists the operations that a token for one app may use: those about an app and what belongs
// to it. Row-level security hides the other apps from them. An operation without an entry, such as
// a new one, concerns the org.
var inApp = map[string]bool{
	"Whoami": true, "GetSealingKey": true, "RevokeToken": true, "Explain": true,
	"ListApps": true, "GetApp": true, "DeleteApp": true, "GetAppConfig": true, "PreviewApp": true,
	"SyncApp": true, "GetSync": true,
	"ListAppVersions": true, "ListReleases": true, "GetRelease": true, "DiffRelease": true,
	"CreatePartialRelease": true, "UploadAppVersion": true, "ListComponents": true, "ListBuilds": true,
	"GetBuild": true, "RetryBuild": true, "CreateModuleRefresh": true, "GetModuleRefresh": true,
	"CancelModuleRefresh": true,
	"ListInstalls":        true, "GetInstall": true, "CreateInstall": true, "UpdateInstall": true, "PreviewInstall": true,
	"ForgetInstall": true,
	"PinInstall":    true, "UnpinInstall": true, "RenderTexts": true,
	"ListAppVariables": true, "ChangeAppVariables": true,
	"GetStackOutputs": true, "SetStackOutputs": true, "ListStackOutputVersions": true,
	"RenderStack": true, "ForgetStack": true, "GetStackVersion": true, "ListStackVersions": true,
	"ListInstallSecrets": true, "CheckInstallSecrets": true,
	"ListBreakGlass": true, "RequestBreakGlass": true, "RevokeBreakGlass": true,
	"ListWorkflows": true, "CreateWorkflow": true, "GetWorkflow": true, "StreamWorkflow": true, "CancelWorkflow": true,
	"SetWorkflowRule": true, "RevokeWorkflowRule": true,
	"RetryStep": true, "SkipStep": true, "GetPlan": true, "ListApprovals": true, "GetApproval": true,
	"RespondApproval": true, "AssignApproval": true,
	"GetJob": true, "GetLogs": true, "CreateLogRequest": true, "CancelJob": true,
	"CreateDebugCommand": true, "CreateShell": true, "SendShellInput": true, "GetShell": true,
	"ListStates": true, "ListStateVersions": true, "RestoreState": true, "DismissState": true,
	"AbandonState":  true,
	"FreeStateLock": true,
}

type callerKey struct{}

func callerOf(ctx context.Context) caller { return ctx.Value(callerKey{}).(caller) }

func acceptOf(ctx context.Context) string { return callerOf(ctx).accept }

// authenticate identifies the holder of the bearer token. Every failure gets the same response.
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
		ctx := telemetry.ContextWithAttrs(r.Context(), slog.String("org", c.org.ID), slog.String("actor", c.actor))
		defer s.quota.LimitBody(c.org.ID, w, r)()
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callerKey{}, c)))
	})
}

// admit looks up a request's token, unless its caller has exceeded the quota. It refuses a token
// that this control plane did not issue without a lookup.
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
	Status: http.StatusUnauthorized, Code: "unauthorized", Title: "the token is missing, invalid, expired or revoked",
	Detail: "Set NUON_TOKEN, or choose a context with a token that is valid here.",
}

// find looks up a genuine token.
func (s *Server) find(r *http.Request, keys token.Keys, plain string) (caller, error) {
	prefix, parts, hash, ok := keys.Parse(plain)
	if !ok || prefix != token.Control || len(parts) != 1 {
		return caller{}, unauthorized
	}
	c := caller{accept: r.Header.Get("Accept")}
	var used *time.Time
	err := s.store.ReadTx(r.Context(), parts[0], func(ctx context.Context, tx *store.Tx) error {
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

// touchEvery is the maximum age of the recorded time at which a token was last used: a read-only
// request writes only this, and only at that interval.
const touchEvery = 5 * time.Minute

// touch records that a token was used. A failed write does not fail the request.
func (s *Server) touch(ctx context.Context, c caller, used *time.Time) {
	if used != nil && time.Since(*used) < touchEvery {
		return
	}
	err := s.store.InTx(ctx, c.org.ID, func(ctx context.Context, tx *store.Tx) error {
		return tx.TouchToken(ctx, tx.Org, c.token, touchEvery.Seconds())
	})
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "record the use of a token", "token", c.token, "error", err)
	}
}

// hidden returns the given response for a missing row, and wraps other errors.
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

// forApp returns the error for an operation of the whole org with a token for one app.
func forApp(c caller) error {
	return problem.Error{
		Status: http.StatusForbidden, Code: "forbidden",
		Title:  fmt.Sprintf("token %s is limited to app %s; this request concerns the whole org", quoted(c.actor), c.appName),
		Detail: "Ask an admin for a token for all apps.",
	}
}

// neededFor returns the required role for an operation. A change without an entry in needs requires
// admin.
func neededFor(operation, method string) role {
	need, decided := needs[operation]
	if !decided && method != http.MethodGet {
		return admin
	}
	return need
}

// shownLength is the maximum number of characters shown of an external name; valid names are
// shorter.
const shownLength = 100

// quoted returns an external name in quotes, on one line, regardless of the characters in it.
func quoted(s string) string {
	if all := []rune(s); len(all) > shownLength {
		s = string(all[:shownLength]) + "…"
	}
	return strconv.Quote(s)
}
