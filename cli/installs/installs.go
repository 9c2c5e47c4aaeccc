// Package installs is `nuon installs`: the customers' copies of an app. It also holds `nuon deploy` and `nuon run`, which ask for
// work on one of them.
package installs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New is the command with its verbs.
func New(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "installs", Short: "The installs: customers' copies of an app"}
	c.AddCommand(newCreate(e), newList(e), newGet(e), newUpdate(e), newDeprovision(e), newForget(e))
	return c
}

func newList(e *env.Env) *cobra.Command {
	var app string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the installs and how they stand", Args: cobra.NoArgs,
		RunE: e.Call(func(ctx context.Context, client *remote.Client, _ []string) error {
			items, err := remote.All(func(cursor string) ([]api.InstallSummary, string, error) {
				l, err := remote.Get[api.InstallList](client.ListInstalls(ctx, &api.ListInstallsParams{App: app, Cursor: cursor}))
				return l.Items, l.Next, err
			})
			if err != nil {
				return err
			}
			return e.Console.List(items, []string{"NAME", "APP", "VERSION", "STATUS", "WHY"}, Rows(items))
		}),
	}
	c.Flags().StringVar(&app, "app", "", "only this app's installs")
	return c
}

// Rows are installs as the rows of a table: name, app, version, status, why.
func Rows(items []api.InstallSummary) [][]string {
	var rows [][]string
	for _, i := range items {
		version := "-"
		if i.Version > 0 {
			version = fmt.Sprint(i.Version)
		}
		rows = append(rows, []string{i.Name, i.App, version, string(i.Status), i.Reason})
	}
	return rows
}

func newGet(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "get INSTALL", Short: "Show one install: inputs, components, outputs", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			i, err := remote.Get[api.Install](client.GetInstall(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(i, func(w io.Writer) error { return show(w, i) })
		}),
	}
}

func show(w io.Writer, i api.Install) error {
	runner := "offline"
	if i.RunnerOnline {
		runner = "online"
	}
	fmt.Fprintf(w, "%s/%s (%s): %s\n  %s\n  approval %s, runner %s (%s)\n", i.App, i.Name, i.ID, i.Status, console.Line(i.Reason), i.Approval, i.Runner, runner)
	fmt.Fprintln(w, "inputs")
	for _, in := range i.Inputs {
		fmt.Fprintf(w, "  %-18s %s\n", console.Line(in.Name), value(in.Value, in.Sensitive))
	}
	fmt.Fprintln(w, "components")
	for _, c := range i.Components {
		fmt.Fprintf(w, "  %-18s %-9s %s\n", c.Name, c.Status, console.Line(c.Reason))
		for _, o := range c.Outputs {
			fmt.Fprintf(w, "    %-16s %s\n", console.Line(o.Name), value(string(o.Value), o.Sensitive))
		}
	}
	return nil
}

func value(v string, sensitive bool) string {
	if sensitive {
		return "(sensitive)"
	}
	return console.Line(v)
}

// asking is what the commands that start a workflow have in common.
type asking struct {
	env     *env.Env
	wait    bool
	timeout time.Duration
}

func (a *asking) flags(c *cobra.Command) {
	c.Flags().BoolVar(&a.wait, "wait", false, "wait until it has ended or needs a person")
	c.Flags().DurationVar(&a.timeout, "timeout", 0, "with --wait: stop waiting after this long")
}

// ask asks for a workflow, prints what came of it and, if wanted, waits.
func (a *asking) ask(ctx context.Context, install string, n api.NewWorkflow) error {
	client, err := a.env.Client()
	if err != nil {
		return err
	}
	asked, err := remote.Get[api.Asked](client.CreateWorkflow(ctx, install, &api.CreateWorkflowParams{}, n))
	if err != nil {
		return err
	}
	if asked.Workflow.ID == "" {
		return a.env.Console.Result(asked, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, console.Line(asked.Outcome))
			return err
		})
	}
	if a.wait {
		if asked.Workflow, err = workflows.Wait(ctx, a.env.Console, client, asked.Workflow.ID, a.timeout); err != nil {
			return err
		}
	}
	if err := a.env.Console.Result(asked, func(w io.Writer) error { return workflows.Show(w, asked.Workflow) }); err != nil || !a.wait {
		return err
	}
	return workflows.Verdict(asked.Workflow)
}

// NewDeploy is `nuon deploy`.
func NewDeploy(e *env.Env) *cobra.Command {
	a := asking{env: e}
	c := &cobra.Command{
		Use: "deploy INSTALL [COMPONENT…]", Short: "Bring an install up to date, also with what was refused before", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.ask(c.Context(), args[0], api.NewWorkflow{Kind: api.NewWorkflowKindDeploy, Components: args[1:]})
		},
	}
	a.flags(c)
	return c
}

// NewRun is `nuon run`.
func NewRun(e *env.Env) *cobra.Command {
	a := asking{env: e}
	var pairs []string
	c := &cobra.Command{
		Use: "run INSTALL ACTION", Short: "Run an action on an install", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			extra, err := splitPairs("--env", pairs)
			if err != nil {
				return err
			}
			return a.ask(c.Context(), args[0], api.NewWorkflow{Kind: api.NewWorkflowKindAction, Action: args[1], Env: extra})
		},
	}
	c.Flags().StringArrayVar(&pairs, "env", nil, "environment for its steps, NAME=VALUE (repeatable)")
	a.flags(c)
	return c
}

func newDeprovision(e *env.Env) *cobra.Command {
	a := asking{env: e}
	var yes bool
	c := &cobra.Command{
		Use: "deprovision INSTALL", Short: "Plan the removal of everything in an install, the sandbox last", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				return exit.Usagef("this plans the removal of everything in %s; say --yes if you mean it (each plan still waits for an approval)", args[0])
			}
			return a.ask(c.Context(), args[0], api.NewWorkflow{Kind: api.NewWorkflowKindDeprovision})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "yes, plan the removal")
	a.flags(c)
	return c
}

func newForget(e *env.Env) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "forget INSTALL", Short: "Drop the record of an install of which nothing is left", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			if err := remote.Done(client.ForgetInstall(ctx, args[0], &api.ForgetInstallParams{Force: force})); err != nil {
				return err
			}
			e.Console.Say("install %s forgotten", args[0])
			return nil
		}),
	}
	c.Flags().BoolVar(&force, "force", false, "also when something is still applied: it stays where it is, and nuon no longer knows of it")
	return c
}

// splitPairs reads NAME=VALUE arguments.
func splitPairs(flag string, pairs []string) (map[string]string, error) {
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		name, v, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("%s %q: write NAME=VALUE", flag, p)
		}
		out[name] = v
	}
	return out, nil
}
