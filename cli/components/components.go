// Package components implements `nuon components`, which lists and shows the components of an app.
package components

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "components", Short: "Inspect the components of apps"}
	c.AddCommand(newList(e), newGet(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	var kind string
	l := &listing.List[api.Component]{
		Header: []string{"NAME", "KIND", "BUILD", "DEPENDENCIES", "PROBLEM"},
		Row: func(k api.Component) []string {
			return []string{k.Name, k.Kind, newest(k), strings.Join(k.DependsOn, " "), k.Problem}
		},
		Rows: func(all []api.Component) [][]string {
			var rows [][]string
			for _, n := range Tree(all) {
				rows = append(rows, []string{n.Prefix + n.Name, n.Kind, newest(n.Component), strings.Join(n.DependsOn, " "),
					n.Problem})
			}
			return rows
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Component, string, error) {
			l, err := apiclient.Decode[api.ComponentList](client.ListComponents(ctx, at.Args[0]))
			if kind == "" {
				return l.Items, "", err
			}
			var fit []api.Component
			for _, k := range l.Items {
				if k.Kind == kind {
					fit = append(fit, k)
				}
			}
			return fit, "", err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use:     "list APP",
		Aliases: []string{"ls"},
		Short:   "List the components of an app with their newest builds",
		Args:    cobra.ExactArgs(1),
		Long: `List the components of an app with their newest builds.

On a terminal, the components are a tree: each is below the one of its dependencies that is deployed last.`,
		Example: `  nuon components list hello
  nuon components list hello -o name`,
		ValidArgsFunction: complete.Args(e, complete.Apps),
	})
	c.Flags().StringVar(&kind, "kind", "", "only components of this kind, such as terraform_module")
	return c
}

// newest describes a component's newest build in two words.
func newest(k api.Component) string {
	if k.Build.ID == "" {
		return "-"
	}
	return fmt.Sprintf("%d %s", k.Build.Number, k.Build.Status)
}

func newGet(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "get APP COMPONENT", Short: "Show a component with its newest build", Args: cobra.ExactArgs(2),
		Example:           `  nuon components get hello web`,
		ValidArgsFunction: complete.Args(e, complete.Apps, complete.Components),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			l, err := apiclient.Decode[api.ComponentList](client.ListComponents(ctx, args[0]))
			if err != nil {
				return err
			}
			k, err := Find(l.Items, args[0], args[1])
			if err != nil {
				return err
			}
			return e.Console.Result(k, func(w io.Writer) error { return show(w, args[0], k) })
		}),
	}
}

// Find returns the component of an app by its name or id.
func Find(all []api.Component, app, name string) (api.Component, error) {
	for _, k := range all {
		if k.Name == name || k.ID == name {
			return k, nil
		}
	}
	return api.Component{}, exitcode.With(exitcode.Failed,
		fmt.Errorf("app %s has no component %q; list them with `nuon components list %[1]s`", app, name))
}

func show(w io.Writer, app string, k api.Component) error {
	_, err := fmt.Fprintf(w, `%s of app %s (%s)
  kind      %s
  needs     %s
`,
		console.Line(k.Name), console.Line(app), k.ID, k.Kind, cmp.Or(strings.Join(k.DependsOn, " "), "-"))
	if err == nil && k.Problem != "" {
		_, err = fmt.Fprintf(w, "  problem   %s\n", console.Line(k.Problem))
	}
	if err != nil || k.Build.ID == "" {
		return err
	}
	b := k.Build
	_, err = fmt.Fprintf(w, "  build     %d (%s): %s\n            %s\n",
		b.Number, b.ID, b.Status, console.Line(cmp.Or(b.Error, b.Waits, b.Reason)))
	if err == nil && b.ArtifactDigest != "" {
		_, err = fmt.Fprintf(w, "  artifact  %s\n", b.ArtifactDigest)
	}
	return err
}
