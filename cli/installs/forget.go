package installs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/pins"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newForget(e *cmdenv.Env) *cobra.Command {
	var force, yes bool
	c := &cobra.Command{
		Use:   "forget INSTALL",
		Short: "Drop the record of an install of which nothing is left",
		Args:  cobra.ExactArgs(1),
		Long: `Drops the record of an install of which nothing is left, with its history. With --force also one of which something is
there: that stays where it is, and nuon does not know of it any more. It is refused while an apply or an action runs there.
The key that is pinned for it on this machine is dropped, too, also when the control plane has no such install any more.`,
		Example:           "  nuon installs forget acme",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: func(c *cobra.Command, args []string) error {
			if force {
				what := "this drops all that is known of " + args[0] +
					"; what is there of it stays, and nuon does not know of it any more"
				if err := e.Console.Confirm(c.Context(), what, yes); err != nil {
					return err
				}
			}
			return e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
				err := apiclient.Done(client.ForgetInstall(ctx, args[0], &api.ForgetInstallParams{Force: force}))
				if err == nil || apiclient.CodeIs(err, "not_found") {
					err = errors.Join(err, dropPin(e, args[0]))
				}
				if err != nil {
					return err
				}
				e.Console.Say("install %s forgotten", args[0])
				return nil
			})(c, args)
		},
	}
	c.Flags().BoolVar(&force, "force", false,
		"also when something is still applied: it stays where it is, and nuon no longer knows of it")
	c.Flags().BoolVar(&yes, "yes", false, "with --force: yes, drop it")
	return c
}

// dropPin removes the pinned key of an install.
func dropPin(e *cmdenv.Env, install string) error {
	known, err := pins.Open(e.Context)
	if err != nil {
		return err
	}
	return known.Forget(install)
}
