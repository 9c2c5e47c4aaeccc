// Package debug implements `nuon debug`, which has the runner of an install run a command that its owner allows.
package debug

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/logs"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// options are the flags of the command.
type options struct {
	env    *cmdenv.Env
	reason string
	limit  time.Duration
}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	o := &options{env: e}
	c := &cobra.Command{
		Use:   "debug INSTALL -- COMMAND [ARG]...",
		Short: "Run a debug command in the customer's account",
		Long: `Run a command on an install's runner, with the cluster of its sandbox in KUBECONFIG.

The runner's owner allows single commands (commands in [debug] of the runner file); the runner refuses all others. No
shell reads the command, and it gets no input. Its output is printed here, without the secrets that the runner knows.
Both sides record who asked, when and why, and the whole output: pass the reason with --reason.

The command is ended when --for is over, with Ctrl-C, and when it prints more than 1 MiB or 10,000 lines. The exit code
is 1 if it fails.`,
		Example: `  nuon debug acme --reason "checkout fails" -- kubectl get pods -n shop
  nuon debug acme --reason "checkout fails" --for 1m -- kubectl describe deployment shop`,
		Args: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() != 1 || len(args) < 2 {
				return exitcode.Usagef("write the install, -- and the command: nuon debug INSTALL --reason REASON -- COMMAND")
			}
			return nil
		},
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), args[0], args[1:]) },
	}
	c.Flags().StringVar(&o.reason, "reason", "", "why you run this command; it is recorded on both sides (required)")
	c.Flags().DurationVar(&o.limit, "for", 0, "how long the command may run, up to 1h (10m if not set)")
	_ = c.MarkFlagRequired("reason")
	return c
}

// run makes the request, and prints the output of the command until it ends.
func (o *options) run(ctx context.Context, install string, command []string) error {
	if o.limit != 0 && (o.limit < time.Second || o.limit > time.Hour) {
		return exitcode.Usagef("--for %v: use a duration from 1s to 1h", o.limit)
	}
	client, err := o.env.Client()
	if err != nil {
		return err
	}
	job, err := apiclient.Decode[api.Job](client.CreateDebugCommand(ctx, install, api.NewDebugCommand{
		Command: command, Reason: o.reason, TimeoutSeconds: int(o.limit / time.Second)}))
	if err != nil {
		return err
	}
	return logs.FollowRequest(ctx, client, job, func(l api.LogLine) error { return o.print(l) })
}

// print prints a line: of the command's output, or a warning. What the runner says about its own work is left out.
func (o *options) print(l api.LogLine) error {
	to := o.env.Console.Err
	switch l.L {
	case api.Debug:
		return nil
	case api.Info:
		to = o.env.Console.Out
	}
	_, err := fmt.Fprintln(to, console.Line(l.M))
	return err
}
