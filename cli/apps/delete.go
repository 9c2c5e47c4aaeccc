package apps

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
)

func newDelete(e *cmdenv.Env) *cobra.Command {
	return e.Sure(&cobra.Command{
		Use:   "delete APP",
		Short: "Drop an app that has no installs, with its versions and builds",
		Args:  cobra.ExactArgs(1),
		Long: `Drops an app with its versions and builds. It is refused while the app has installs: deprovision and forget these first. Its
repository stays as it is.`,
		Example:           `  nuon apps delete hello --yes`,
		ValidArgsFunction: complete.Args(e, complete.Apps),
	}, "yes, drop it", func(args []string) string {
		return fmt.Sprintf("this drops app %s with all its versions and builds", args[0])
	}, func(ctx context.Context, client *apiclient.Client, args []string) error {
		if err := apiclient.Done(client.DeleteApp(ctx, args[0])); err != nil {
			return err
		}
		e.Console.Say("app %s dropped", args[0])
		return nil
	})
}
