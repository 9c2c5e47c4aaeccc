package apps

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newConfig(e *cmdenv.Env) *cobra.Command {
	var number int
	c := &cobra.Command{
		Use:   "config APP",
		Short: "Show the inputs, components and actions of an app version",
		Args:  cobra.ExactArgs(1),
		Example: `  nuon apps config hello
  nuon apps config hello --version 3 -o json`,
		ValidArgsFunction: complete.Args(e, complete.Apps),
		RunE: func(c *cobra.Command, args []string) error {
			if number < 0 {
				return exitcode.Usagef("--version %d: use a number from 1 up; list the versions with `nuon apps "+
					"versions %s`",
					number, args[0])
			}
			client, err := e.Client()
			if err != nil {
				return err
			}
			declared, err := apiclient.Decode[api.AppConfig](client.GetAppConfig(c.Context(), args[0],
				&api.GetAppConfigParams{Version: number}))
			if err != nil {
				return err
			}
			return e.Console.Result(declared, func(w io.Writer) error {
				return showConfig(e.Console, w, args[0], declared)
			})
		},
	}
	c.Flags().IntVar(&number, "version", 0, "number of the version (default: the newest)")
	return c
}

// showConfig prints the declarations of an app, a table for each kind.
func showConfig(c *console.Console, w io.Writer, app string, d api.AppConfig) error {
	fmt.Fprintf(w, "%s, version %d\n", console.Line(app), d.Version)
	if len(d.Inputs) > 0 {
		fmt.Fprintln(w, "\ninputs")
		if err := c.Table(w, []string{"NAME", "TYPE", "GROUP", "VALUE", "USED BY", "DESCRIPTION"},
			inputRows(d.Inputs)); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "\ncomponents")
	var rows [][]string
	for _, k := range d.Components {
		rows = append(rows, []string{k.Name, k.Kind, strings.Join(k.DependsOn, " "), toggle(k)})
	}
	if err := c.Table(w, []string{"NAME", "KIND", "DEPENDENCIES", "TOGGLE"}, rows); err != nil || len(d.Actions) == 0 {
		return err
	}
	fmt.Fprintln(w, "\nactions")
	rows = nil
	for _, a := range d.Actions {
		rows = append(rows, []string{a.Name, strings.Join(a.Triggers, " "), a.Timeout,
			parameters(a.Inputs), a.Description})
	}
	return c.Table(w, []string{"NAME", "TRIGGERS", "TIMEOUT", "PARAMETERS", "DESCRIPTION"}, rows)
}

func inputRows(inputs []api.DeclaredInput) [][]string {
	var rows [][]string
	for _, i := range inputs {
		rows = append(rows, []string{i.Name, i.Type, i.Group, valueOf(i), strings.Join(i.ReadBy, " "),
			cmp.Or(i.Description, i.DisplayName)})
	}
	return rows
}

// valueOf describes the source of an input's value.
func valueOf(i api.DeclaredInput) string {
	switch {
	case i.Sensitive && i.Required:
		return "required, sensitive"
	case i.Sensitive:
		return "sensitive"
	case i.Default != nil:
		return "default " + *i.Default
	case i.Required:
		return "required"
	}
	return "optional"
}

// toggle describes whether an install can switch a component off.
func toggle(k api.DeclaredComponent) string {
	switch {
	case !k.Toggleable:
		return "always on"
	case k.Enabled:
		return "on by default"
	}
	return "off by default"
}

// parameters lists the inputs of an action; required ones have a star.
func parameters(declared []api.DeclaredParameter) string {
	var words []string
	for _, p := range declared {
		star := ""
		if p.Required && p.Default == nil {
			star = "*"
		}
		words = append(words, fmt.Sprintf("%s%s:%s", p.Name, star, p.Type))
	}
	return strings.Join(words, " ")
}
