// Package actions implements `nuon actions`, which lists and runs the actions of
// installs, and its short form `nuon run`.
package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "actions", Short: "Run and inspect the actions of apps"}
	c.AddCommand(newList(e), newGet(e), newRun(e))
	return c
}

// of selects whose actions are meant: those of an app at its newest version, or of an
// install at its target version.
type of struct{ app, install string }

func (o *of) flags(e *cmdenv.Env, c *cobra.Command) {
	c.Flags().StringVar(&o.app, "app", "", "app whose actions to use")
	c.Flags().StringVar(&o.install, "install", "", "install whose actions to use")
	c.MarkFlagsMutuallyExclusive("app", "install")
	c.MarkFlagsOneRequired("app", "install")
	complete.Flag(e, c, "app", complete.Apps)
	complete.Flag(e, c, "install", complete.Installs)
}

// config returns the config of the app, or of the install's release of it.
func (o *of) config(ctx context.Context, client *apiclient.Client) (api.AppConfig, error) {
	if o.install != "" {
		i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, o.install))
		if err != nil {
			return api.AppConfig{}, err
		}
		return configOf(ctx, client, i.App, i.Target)
	}
	return configOf(ctx, client, o.app, 0)
}

// configOf returns the config of a release of an app; with 0 that of the newest version.
func configOf(ctx context.Context, client *apiclient.Client, app string, release int) (api.AppConfig, error) {
	return apiclient.Decode[api.AppConfig](client.GetAppConfig(ctx, app, &api.GetAppConfigParams{Release: release}))
}

func newList(e *cmdenv.Env) *cobra.Command {
	var o of
	l := &listing.List[api.DeclaredAction]{
		Header: []string{"NAME", "TRIGGERS", "INPUTS", "TIMEOUT", "DESCRIPTION"},
		Row: func(a api.DeclaredAction) []string {
			var inputs []string
			for _, in := range a.Inputs {
				inputs = append(inputs, in.Name)
			}
			return []string{a.Name, orDash(strings.Join(triggers(a), ", ")), orDash(strings.Join(inputs, ", ")),
				orDash(a.Timeout), a.Description}
		},
		Page: func(ctx context.Context, client *apiclient.Client, _ listing.Page) ([]api.DeclaredAction, string, error) {
			config, err := o.config(ctx, client)
			return config.Actions, "", err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use:     "list --app APP|--install INSTALL",
		Aliases: []string{"ls"},
		Short:   "List the actions of an app or install and their triggers",
		Args:    cobra.NoArgs,
		Example: "  nuon actions list --app hello\n  nuon actions list --install acme",
	})
	o.flags(e, c)
	return c
}

func newGet(e *cmdenv.Env) *cobra.Command {
	var o of
	c := &cobra.Command{
		Use:     "get ACTION --app APP|--install INSTALL",
		Short:   "Show the triggers, inputs and steps of an action",
		Args:    cobra.ExactArgs(1),
		Example: "  nuon actions get smoke_test --app hello",
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			config, err := o.config(ctx, client)
			if err != nil {
				return err
			}
			a, err := find(config, args[0])
			if err != nil {
				return err
			}
			return e.Console.Result(a, func(w io.Writer) error { return show(w, a, o) })
		}),
	}
	o.flags(e, c)
	c.ValidArgsFunction = complete.Args(e,
		func(ctx context.Context, client *apiclient.Client, _ []string) ([]complete.Name, error) {
			config, err := o.config(ctx, client)
			var names []complete.Name
			for _, a := range config.Actions {
				names = append(names, complete.Name{Name: a.Name, About: a.Description})
			}
			return names, err
		})
	return c
}

// find returns the action with a name.
func find(config api.AppConfig, name string) (api.DeclaredAction, error) {
	n := slices.IndexFunc(config.Actions, func(a api.DeclaredAction) bool { return a.Name == name })
	if n >= 0 {
		return config.Actions[n], nil
	}
	var names []string
	for _, a := range config.Actions {
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return api.DeclaredAction{}, errors.New("version " + fmt.Sprint(config.Version) + " of the app defines no actions")
	}
	return api.DeclaredAction{}, fmt.Errorf("action %s not found: the app has %s",
		console.Line(fmt.Sprintf("%q", name)), strings.Join(names, ", "))
}

// show prints an action for people, and how to run it.
func show(w io.Writer, a api.DeclaredAction, o of) error {
	lines := []string{a.Name}
	if a.Description != "" {
		lines[0] += ": " + a.Description
	}
	lines = append(lines, "  timeout "+orDash(a.Timeout), "runs")
	for _, t := range triggers(a) {
		lines = append(lines, "  "+t)
	}
	if len(a.Inputs) > 0 {
		lines = append(lines, "inputs")
	}
	command := "nuon run " + cmp.Or(o.install, "INSTALL") + " " + a.Name
	for _, in := range a.Inputs {
		lines = append(lines, fmt.Sprintf("  %-18s %-7s %s", in.Name, in.Type, need(in)))
		if in.Description != "" {
			lines = append(lines, "    "+in.Description)
		}
		if in.Required && in.Default == nil {
			command += " --input " + in.Name + "=…"
		}
	}
	lines = append(lines, "steps")
	for _, s := range a.Steps {
		lines = append(lines, "  "+s)
	}
	if slices.Contains(a.Triggers, "manual") {
		lines = append(lines, "", command)
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(console.Line(l), " ")); err != nil {
			return err
		}
	}
	return nil
}

// triggers returns the triggers of an action, with a note on those that have no effect yet.
func triggers(a api.DeclaredAction) []string {
	all := slices.Clone(a.Triggers)
	for i, t := range all {
		if slices.Contains(a.IdleTriggers, t) {
			all[i] = t + " (no effect yet)"
		}
	}
	return all
}

// need describes whether an input is required.
func need(in api.DeclaredParameter) string {
	switch {
	case in.Default != nil:
		return fmt.Sprintf("default %q", *in.Default)
	case in.Required:
		return "required"
	}
	return "optional"
}

func orDash(s string) string { return cmp.Or(s, "-") }
