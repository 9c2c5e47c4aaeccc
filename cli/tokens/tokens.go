// Package tokens is `nuon tokens`: what people and programs show to be let in, each with a role and an end.
package tokens

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New is the command with its verbs.
func New(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "tokens", Short: "What people and programs show to be let in"}
	c.AddCommand(newList(e), newCreate(e), newRevoke(e))
	return c
}

func newList(e *env.Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the tokens, without their secrets", Args: cobra.NoArgs,
		RunE: e.Call(func(ctx context.Context, client *remote.Client, _ []string) error {
			tokens, err := remote.All(func(cursor string) ([]api.Token, string, error) {
				l, err := remote.Get[api.TokenList](client.ListTokens(ctx, &api.ListTokensParams{Cursor: cursor}))
				return l.Items, l.Next, err
			})
			if err != nil {
				return err
			}
			now := time.Now()
			if !all {
				tokens = slices.DeleteFunc(tokens, func(t api.Token) bool { return over(t, now) })
			}
			var rows [][]string
			for _, t := range tokens {
				rows = append(rows, []string{t.Name, string(t.Role), status(t, now), day(t.LastUsedAt, "never"), t.CreatedBy, t.ID})
			}
			return e.Console.List(tokens, []string{"NAME", "ROLE", "STATUS", "LAST USED", "MADE BY", "ID"}, rows)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "also those that open nothing any more")
	return c
}

// over says that a token opens nothing any more.
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

// day is a time as lists show it; none is what they show of one that has not come.
func day(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Local().Format("2006-01-02 15:04")
}

// roles from the least to the most.
var roles = []string{"viewer", "operator", "approver", "admin"}

func newCreate(e *env.Env) *cobra.Command {
	var role string
	var expires time.Duration
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a token and print its secret, which is shown this once", Args: cobra.ExactArgs(1),
		Long: `Makes a token and prints its secret on standard output, alone, so that it can go straight to where it is kept. It may do no
more than the token that makes it. viewer reads; operator syncs, installs and deploys; approver also answers plans; admin does all.`,
		Example: `  nuon tokens create ci --role operator --expires 24h
  nuon tokens create on-call --role approver | pass insert -e nuon/on-call`,
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			if !slices.Contains(roles, role) {
				return exit.Usagef("--role %s: use one of %s", role, strings.Join(roles, ", "))
			}
			if expires < time.Minute {
				return exit.Usagef("--expires %s: use a minute or more, such as 24h or 720h", expires)
			}
			made, err := remote.Get[api.CreatedToken](client.CreateToken(ctx, api.NewToken{
				Name: args[0], Role: api.NewTokenRole(role), ExpiresInSeconds: int64(expires.Seconds()),
			}))
			if err != nil {
				return err
			}
			if e.Console.Output == "table" {
				e.Console.Say("token %s (%s) is %s; its secret is not shown again", made.Token.Name, made.Token.Role, status(made.Token, time.Now()))
			}
			return e.Console.Result(made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, console.Line(made.Secret))
				return err
			})
		}),
	}
	c.Flags().StringVar(&role, "role", "", "what it may do: "+strings.Join(roles, ", "))
	c.Flags().DurationVar(&expires, "expires", 30*24*time.Hour, "how long it is good, at most a year (8784h)")
	_ = c.MarkFlagRequired("role") // fails only for a flag that is not there
	return c
}

func newRevoke(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "revoke TOKEN", Short: "Make a token open nothing from now on; what follows something with it ends", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			t, err := remote.Get[api.Token](client.RevokeToken(ctx, args[0]))
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
