package installs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// NewDeploy returns the command `nuon deploy`.
func NewDeploy(e *cmdenv.Env) *cobra.Command {
	a := workflows.Asking{Env: e, Settled: settled(e.Console)}
	n := api.NewWorkflow{Kind: api.NewWorkflowKindDeploy}
	c := &cobra.Command{
		Use:   "deploy INSTALL [COMPONENT…]",
		Short: "Bring an install up to date, also with what was rejected before",
		Args:  cobra.MinimumNArgs(1),
		Long: `Brings an install up to date: all that is behind, or just the components that are named. What was rejected, cancelled or
failed before is tried again. A component that was torn down comes back.

--explain (or --dry-run) prints the steps as a tree and ends. --plan-only makes the plans, prints what they would change,
and neither asks nor applies. --redeploy plans the named components also when they are as they are wanted; with
--dependents, what depends on them, too.

Exit codes with --wait: 0 done, 1 failed, 3 waits for an approval, 4 somebody said no.`,
		Example: `  nuon deploy acme --explain
  nuon deploy acme web --plan-only
  nuon deploy acme web --redeploy --dependents --wait`,
		ValidArgsFunction: complete.Rest(e, complete.Installs, complete.InstallComponents),
		RunE: func(c *cobra.Command, args []string) error {
			if n.Components = args[1:]; len(n.Components) == 0 && (n.Redeploy || n.Dependents) {
				return exitcode.Usagef("--redeploy and --dependents are about components: name them")
			}
			return a.Ask(c.Context(), args[0], n)
		},
	}
	c.Flags().BoolVar(&n.Redeploy, "redeploy", false, "plan the named components also when they are as they are wanted")
	c.Flags().BoolVar(&n.Dependents, "dependents", false, "also what depends on the named components")
	a.Flags(c)
	a.PlanFlag(c)
	return c
}

func newTeardown(e *cmdenv.Env) *cobra.Command {
	a := workflows.Asking{Env: e, Settled: settled(e.Console)}
	n := api.NewWorkflow{Kind: api.NewWorkflowKindTeardown}
	c := &cobra.Command{
		Use:   "teardown INSTALL COMPONENT…",
		Short: "Plan the removal of components, and keep them away until they are deployed again",
		Args:  cobra.MinimumNArgs(2),
		Long: `Plans the removal of components of an install. Each plan waits for an approval, whatever the install's approval rule is.
A component that others need is refused, unless --dependents takes those away with it, they first. What was torn down
stays away until ` + "`nuon deploy INSTALL COMPONENT`" + ` brings it back.`,
		Example: "  nuon installs teardown acme web --dry-run\n  nuon installs teardown acme network " +
			"--dependents --yes --wait",
		ValidArgsFunction: complete.Rest(e, complete.Installs, complete.InstallComponents),
		RunE: func(c *cobra.Command, args []string) error {
			n.Components = args[1:]
			a.Risk = "this plans the removal of " + list(n.Components) + " in " + args[0] +
				"; each plan still waits for an approval"
			return a.Ask(c.Context(), args[0], n)
		},
	}
	c.Flags().BoolVar(&n.Dependents, "dependents", false, "also what depends on them")
	a.Flags(c)
	a.PlanFlag(c)
	a.YesFlag(c)
	return c
}

func newDeprovision(e *cmdenv.Env) *cobra.Command {
	a := workflows.Asking{Env: e, Settled: settled(e.Console)}
	c := &cobra.Command{
		Use:   "deprovision INSTALL",
		Short: "Plan the removal of everything in an install, the sandbox last",
		Args:  cobra.ExactArgs(1),
		Long: `Plans the removal of everything in an install: what others need comes after them, the sandbox last. Each plan waits for an
approval. When nothing is left, ` + "`nuon installs forget`" + ` drops the record.`,
		Example:           "  nuon installs deprovision acme --dry-run\n  nuon installs deprovision acme --yes",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: func(c *cobra.Command, args []string) error {
			a.Risk = "this plans the removal of everything in " + args[0] + "; each plan still waits for an approval"
			return a.Ask(c.Context(), args[0], api.NewWorkflow{Kind: api.NewWorkflowKindDeprovision})
		},
	}
	a.Flags(c)
	a.PlanFlag(c)
	a.YesFlag(c)
	return c
}

// list joins names for a sentence: a, b and c.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
