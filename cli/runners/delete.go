package runners

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
		Use:   "delete RUNNER",
		Short: "Delete a runner that has no installs and no running jobs",
		Args:  cobra.ExactArgs(1),
		Long: `Delete a runner that has no installs and no running jobs.

The control plane rejects the program on its machine from then on; stop it there. If the machine is
lost but its installs are not, use "nuon runners replace".`,
		Example:           `  nuon runners delete berlin --yes`,
		ValidArgsFunction: complete.Args(e, complete.Runners),
	}, "skip the confirmation prompt", func(args []string) string {
		return fmt.Sprintf("this deletes runner %s and revokes its key", args[0])
	}, func(ctx context.Context, client *apiclient.Client, args []string) error {
		if err := apiclient.CheckDone(client.DeleteRunner(ctx, args[0])); err != nil {
			return err
		}
		e.Console.Messagef("deleted runner %s", args[0])
		return nil
	})
}
