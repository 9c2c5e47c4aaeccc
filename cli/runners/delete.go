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
		Short: "Forget a runner that no install names and that has nothing in hand",
		Args:  cobra.ExactArgs(1),
		Long: `Forgets a runner. It is refused while installs name it, and while it has work in hand. The program on its machine is refused from
then on; stop it there. If the machine is lost but its installs are not, use ` + "`nuon runners replace`" + `.`,
		Example:           `  nuon runners delete berlin --yes`,
		ValidArgsFunction: complete.Args(e, complete.Runners),
	}, "yes, forget it", func(args []string) string {
		return fmt.Sprintf("this forgets runner %s and voids its key", args[0])
	}, func(ctx context.Context, client *apiclient.Client, args []string) error {
		if err := apiclient.Done(client.DeleteRunner(ctx, args[0])); err != nil {
			return err
		}
		e.Console.Say("runner %s forgotten", args[0])
		return nil
	})
}
