package apps

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/remote"
)

func newDelete(e *env.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete APP", Short: "Drop an app that has no installs, with its versions and builds", Args: cobra.ExactArgs(1),
		Long: `Drops an app with its versions and builds. It is refused while the app has installs: deprovision and forget these first. Its
repository stays as it is.`,
		Example:           `  nuon apps delete hello --yes`,
		ValidArgsFunction: complete.Args(e, complete.Apps),
		RunE: func(c *cobra.Command, args []string) error {
			if err := e.Console.Confirm(c.Context(), fmt.Sprintf("this drops app %s with all its versions and builds", args[0]), yes); err != nil {
				return err
			}
			client, err := e.Client()
			if err != nil {
				return err
			}
			if err := remote.Done(client.DeleteApp(c.Context(), args[0])); err != nil {
				return err
			}
			e.Console.Say("app %s dropped", args[0])
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "yes, drop it")
	return c
}
