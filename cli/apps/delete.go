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
		Short: "Delete an app with its versions and builds",
		Args:  cobra.ExactArgs(1),
		Long: `Delete an app with its versions and builds.

An app that has installs cannot be deleted: deprovision and forget them first. The repository is not
touched.`,
		Example:           `  nuon apps delete hello --yes`,
		ValidArgsFunction: complete.Args(e, complete.Apps),
	}, "skip the confirmation prompt", func(args []string) string {
		return fmt.Sprintf("this deletes app %s with all its versions and builds", args[0])
	}, func(ctx context.Context, client *apiclient.Client, args []string) error {
		if err := apiclient.CheckDone(client.DeleteApp(ctx, args[0])); err != nil {
			return err
		}
		e.Console.Messagef("deleted app %s", args[0])
		return nil
	})
}
