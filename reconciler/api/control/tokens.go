package control

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// The default lifetime of a token, and its limits.
const (
	tokenLife     = 30 * 24 * time.Hour
	longestToken  = 366 * 24 * time.Hour
	shortestToken = time.Minute
)

// tokenName excludes the names of the control plane's own actors in the audit log: they contain
// spaces, or are reserved.
var tokenName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// reserved are names under which the control plane itself acts.
var reserved = []string{"nuon"}

// ListTokens implements GET /v1/tokens.
func (s *Server) ListTokens(ctx context.Context, r ListTokensRequestObject) (ListTokensResponseObject, error) {
	var list api.TokenList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		most := page(r.Params.Limit)
		rows, err := tx.ViewTokens(ctx, tx.Org, before(r.Params.Cursor), most)
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most, func(t store.ViewTokensRow) string { return t.Token.ID })
		list.Items = each(rows, func(t store.ViewTokensRow) api.Token { return viewToken(t.Token, t.App) })
		return nil
	})
	return ListTokens200JSONResponse(list), err
}

// CreateToken implements POST /v1/tokens.
func (s *Server) CreateToken(ctx context.Context, r CreateTokenRequestObject) (CreateTokenResponseObject, error) {
	expires, err := newTokenEnd(callerOf(ctx), *r.Body)
	if err != nil {
		return nil, err
	}
	var made api.CreatedToken
	err = s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		app, appName, err := appOfToken(ctx, tx, *r.Body)
		if err != nil {
			return err
		}
		if err := tx.RetireToken(ctx, tx.Org, r.Body.Name); err != nil {
			return err
		}
		keys, err := tx.Tokens(ctx)
		if err != nil {
			return err
		}
		plain, hash := keys.Mint(token.Control, tx.Org)
		row, err := tx.CreateToken(ctx, store.CreateTokenParams{
			OrgID: tx.Org, ID: id.New("tok"), Name: r.Body.Name, Role: string(r.Body.Role), AppID: app, Hash: hash,
			CreatedBy: callerOf(ctx).actor, ExpiresAt: &expires,
		})
		if _, taken := store.IsUniqueViolation(err); taken {
			return problem.New(http.StatusConflict, "exists", "token "+quoted(r.Body.Name)+" already exists",
				"Use another name, or revoke that token first (`nuon tokens revoke "+r.Body.Name+"`).")
		}
		if err != nil {
			return fmt.Errorf("create token %s: %w", r.Body.Name, err)
		}
		made = api.CreatedToken{Token: viewToken(row, appName), Secret: plain}
		return tx.Audit(ctx, callerOf(ctx).actor, "token.create", row.ID, map[string]any{
			"name": row.Name, "role": row.Role, "app": appName, "expires_at": expires,
		})
	})
	return CreateToken201JSONResponse(made), err
}

// appOfToken returns the one app of a new token; nil means all.
func appOfToken(ctx context.Context, tx *store.Tx, n api.NewToken) (id *string, name string, err error) {
	if n.App == "" {
		if n.Role == api.NewTokenRoleCi {
			return nil, "", problem.New(http.StatusUnprocessableEntity, "no_app",
				"a token with the role ci must be limited to an app", "Name the app: `nuon tokens create --role ci --app APP`.")
		}
		return nil, "", nil
	}
	app, err := findApp(ctx, tx, n.App)
	return &app.ID, app.Name, err
}

// newTokenEnd checks a new token and returns when it expires.
func newTokenEnd(c caller, n api.NewToken) (time.Time, error) {
	none := time.Time{}
	if !tokenName.MatchString(n.Name) || slices.Contains(reserved, n.Name) {
		return none, problem.New(http.StatusUnprocessableEntity, "bad_name", "a token cannot be named "+quoted(n.Name),
			"Use lower-case letters, digits, - and _, at most 63, the first a letter or digit; the name nuon is reserved.")
	}
	if err := oneOf(n.Role.Valid(), "bad_role", "role", string(n.Role), roleNames...); err != nil {
		return none, err
	}
	if need := roleNamed(string(n.Role)); c.role < need {
		return none, forbidden(c, need)
	}
	life := tokenLife
	if n.ExpiresInSeconds != 0 {
		// Compared as seconds: as nanoseconds a large number would overflow.
		if n.ExpiresInSeconds < int64(shortestToken.Seconds()) || n.ExpiresInSeconds > int64(longestToken.Seconds()) {
			return none, problem.New(http.StatusUnprocessableEntity, "bad_expiry",
				fmt.Sprintf("a token cannot be valid for %d s", n.ExpiresInSeconds),
				"Use a minute to a year, or omit it for 30 days.")
		}
		life = time.Duration(n.ExpiresInSeconds) * time.Second
	}
	return time.Now().Add(life).UTC().Truncate(time.Second), nil
}

// RevokeToken implements DELETE /v1/tokens/{token}. The holder of a token may revoke it; an admin
// may revoke any.
func (s *Server) RevokeToken(ctx context.Context, r RevokeTokenRequestObject) (RevokeTokenResponseObject, error) {
	c := callerOf(ctx)
	var row store.Token
	var app string
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.ViewToken(ctx, tx.Org, r.Token)
		row, app = found.Token, found.App
		switch own := err == nil && row.ID == c.token; {
		case c.role < admin && !own:
			return forbidden(c, admin)
		case c.app != "" && !own:
			return forApp(c)
		}
		if err != nil {
			return named("token", r.Token, err)
		}
		revoked, err := tx.RevokeToken(ctx, tx.Org, row.ID)
		if isNotFound(err) {
			return nil // it is already revoked
		}
		if err != nil {
			return fmt.Errorf("revoke token %s: %w", row.ID, err)
		}
		row = revoked
		if err := tx.Notify(ctx, store.ChannelTokens, tx.Org+"/"+row.ID); err != nil {
			return err
		}
		return tx.Audit(ctx, c.actor, "token.revoke", row.ID, map[string]any{"name": row.Name})
	})
	return RevokeToken200JSONResponse(viewToken(row, app)), err
}

// viewToken returns the API representation of a token; app is the name of its app, if it is for
// one.
func viewToken(t store.Token, app string) api.Token {
	return api.Token{
		ID: t.ID, Name: t.Name, Role: api.TokenRole(t.Role), App: app, CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt,
		ExpiresAt: at(t.ExpiresAt), LastUsedAt: at(t.LastUsedAt), RevokedAt: at(t.RevokedAt),
	}
}

// at returns a time, or the zero time for nil, which the API omits.
func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
