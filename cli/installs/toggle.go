package installs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// toggleRun is the state of one run of `nuon installs enable` or `disable`.
type toggleRun struct {
	env      *cmdenv.Env
	on       bool
	yes      bool
	settling waitOptions
}

func newEnable(e *cmdenv.Env) *cobra.Command {
	o := &toggleRun{env: e, on: true}
	return o.command(&cobra.Command{
		Use: "enable INSTALL COMPONENT…", Short: "Enable optional components of an install",
		Long: `Enable components of an install that the app declares toggleable.

They are planned like any other change. On a terminal, the command shows the consequences and asks for
confirmation; --yes skips both.`,
		Example: "  nuon installs enable acme metrics --wait",
	})
}

func newDisable(e *cmdenv.Env) *cobra.Command {
	o := &toggleRun{env: e}
	return o.command(&cobra.Command{
		Use:   "disable INSTALL COMPONENT…",
		Short: "Disable optional components of an install and remove them",
		Long: `Disable components of an install that the app declares toggleable, and plan the removal of what is
deployed.

Each removal needs an approval, regardless of the install's approval rule. A component that others
depend on cannot be disabled alone: disable those with it.`,
		Example: "  nuon installs disable acme metrics --yes",
	})
}

func (o *toggleRun) command(c *cobra.Command) *cobra.Command {
	c.Args = cobra.MinimumNArgs(2)
	c.ValidArgsFunction = complete.Rest(o.env, complete.Installs, complete.InstallComponents)
	c.RunE = o.env.Call(o.run)
	c.Flags().BoolVar(&o.yes, "yes", false, "skip the preview and the confirmation prompt")
	o.settling.flags(c)
	return c
}

func (o *toggleRun) run(ctx context.Context, client *apiclient.Client, args []string) error {
	// In a script, disabling requires --yes before anything is sent; enabling does not.
	if !o.on && !o.yes && !o.env.Console.Asks() {
		return o.env.Console.Confirm(ctx,
			"this plans the removal of what is deployed of "+diff.List(args[1:])+" in "+args[0], false)
	}
	i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, args[0]))
	if err != nil {
		return err
	}
	change := api.InstallChange{Toggles: map[string]bool{}}
	for _, name := range args[1:] {
		change.Toggles[name] = o.on
	}
	if !o.yes && o.env.Console.Asks() {
		what := "this enables " + diff.List(args[1:]) + " on " + i.App + "/" + i.Name
		if !o.on {
			what = "this enables " + diff.List(args[1:]) + " on " + i.App + "/" + i.Name +
				", and plans the removal of what is deployed"
		}
		if err := confirm(ctx, o.env, client, i, change, what); err != nil {
			return err
		}
	}
	return makeChange(ctx, o.env, client, i, change, &o.settling)
}
