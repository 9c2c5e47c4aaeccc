package installs

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// phoneHomeLines describes the last report of the stack itself.
func phoneHomeLines(s api.StackOutputs) []string {
	p := s.PhoneHome
	if p == nil {
		return nil
	}
	line := fmt.Sprintf("last report of the stack: %s at %s, from %s account %s: %s", p.Kind,
		p.At.Local().Format(time.DateTime), p.Subject.Cloud, p.Subject.Account, p.Status)
	if p.Reason != "" {
		line += ": " + p.Reason
	}
	lines := []string{line}
	if p.StackID != "" {
		lines = append(lines, "  "+p.StackID)
	}
	return lines
}

func newStackForget(e *cmdenv.Env) *cobra.Command {
	var word api.ForgottenStack
	var yes bool
	c := &cobra.Command{
		Use:   "forget INSTALL --reason REASON",
		Short: "State that the stack which reported for an install does not exist any more",
		Long: `States that the stack which reported for an install does not exist any more, so that another one may report.

A stack that is deleted reports that itself. This is for one that could not, for example because its
function was deleted first. Its outputs stay until the next stack reports.`,
		Example:           `  nuon installs stack forget acme --reason "the account was closed" --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			if err := e.Console.Confirm(ctx, "this lets another stack report for install "+args[0], yes); err != nil {
				return err
			}
			outputs, err := apiclient.Decode[api.StackOutputs](client.ForgetStack(ctx, args[0], word))
			if err != nil {
				return err
			}
			return e.Console.Result(outputs, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: the stack is marked as deleted\n", args[0])
				return err
			})
		}),
	}
	c.Flags().StringVar(&word.Reason, "reason", "", "reason, recorded in the audit log")
	c.Flags().BoolVar(&yes, "yes", false, "skip the confirmation prompt")
	_ = c.MarkFlagRequired("reason") // fails only for an unknown flag
	return c
}
