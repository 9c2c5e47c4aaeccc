package installs

import (
	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// NewDeploy returns the command `nuon deploy`.
func NewDeploy(e *cmdenv.Env) *cobra.Command {
	a := workflows.RequestCommand{Env: e, Settled: waitUntilSettled(e.Console)}
	n := api.NewWorkflow{Kind: api.NewWorkflowKindDeploy}
	interactive := false
	c := &cobra.Command{
		Use:   "deploy [INSTALL] [COMPONENT…]",
		Short: "Deploy what is out of date on an install",
		Args:  cobra.ArbitraryArgs,
		Long: `Deploy all components of an install that are behind, or only the named ones.

Components whose change was rejected, canceled or failed before are tried again. A component that was
torn down is deployed again if it is named.

--explain (or --dry-run) prints the steps as a tree and ends. --plan-only makes the plans and prints
what they would change, and neither requests approvals nor applies. --redeploy also plans named
components that are current; with --dependents, the components that depend on them, too.

On a terminal, without INSTALL or with --interactive (-i), the command asks for the install and for the
components; with --redeploy, it asks for components if none is named.

Exit codes with --wait: 0 done, 1 failed, 3 waiting for an approval, 4 rejected.`,
		Example: `  nuon deploy acme --explain
  nuon deploy acme web --plan-only
  nuon deploy acme web --redeploy --dependents --wait`,
		ValidArgsFunction: complete.Rest(e, complete.Installs, complete.InstallComponents),
		RunE: func(c *cobra.Command, args []string) error {
			args, err := askDeploy(c.Context(), e, c, args, interactive)
			if err != nil {
				return err
			}
			if n.Components = args[1:]; len(n.Components) == 0 && (n.Redeploy || n.Dependents) {
				return exitcode.Usagef("--redeploy and --dependents need components: name at least one")
			}
			return a.Ask(c.Context(), args[0], n)
		},
	}
	c.Flags().BoolVar(&n.Redeploy, "redeploy", false, "also plan named components that are current")
	c.Flags().BoolVar(&n.Dependents, "dependents", false, "also plan what depends on the named components")
	interactiveFlag(c, &interactive, "ask for the install and the components that are not named")
	a.Flags(c)
	a.PlanFlag(c)
	return c
}

func newTeardown(e *cmdenv.Env) *cobra.Command {
	a := workflows.RequestCommand{Env: e, Settled: waitUntilSettled(e.Console)}
	n := api.NewWorkflow{Kind: api.NewWorkflowKindTeardown}
	c := &cobra.Command{
		Use:   "teardown INSTALL COMPONENT…",
		Short: "Remove components from an install",
		Args:  cobra.MinimumNArgs(2),
		Long: `Plan the removal of components from an install.

Each plan needs an approval, regardless of the install's approval rule. A component that others
depend on cannot be removed, unless --dependents removes these first. Removed components stay absent
until "nuon deploy INSTALL COMPONENT" deploys them again.`,
		Example: "  nuon installs teardown acme web --dry-run\n  nuon installs teardown acme network " +
			"--dependents --yes --wait",
		ValidArgsFunction: complete.Rest(e, complete.Installs, complete.InstallComponents),
		RunE: func(c *cobra.Command, args []string) error {
			n.Components = args[1:]
			a.Risk = "this plans the removal of " + diff.List(n.Components) + " in " + args[0] +
				"; each plan still needs an approval"
			return a.Ask(c.Context(), args[0], n)
		},
	}
	c.Flags().BoolVar(&n.Dependents, "dependents", false, "also remove what depends on them")
	a.Flags(c)
	a.PlanFlag(c)
	a.YesFlag(c)
	return c
}

func newDeprovision(e *cmdenv.Env) *cobra.Command {
	a := workflows.RequestCommand{Env: e, Settled: waitUntilSettled(e.Console)}
	c := &cobra.Command{
		Use:   "deprovision INSTALL",
		Short: "Remove everything from an install",
		Args:  cobra.ExactArgs(1),
		Long: `Plan the removal of everything in an install, in reverse order: dependents first, the sandbox last.

Each plan needs an approval. When everything is removed, the customer deletes the install's stack, which
"nuon installs get" then names, and you delete the record with "nuon installs forget".`,
		Example:           "  nuon installs deprovision acme --dry-run\n  nuon installs deprovision acme --yes",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: func(c *cobra.Command, args []string) error {
			a.Risk = "this plans the removal of everything in " + args[0] + "; each plan still needs an approval"
			return a.Ask(c.Context(), args[0], api.NewWorkflow{Kind: api.NewWorkflowKindDeprovision})
		},
	}
	a.Flags(c)
	a.PlanFlag(c)
	a.YesFlag(c)
	return c
}
