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
	c := &cobra.Command{Use: "tokens", Short: "What people and programs show to be let in"}
	c.AddCommand(newList(e), newCreate(e), newRevoke(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	var all bool
	l := &listing.List[api.Token]{
		Header: []string{"NAME", "ROLE", "APP", "STATUS", "LAST USED", "MADE BY", "ID"},
		Row: func(t api.Token) []string {
			return []string{t.Name, string(t.Role), cmp.Or(t.App, "all"), status(t, time.Now()),
				day(t.LastUsedAt, "never"), t.CreatedBy, t.ID}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Token, string, error) {
			l, err := apiclient.Get[api.TokenList](client.ListTokens(ctx,
				&api.ListTokensParams{Cursor: at.Cursor, Limit: at.Limit}))
			if now := time.Now(); !all {
				l.Items = slices.DeleteFunc(l.Items, func(t api.Token) bool { return over(t, now) })
			}
			return l.Items, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the tokens, without their secrets", Args: cobra.NoArgs,
		Long: `Lists the tokens that are good, the newest first, without their secrets. A token may be for one app alone.`,
		Example: `  nuon tokens list
  nuon tokens list --all -o json`,
	})
	c.Flags().BoolVar(&all, "all", false, "also those that open nothing any more")
	return c
}

// over reports whether a token was revoked or has expired.
func over(t api.Token, now time.Time) bool {
	return !t.RevokedAt.IsZero() || !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now)
}

func status(t api.Token, now time.Time) string {
	switch {
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now):
		return "expired " + day(t.ExpiresAt, "")
	case !t.RevokedAt.IsZero():
		return "revoked " + day(t.RevokedAt, "")
	case t.ExpiresAt.IsZero():
		return "good"
	}
	return "good until " + day(t.ExpiresAt, "")
}

// day formats a time for lists; it returns none for the zero time.
func day(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Local().Format("2006-01-02 15:04")
}

// roles are the roles, from the least to the most privileged.
var roles = []string{"viewer", "ci", "operator", "approver", "admin"}

func newCreate(e *cmdenv.Env) *cobra.Command {
	var n api.NewToken
	var role string
	var expires time.Duration
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token and print its secret, which is shown this once",
		Args:  cobra.ExactArgs(1),
		Long: `Makes a token and prints its secret on standard output, alone, so that it can go straight to where it is kept. It may do no
more than the token that makes it.

viewer reads; ci also syncs, previews and retries builds; operator also makes and changes installs and deploys; approver also
answers plans; admin does all. With --app it sees that app and its installs, and nothing else of the org; a ci token must have
one.`,
		Example: `  nuon tokens create shop-ci --role ci --app shop --expires 1h
  nuon tokens create on-call --role approver | pass insert -e nuon/on-call`,
		ValidArgsFunction: complete.Nothing,
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			switch {
			case !slices.Contains(roles, role):
				return exitcode.Usagef("--role %s: use one of %s", role, strings.Join(roles, ", "))
			case role == string(api.NewTokenRoleCi) && n.App == "":
				return exitcode.Usagef("--role ci: a ci token is for one app; say for which with --app APP")
			case expires < time.Minute:
				return exitcode.Usagef("--expires %s: use a minute or more, such as 24h or 720h", expires)
			}
			n.Name, n.Role, n.ExpiresInSeconds = args[0], api.NewTokenRole(role), int64(expires.Seconds())
			made, err := apiclient.Get[api.CreatedToken](client.CreateToken(ctx, n))
			if err != nil {
				return err
			}
			if e.Console.Output == "table" {
				e.Console.Say("token %s (%s) is %s; its secret is not shown again",
					made.Token.Name, rights(made.Token), status(made.Token, time.Now()))
			}
			return e.Console.Result(made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, console.Line(made.Secret))
				return err
			})
		}),
	}
	c.Flags().StringVar(&role, "role", "", "what it may do: "+strings.Join(roles, ", "))
	c.Flags().StringVar(&n.App, "app", "", "the only app that it opens, with its installs; left out for all")
	c.Flags().DurationVar(&expires, "expires", 30*24*time.Hour, "how long it is good, at most a year (8784h)")
	_ = c.MarkFlagRequired("role") // fails only for an unknown flag
	complete.FlagWords(c, "role", roles...)
	complete.Flag(e, c, "app", complete.Apps)
	return c
}

// rights describes the permissions of a token.
func rights(t api.Token) string {
	if t.App == "" {
		return string(t.Role)
	}
	return string(t.Role) + " for app " + t.App
}

func newRevoke(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "revoke TOKEN",
		Short:             "Make a token open nothing from now on; what follows something with it ends",
		Args:              cobra.ExactArgs(1),
		Long:              `Revokes a token, by its name or its id. It cannot be made good again: make another. Whoever holds a token may revoke that one.`,
		Example:           `  nuon tokens revoke shop-ci`,
		ValidArgsFunction: complete.Args(e, complete.Tokens),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			t, err := apiclient.Get[api.Token](client.RevokeToken(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(t, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "token %s (%s) opens nothing any more\n", console.Line(t.Name), t.ID)
				return err
			})
		}),
	}
}
