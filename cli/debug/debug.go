// Package debug implements `nuon debug`, which has the runner of an install run a command, or an interactive shell in a
// pod, that its owner allows.
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

	interactive, tty      bool
	pod, container, image string
}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	o := &options{env: e}
	c := &cobra.Command{
		Use:   "debug INSTALL -- COMMAND [ARG]... | debug -it INSTALL COMPONENT [-- COMMAND [ARG]...]",
		Short: "Run a debug command in the customer's account, or a shell in a pod",
		Long: `Run a command on an install's runner, with the cluster of its sandbox in KUBECONFIG.

The runner's owner allows single commands (commands in [debug] of the runner file); the runner refuses all others. No
shell reads the command, and it gets no input. Its output is printed here, without the secrets that the runner knows.
Both sides record who asked, when and why, and the whole output: pass the reason with --reason.

The command is ended when --for is over, with Ctrl-C, and when it prints more than 1 MiB or 10,000 lines. The exit code
is 1 if it fails.

With -it, the command opens an interactive shell in a pod of COMPONENT: in its default container, in that of --container,
or, with --image, in a debug container that is added to the pod and sees the processes of the container. COMMAND is sh if
it is left out; for a debug container it is that of the image. The runner's owner allows shells for single components
(shells in [debug] of the runner file), and the images of debug containers (images). Everything that is typed and shown
is recorded on both sides, also passwords that are typed. Ctrl-C reaches the program in the pod; Ctrl-] leaves and ends
the shell. It ends, too, when --for is over, a minute after this program lost its connection, when the owner pauses the
runner, and when somebody at the vendor cancels its job: nuon logs shell JOB --end.`,
		Example: `  nuon debug acme --reason "checkout fails" -- kubectl get pods -n shop
  nuon debug acme --reason "checkout fails" --for 1m -- kubectl describe deployment shop
  nuon debug -it acme web --reason "checkout fails"
  nuon debug -it acme web --image busybox:1.37 --reason "checkout fails" -- sh`,
		Args:              o.checkArgs,
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.InstallComponents),
		RunE: func(c *cobra.Command, args []string) error {
			if !o.interactive {
				return o.run(c.Context(), args[0], args[1:])
			}
			return o.shell(c.Context(), args[0], args[1], args[2:])
		},
	}
	c.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "with -t: open an interactive shell in a pod")
	c.Flags().BoolVarP(&o.tty, "tty", "t", false, "with -i: open an interactive shell in a pod")
	c.Flags().StringVar(&o.pod, "pod", "", "with -it: the pod, instead of the first that runs")
	c.Flags().StringVar(&o.container, "container", "", "with -it: the container of the pod, instead of its default one")
	c.Flags().StringVar(&o.image, "image", "", "with -it: add a debug container of this image to the pod")
	c.Flags().StringVar(&o.reason, "reason", "", "why you run this command; it is recorded on both sides (required)")
	c.Flags().DurationVar(&o.limit, "for", 0, "how long the command may run, up to 1h (10m if not set)")
	_ = c.MarkFlagRequired("reason")
	return c
}

// checkArgs checks the arguments and flags.
func (o *options) checkArgs(c *cobra.Command, args []string) error {
	before := c.ArgsLenAtDash()
	switch {
	case o.interactive != o.tty:
		return exitcode.Usagef("write -it: an interactive shell needs both")
	case o.interactive && (before >= 0 && before != 2 || before < 0 && len(args) != 2):
		return exitcode.Usagef("write the install and the component: nuon debug -it INSTALL COMPONENT --reason REASON")
	case !o.interactive && o.pod+o.container+o.image != "":
		return exitcode.Usagef("--pod, --container and --image are for an interactive shell: add -it")
	case !o.interactive && (before != 1 || len(args) < 2):
		return exitcode.Usagef("write the install, -- and the command: nuon debug INSTALL --reason REASON -- COMMAND")
	case o.limit != 0 && (o.limit < time.Second || o.limit > time.Hour):
		return exitcode.Usagef("--for %v: use a duration from 1s to 1h", o.limit)
	}
	return nil
}

// run makes the request, and prints the output of the command until it ends.
func (o *options) run(ctx context.Context, install string, command []string) error {
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
