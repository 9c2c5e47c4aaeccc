// Package breakglass implements `nuon break-glass`, with which the vendor requests emergency access to an install and
// sees whether the customer granted it.
package breakglass

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "break-glass", Short: "Request emergency access to an install",
		Long: `Request emergency access to an install.

A break-glass role of the app is off in the customer's account. To use it, request it with a reason and an end. The
customer grants it in two places: the stack, where the cloud itself ends it, and the runner, which refuses it after the
end, also if the control plane asks for it. Actions and components that name the role then run under it until the end.`}
	c.AddCommand(newRequest(e), newList(e), newRevoke(e))
	return c
}

func newRequest(e *cmdenv.Env) *cobra.Command {
	var reason string
	var lasts time.Duration
	c := &cobra.Command{
		Use: "request INSTALL ROLE", Short: "Request a break-glass role for a time", Args: cobra.ExactArgs(2),
		Long: `Request to act under a break-glass role of an install, and print what the customer has to do to grant it.

ROLE is the name in break_glass.toml; the part without the id of the install suffices. The request and its reason are
in the audit log. It ends automatically; end it earlier with "nuon break-glass revoke".`,
		Example:           `  nuon break-glass request acme bucket-repair --reason "INC-7: bucket policy locks us out" --for 2h`,
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.BreakGlassRoles),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			if lasts < time.Second {
				return exitcode.Usagef("--for %s: write how long, such as 2h", lasts)
			}
			made, err := apiclient.Decode[api.BreakGlassRequest](client.RequestBreakGlass(ctx, args[0],
				api.NewBreakGlassRequest{Role: args[1], Reason: reason, Seconds: int(lasts / time.Second)}))
			if err != nil {
				return err
			}
			return e.Console.Result(made, func(w io.Writer) error {
				fmt.Fprintf(w, "requested %s on %s until %s\n", console.Line(made.Role), console.Line(made.Install),
					at(made.Until))
				return showSteps(w, made)
			})
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the customer and the audit log (required)")
	c.Flags().DurationVar(&lasts, "for", 0, "how long, such as 2h; at most 168h (required)")
	_, _ = c.MarkFlagRequired("reason"), c.MarkFlagRequired("for") // fail only for an unknown flag
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "list [INSTALL]", Aliases: []string{"ls"}, Args: cobra.MaximumNArgs(1),
		Short: "List requests for break-glass roles, and what the customer has to do",
		Long: `List the requests for break-glass roles that are open or ended in the last seven days, the newest first, and
what the customer has to do to grant the open ones. The status is waiting (for the customer), granted (in the stack
and on the runner), ended or revoked.`,
		Example:           "  nuon break-glass list\n  nuon break-glass list acme --all -o json",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			install := ""
			if len(args) > 0 {
				install = args[0]
			}
			found, err := apiclient.ListAll(func(cursor string) ([]api.BreakGlassRequest, string, error) {
				l, err := apiclient.Decode[api.BreakGlassList](client.ListBreakGlass(ctx,
					&api.ListBreakGlassParams{Install: install, All: all, Cursor: cursor, Limit: pageSize}))
				return l.Items, l.Next, err
			})
			if err != nil {
				return err
			}
			var rows [][]string
			for _, r := range found {
				rows = append(rows, []string{r.ID, r.App + "/" + r.Install, r.Role, string(r.Status), at(r.Until),
					r.RequestedBy, r.Reason, cmp.Or(r.Note, "-")})
			}
			if e.Console.Output != "table" {
				return e.Console.List(found, header, rows)
			}
			return e.Console.Result(found, func(w io.Writer) error {
				if err := e.Console.Table(w, header, rows); err != nil {
					return err
				}
				for _, r := range found {
					if r.Status != api.BreakGlassWaiting {
						continue
					}
					fmt.Fprintf(w, "\n%s on %s\n", console.Line(r.Role), console.Line(r.Install))
					if err := showSteps(w, r); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "also list those that ended earlier, for 90 days")
	return c
}

// pageSize is the largest page that the API allows.
const pageSize = 500

var header = []string{"ID", "INSTALL", "ROLE", "STATUS", "UNTIL", "REQUESTED BY", "REASON", "NOTE"}

func newRevoke(e *cmdenv.Env) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "revoke INSTALL ROLE", Short: "End a request for a break-glass role", Args: cobra.ExactArgs(2),
		Long: `End the open request for a break-glass role. No job starts under the role from now on; a running job keeps its
credentials until they end. The customer still switches the role off in the stack, and removes the grant on the runner.`,
		Example:           `  nuon break-glass revoke acme bucket-repair --reason "INC-7 is resolved"`,
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.RequestedRoles),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			ended, err := apiclient.Decode[api.BreakGlassRequest](client.RevokeBreakGlass(ctx, args[0],
				api.BreakGlassRevocation{Role: args[1], Reason: reason}))
			if err != nil {
				return err
			}
			return e.Console.Result(ended, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "revoked the request for %s on %s\n", console.Line(ended.Role),
					console.Line(ended.Install))
				if err == nil && ended.Note != "" {
					_, err = fmt.Fprintln(w, console.Line(ended.Note))
				}
				return err
			})
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return c
}

// showSteps prints what the customer does to grant a request.
func showSteps(w io.Writer, r api.BreakGlassRequest) error {
	if len(r.Steps) == 0 {
		_, err := fmt.Fprintln(w, console.Line(r.Note))
		return err
	}
	fmt.Fprintln(w, "To grant it, the customer does the following:")
	for i, step := range r.Steps {
		if _, err := fmt.Fprintf(w, "  %d. %s:\n       %s\n", i+1, console.Line(step.What),
			console.Line(step.Command)); err != nil {
			return err
		}
	}
	return nil
}

// at formats a time in UTC, as the customer writes it in the stack.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
