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
		Short: "Delete the record of a deprovisioned install",
		Args:  cobra.ExactArgs(1),
		Long: `Delete the record of a deprovisioned install, with its history.

--force deletes the record although components are still deployed: they stay where they are, and nuon
no longer manages them. This fails while an apply or an action is running on the install. The
install's key that is pinned on this machine is deleted, too, even if the control plane no longer has
such an install.`,
		Example:           "  nuon installs forget acme",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: func(c *cobra.Command, args []string) error {
			if force {
				what := "this deletes the record of " + args[0] +
					"; what is deployed stays, and nuon no longer manages it"
				if err := e.Console.Confirm(c.Context(), what, yes); err != nil {
					return err
				}
			}
			return e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
				err := apiclient.CheckDone(client.ForgetInstall(ctx, args[0], &api.ForgetInstallParams{Force: force}))
				if err == nil || apiclient.CodeIs(err, "not_found") {
					err = errors.Join(err, dropPin(e, args[0]))
				}
				if err != nil {
					return err
				}
				e.Console.Messagef("deleted the record of install %s", args[0])
				return nil
			})(c, args)
		},
	}
	c.Flags().BoolVar(&force, "force", false,
		"delete the record although components are still deployed; nuon no longer manages them")
	c.Flags().BoolVar(&yes, "yes", false, "with --force: skip the confirmation prompt")
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
