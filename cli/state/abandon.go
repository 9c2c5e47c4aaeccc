package state

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newAbandon(e *cmdenv.Env) *cobra.Command {
	var reason string
	var yes bool
	c := withReason(&cobra.Command{
		Use:   "abandon INSTALL COMPONENT",
		Short: "Say that the key of a state is lost, and go on without the state",
		Args:  cobra.ExactArgs(2),
		Long: `Says that the install key which the state of a component is sealed to is lost for good, so that nobody can open it.
What exists stays where it is, and nuon does not know of it any more. The next plan starts from nothing: it wants to make
again what exists, unless the module imports it or somebody removes it first. That plan waits for an approval.

Every version stays listed. Should the key be found, put it back into the runner's directory and restore one.`,
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.InstallComponents),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			what := fmt.Sprintf("nuon will not know any more what exists of %s on %s, and the next plan starts from nothing; "+
				"look for the key first", args[1], args[0])
			if err := e.Console.Confirm(ctx, what, yes); err != nil {
				return err
			}
			s, err := apiclient.Get[api.ComponentState](client.AbandonState(ctx, args[0], args[1],
				api.Reason{Reason: reason}))
			if err != nil {
				return err
			}
			return e.Console.Result(s, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, `the state of %[2]s is abandoned: what exists of it stays where it is, and nuon does not know of it any more
Import that into the module, or remove it by hand, before you approve the next plan:
  nuon review --install %[1]s
`, args[0], s.Component)
				return err
			})
		}),
	}, &reason)
	c.Flags().BoolVar(&yes, "yes", false, "yes, the key is lost")
	return c
}
