package actions

import (
	"context"
	"fmt"
	"maps"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/cli/given"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// running is one run of `nuon actions run`.
type running struct {
	asking workflows.Asking
	inputs []string
	files  []string
	env    []string
	// interactive asks for all inputs that were not given, not only for those that have no default.
	interactive bool
}

// NewRun is `nuon run`.
func NewRun(e *env.Env) *cobra.Command {
	c := newRun(e)
	c.Short = "Run an action on an install (the short form of nuon actions run)"
	c.Example = "  nuon run acme smoke_test --wait"
	return c
}

func newRun(e *env.Env) *cobra.Command {
	o := &running{asking: workflows.Asking{Env: e}}
	c := &cobra.Command{
		Use: "run INSTALL ACTION", Short: "Run an action on an install", Args: cobra.ExactArgs(2),
		Long: `Runs an action on an install, now. Its inputs are given with --input; a terminal asks for those that are required,
have no default and were not given; --interactive (-i) asks for all that were not given. They reach its steps as the environment variables NUON_INPUT_<NAME>, and under their own names
where these are free. --env gives its steps more environment, where the owner of the runner allows that.

A script that no approver has approved for the install waits first: ` + "`nuon review INSTALL/scripts`" + ` shows it, as a difference from the one
that was approved last.

Exit codes with --wait: 0 it succeeded, 1 it failed, 3 its script waits for an approver.`,
		Example:           "  nuon actions run acme migrate --input to=42 --wait\n  nuon actions run acme restore --input-file plan=@plan.json --env DEBUG=1",
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.Actions),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), args[0], args[1]) },
	}
	c.Flags().StringArrayVar(&o.inputs, "input", nil, "value of an input of the action, NAME=VALUE (repeatable)")
	c.Flags().StringArrayVar(&o.files, "input-file", nil, "value of an input from a file, NAME=@FILE (repeatable)")
	c.Flags().StringArrayVar(&o.env, "env", nil, "environment for its steps, NAME=VALUE, where the runner file has free_env = true (repeatable)")
	c.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "ask for every input that is not given, also for those with a default")
	o.asking.Flags(c)
	complete.Flag(e, c, "input", inputs)
	return c
}

func (o *running) run(ctx context.Context, install, action string) error {
	if err := o.asking.Env.Console.CheckInteractive(o.interactive); err != nil {
		return err
	}
	extra, err := given.Pairs("--env", o.env)
	if err != nil {
		return err
	}
	values, err := given.Pairs("--input", o.inputs)
	if err != nil {
		return err
	}
	files, err := given.Files("--input-file", o.files)
	if err != nil {
		return err
	}
	maps.Copy(values, files)
	if o.asking.Env.Console.Asks() {
		if err := o.fillIn(ctx, install, action, values); err != nil {
			return err
		}
	}
	return o.asking.Ask(ctx, install, api.NewWorkflow{Kind: api.NewWorkflowKindAction, Action: action, Env: extra, Inputs: values})
}

// fillIn has a person enter inputs that were not given: those that the action requires, or all of them with --interactive.
func (o *running) fillIn(ctx context.Context, install, action string, values map[string]string) error {
	client, err := o.asking.Env.Client()
	if err != nil {
		return err
	}
	a, err := declaredOn(ctx, client, install, action)
	if err != nil {
		return err
	}
	pages := form.Parameters(a, values)
	if !o.interactive {
		pages = form.Needed(pages)
	}
	answers, err := form.Ask(ctx, o.asking.Env.Console, pages)
	maps.Copy(values, answers.Plain)
	return err
}

// declaredOn is an action as the version of the app has it that an install follows.
func declaredOn(ctx context.Context, client *remote.Client, install, action string) (api.DeclaredAction, error) {
	config, err := (&of{install: install}).config(ctx, client)
	if err != nil {
		return api.DeclaredAction{}, err
	}
	return find(config, action)
}

// inputs completes NAME= for the action whose name is on the command line.
func inputs(ctx context.Context, client *remote.Client, args []string) ([]complete.Name, error) {
	if len(args) < 2 {
		return nil, nil
	}
	a, err := declaredOn(ctx, client, args[0], args[1])
	var names []complete.Name
	for _, in := range a.Inputs {
		names = append(names, complete.Name{Name: in.Name + "=", About: fmt.Sprintf("%s, %s", in.Type, need(in))})
	}
	return names, err
}
