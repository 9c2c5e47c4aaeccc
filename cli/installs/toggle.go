package installs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// toggling is the state of one run of `nuon installs enable` or `disable`.
type toggling struct {
	env      *cmdenv.Env
	on       bool
	yes      bool
	settling settling
}

func newEnable(e *cmdenv.Env) *cobra.Command {
	o := &toggling{env: e, on: true}
	return o.command(&cobra.Command{
		Use: "enable INSTALL COMPONENT…", Short: "Switch components on that an install may have",
		Long: `Switches components on that the app calls toggleable. They are planned like any other change. On a terminal, what
follows from it is shown first; --yes leaves that out.`,
		Example: "  nuon installs enable acme metrics --wait",
	})
}

func newDisable(e *cmdenv.Env) *cobra.Command {
	o := &toggling{env: e}
	return o.command(&cobra.Command{
		Use:   "disable INSTALL COMPONENT…",
		Short: "Switch components off: what is there of them is planned to be destroyed",
		Long: `Switches components off that the app calls toggleable. What is there of them gets a plan of its removal, which waits for
an approval whatever the install's approval rule is. A component that others need is refused: switch those off with it.`,
		Example: "  nuon installs disable acme metrics --yes",
	})
}

func (o *toggling) command(c *cobra.Command) *cobra.Command {
	c.Args = cobra.MinimumNArgs(2)
	c.ValidArgsFunction = complete.Rest(o.env, complete.Installs, complete.InstallComponents)
	c.RunE = o.env.Call(o.run)
	c.Flags().BoolVar(&o.yes, "yes", false, "do not show and ask first")
	o.settling.flags(c)
	return c
}

func (o *toggling) run(ctx context.Context, client *apiclient.Client, args []string) error {
	// In a script, disabling requires --yes before anything is sent; enabling does not.
	if !o.on && !o.yes && !o.env.Console.Asks() {
		return o.env.Console.Confirm(ctx,
			"this plans the removal of what is there of "+list(args[1:])+" in "+args[0], false)
	}
	i, err := apiclient.Get[api.Install](client.GetInstall(ctx, args[0]))
	if err != nil {
		return err
	}
	change := api.InstallChange{Toggles: map[string]bool{}}
	for _, name := range args[1:] {
		change.Toggles[name] = o.on
	}
	if !o.yes && o.env.Console.Asks() {
		what := "this switches " + list(args[1:]) + " on in " + i.App + "/" + i.Name
		if !o.on {
			what = "this switches " + list(args[1:]) + " off in " + i.App + "/" + i.Name +
				", and plans the removal of what is there"
		}
		if err := confirm(ctx, o.env, client, i, change, what); err != nil {
			return err
		}
	}
	return makeChange(ctx, o.env, client, i, change, &o.settling)
}
