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
		Short: "Abandon a state whose key is lost",
		Args:  cobra.ExactArgs(2),
		Long: `Abandon the state of a component whose install key is lost for good, so that nobody can open it.

Deployed objects stay where they are, and nuon no longer manages them. The next plan starts from an
empty state: it would create the objects again, unless the module imports them or they are removed
first. That plan needs an approval.

Every version stays listed. If the key is found, put it back into the runner's directory and restore a
version.`,
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.InstallComponents),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			what := fmt.Sprintf("nuon will no longer manage what is deployed of %s on %s, and the next plan starts "+
				"from an empty state; look for the key first", args[1], args[0])
			if err := e.Console.Confirm(ctx, what, yes); err != nil {
				return err
			}
			s, err := apiclient.Decode[api.ComponentState](client.AbandonState(ctx, args[0], args[1],
				api.Reason{Reason: reason}))
			if err != nil {
				return err
			}
			return e.Console.Result(s, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, `abandoned the state of %[2]s: deployed objects stay where they are, and nuon no longer manages them
Import them into the module, or remove them by hand, before you approve the next plan:
  nuon review --install %[1]s
`, args[0], s.Component)
				return err
			})
		}),
	}, &reason)
	c.Flags().BoolVar(&yes, "yes", false, "skip the confirmation prompt")
	return c
}
