// Package graph implements `nuon graph`, which shows the order in which the components
// of an app are deployed or torn down, and why.
//
// Package appconfig computes the order and its reasons; this package only draws them. It
// reads the config on this machine, and needs no control plane, no token and no network.
package graph

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/validate"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// The values of --format.
const (
	formatText    = "text"
	formatMermaid = "mermaid"
	formatDOT     = "dot"
)

var formats = []string{formatText, formatMermaid, formatDOT}

// options are the flags of the command.
type options struct {
	format    string
	component string
	reverse   bool
}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "graph [DIRECTORY]",
		Short: "Show the order in which an app's components are deployed",
		Args:  cobra.MaximumNArgs(1),
		Long: `Show the order in which the components of an app are deployed: in waves, each of which starts when the
previous ones are done. The components of a wave are deployed in parallel.

Below each component are the components that it waits for, and why: its config lists them, one of its
templates reads their outputs, or it is deployed to the cluster that they create.

--reverse shows the order in which components are torn down, with what must be removed before each.
--component shows only one component, what it waits for, and what waits for it.`,
		Example: `  nuon graph
  nuon graph --component database
  nuon graph --format mermaid   # for Markdown
  nuon graph --format dot | dot -Tsvg > graph.svg
  nuon graph -o name            # the components in their order, one a line`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return show(cmd.Context(), e.Console, o, dir)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	c.Flags().StringVar(&o.format, "format", formatText, "output format: text, mermaid or dot")
	c.Flags().StringVar(&o.component, "component", "", "only this component, what it waits for and what waits for it")
	c.Flags().BoolVar(&o.reverse, "reverse", false, "show the order in which components are torn down")
	complete.FlagWords(c, "format", formats...)
	_ = c.RegisterFlagCompletionFunc("component", components) // fails only for an unknown flag
	return c
}

// components completes the names of the components in the directory's config.
func components(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	app, _, err := validate.Load(cmd.Context(), dir)
	if err != nil || app == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return namesOf(app), cobra.ShellCompDirectiveNoFileComp
}

func namesOf(app *appconfig.App) []string {
	var names []string
	for i := range app.Components {
		names = append(names, app.Components[i].Name)
	}
	return names
}

func show(ctx context.Context, c *console.Console, o options, dir string) error {
	if !slices.Contains(formats, o.format) {
		return exitcode.Usagef("--format %s: use one of %s", console.Line(o.format), strings.Join(formats, ", "))
	}
	app, err := load(ctx, c, dir)
	if err != nil {
		return err
	}
	g := newGraph(app)
	if o.component != "" {
		if _, known := app.Component(o.component); !known || o.component == appconfig.SandboxName {
			return exitcode.Usagef("--component %s: no such component%s",
				console.Line(o.component), suggestion(o.component, namesOf(app)))
		}
		g = g.around(o.component)
	}
	if o.reverse {
		g = g.reversed()
	}
	if c.Output == "name" {
		return c.List(g, nil, g.rows())
	}
	return c.Result(g, func(w io.Writer) error {
		switch o.format {
		case formatMermaid:
			_, err = io.WriteString(w, g.mermaid())
		case formatDOT:
			_, err = io.WriteString(w, g.dot())
		default:
			_, err = io.WriteString(w, (&text{console: c, graph: g, chosen: o.component}).String())
		}
		return err
	})
}

func suggestion(name string, known []string) string {
	if near, ok := diagnostic.Nearest(name, known); ok {
		return "; did you mean " + near + "?"
	}
	return ""
}

// load reads the config. For a config with errors, it prints the errors; it ignores
// warnings, which `nuon validate` prints.
func load(ctx context.Context, c *console.Console, dir string) (*appconfig.App, error) {
	app, found, err := validate.Load(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if d.Severity == diagnostic.Error {
			c.Messagef("%s", console.Line(d.String()))
		}
	}
	if app == nil {
		return nil, &exitcode.Error{Code: exitcode.Usage}
	}
	return app, nil
}
