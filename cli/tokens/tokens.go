// Package tokens implements `nuon tokens`, which manages API tokens. Each token has a
// role and an expiry.
package tokens

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "tokens", Short: "Manage API tokens"}
	c.AddCommand(newList(e), newCreate(e), newRevoke(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	var all bool
	l := &listing.List[api.Token]{
		Header: []string{"NAME", "ROLE", "APP", "STATUS", "LAST USED", "CREATED BY", "ID"},
		Row: func(t api.Token) []string {
			return []string{t.Name, string(t.Role), cmp.Or(t.App, "all"), status(t, time.Now()),
				formatDay(t.LastUsedAt, "never"), t.CreatedBy, t.ID}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Token, string, error) {
			l, err := apiclient.Decode[api.TokenList](client.ListTokens(ctx,
				&api.ListTokensParams{Cursor: at.Cursor, Limit: at.Limit}))
			if now := time.Now(); !all {
				l.Items = slices.DeleteFunc(l.Items, func(t api.Token) bool { return isEnded(t, now) })
			}
			return l.Items, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List API tokens without their secrets", Args: cobra.NoArgs,
		Long: `List valid API tokens without their secrets, newest first. A token may be limited to one app.`,
		Example: `  nuon tokens list
  nuon tokens list --all -o json`,
	})
	c.Flags().BoolVar(&all, "all", false, "also list expired and revoked tokens")
	return c
}

// isEnded reports whether a token was revoked or has expired.
func isEnded(t api.Token, now time.Time) bool {
	return !t.RevokedAt.IsZero() || !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now)
}

func status(t api.Token, now time.Time) string {
	switch {
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now):
		return "expired " + formatDay(t.ExpiresAt, "")
	case !t.RevokedAt.IsZero():
		return "revoked " + formatDay(t.RevokedAt, "")
	case t.ExpiresAt.IsZero():
		return "good"
	}
	return "valid until " + formatDay(t.ExpiresAt, "")
}

// formatDay formats a time for lists; it returns none for the zero time.
func formatDay(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Local().Format("2006-01-02 15:04")
}

func newCreate(e *cmdenv.Env) *cobra.Command {
	var n api.NewToken
	var role string
	var expires time.Duration
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API token and print its secret",
		Args:  cobra.ExactArgs(1),
		Long: `Create an API token and print its secret, which is shown only once, alone on stdout, so that you can pipe
it to where it is stored. A token cannot have more rights than the token that creates it.

Roles: viewer reads; ci also syncs, previews and retries builds; operator also creates and changes
installs and deploys; approver also answers plans; admin does everything. --app limits the token to one
app and its installs; a ci token needs it.`,
		Example: `  nuon tokens create shop-ci --role ci --app shop --expires 1h
  nuon tokens create on-call --role approver | pass insert -e nuon/on-call`,
		ValidArgsFunction: complete.Nothing,
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			switch {
			case !slices.Contains(api.TokenRoles, role):
				return exitcode.Usagef("--role %s: use one of %s", role, strings.Join(api.TokenRoles, ", "))
			case role == string(api.NewTokenRoleCi) && n.App == "":
				return exitcode.Usagef("--role ci: a ci token needs one app; set it with --app APP")
			case expires < time.Minute:
				return exitcode.Usagef("--expires %s: use at least a minute, such as 24h or 720h", expires)
			}
			n.Name, n.Role, n.ExpiresInSeconds = args[0], api.NewTokenRole(role), int64(expires.Seconds())
			made, err := apiclient.Decode[api.CreatedToken](client.CreateToken(ctx, n))
			if err != nil {
				return err
			}
			if e.Console.Output == "table" {
				e.Console.Messagef("created token %s (%s), %s; its secret is shown only once",
					made.Token.Name, permissions(made.Token), status(made.Token, time.Now()))
			}
			return e.Console.Result(made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, console.Line(made.Secret))
				return err
			})
		}),
	}
	c.Flags().StringVar(&role, "role", "", "role of the token: "+strings.Join(api.TokenRoles, ", "))
	c.Flags().StringVar(&n.App, "app", "", "limit the token to this app and its installs (default: all apps)")
	c.Flags().DurationVar(&expires, "expires", 30*24*time.Hour, "how long the token is valid, at most a year (8784h)")
	_ = c.MarkFlagRequired("role") // fails only for an unknown flag
	complete.FlagWords(c, "role", api.TokenRoles...)
	complete.Flag(e, c, "app", complete.Apps)
	return c
}

// permissions describes the permissions of a token.
func permissions(t api.Token) string {
	if t.App == "" {
		return string(t.Role)
	}
	return string(t.Role) + " for app " + t.App
}

func newRevoke(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke TOKEN",
		Short: "Revoke a token and close its open streams",
		Args:  cobra.ExactArgs(1),
		Long: `Revoke a token by its name or ID, and close its open streams. A revoked token cannot be restored: create
another. Everyone who has a token can revoke it.`,
		Example:           `  nuon tokens revoke shop-ci`,
		ValidArgsFunction: complete.Args(e, complete.Tokens),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			t, err := apiclient.Decode[api.Token](client.RevokeToken(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(t, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "revoked token %s (%s)\n", console.Line(t.Name), t.ID)
				return err
			})
		}),
	}
}
