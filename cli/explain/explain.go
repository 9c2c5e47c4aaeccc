// Package explain implements `nuon explain`, which prints the chain of causes of a
// record, and the meaning of a key of an app's config.
package explain

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/builds"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

var kinds = []string{"app", "build", "install", "plan", "revision", "workflow"}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "explain KIND NAME-OR-ID",
		Short: "Explain why an install, build, plan or workflow is in its state",
		Long: `Explain why a build was made, an install is behind, a workflow runs or a plan waits: print the chain of
causes, starting with the first.

Kinds: app, build, install, plan, revision, workflow. For a key of an app's config, use
"nuon explain config KEY".`,
		Example: "  nuon explain install acme\n  nuon explain build bld_…",
		Args:    cobra.ExactArgs(2),
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return kinds, cobra.ShellCompDirectiveNoFileComp
			}
			return complete.Args(e, nil, objectNames)(c, args, word)
		},
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			kind, err := ParseKind(args[0])
			if err != nil {
				return err
			}
			x, err := apiclient.Decode[api.Explanation](client.Explain(ctx, kind, args[1]))
			if err != nil {
				return err
			}
			return e.Console.Result(x, func(w io.Writer) error { return show(w, x.Chain) })
		}),
	}
	c.AddCommand(newConfig(e))
	return c
}

// objectNames completes the names of objects of the kind in the first argument.
func objectNames(ctx context.Context, client *apiclient.Client, args []string) ([]complete.Name, error) {
	switch api.ExplainParamsKind(args[0]) {
	case api.ExplainParamsKindApp:
		return complete.Apps(ctx, client, nil)
	case api.ExplainParamsKindBuild:
		return complete.Builds(ctx, client, nil)
	case api.ExplainParamsKindInstall:
		return complete.Installs(ctx, client, nil)
	case api.ExplainParamsKindWorkflow:
		return complete.Workflows(ctx, client, nil)
	}
	return nil, nil
}

// ParseKind returns the kind of object that a word names.
func ParseKind(kind string) (api.ExplainParamsKind, error) {
	for _, k := range kinds {
		if k == kind {
			return api.ExplainParamsKind(kind), nil
		}
	}
	return "", exitcode.Usagef("cannot explain a %q: use one of %v", kind, kinds)
}

func show(w io.Writer, chain []api.Cause) error {
	for i, c := range chain {
		arrow := "   "
		if i > 0 {
			arrow = "└─ "
		}
		at := ""
		if !c.At.IsZero() {
			at = c.At.Local().Format("  15:04:05")
		}
		if _, err := fmt.Fprintf(w, "%s%s %s%s\n     %s\n",
			arrow, c.Record, console.Line(c.Name), at, console.Line(c.Reason)); err != nil {
			return err
		}
		for _, line := range builds.ResolvedLines(c.Modules) {
			if _, err := fmt.Fprintf(w, "     %s %s\n", line.Kind, line.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
