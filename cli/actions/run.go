package actions

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/approvals"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// running is the state of one run of `nuon actions run`.
type running struct {
	asking workflows.RequestCommand
	inputs []string
	files  []string
	env    []string
	role   string
	// interactive asks for all inputs that have no value yet, not only for those without a default.
	interactive bool
	// script is the digest of a script that the person has read and approves with the run.
	script string
}

// NewRun returns the command `nuon run`.
func NewRun(e *cmdenv.Env) *cobra.Command {
	c := newRun(e)
	c.Short = "Run an action on an install (short for \"nuon actions run\")"
	c.Example = "  nuon run acme smoke_test --wait"
	return c
}

func newRun(e *cmdenv.Env) *cobra.Command {
	o := &running{asking: workflows.RequestCommand{Env: e}}
	c := &cobra.Command{
		Use: "run INSTALL ACTION", Short: "Run an action on an install", Args: cobra.ExactArgs(2),
		Long: `Run an action on an install now.

Pass its inputs with --input. On a terminal, nuon asks for required inputs that have no default and
were not passed; --interactive (-i) asks for every input that was not passed. The steps read inputs
from the environment variables NUON_INPUT_<NAME>, and from variables of the plain names where these
are free. --env adds environment variables, if the runner's owner allows that. --role chooses
another role of the app, by its name in permissions/ or break_glass.toml with the install's id in it;
the customer decides whether it is on, and a break-glass role needs a request and a grant as always.

A script that no approver has approved for the install and its role waits for approval first. On a
terminal, an approver sees it as a diff against the last approved script and is asked to approve it.
A program passes the digest of the script that was reviewed (scripts in "nuon review INSTALL/scripts
-o json") with --approve-script: the command then waits until its script is ready to run, and
approves that script and no other.

Exit codes with --wait: 0 succeeded, 1 failed, 3 waiting for an approval of its script.`,
		Example: "  nuon actions run acme migrate --input to=42 --wait\n  nuon actions run acme restore " +
			"--input-file plan=@plan.json --env DEBUG=1",
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.Actions),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), args[0], args[1]) },
	}
	c.Flags().StringArrayVar(&o.inputs, "input", nil, "set an input of the action, NAME=VALUE (repeatable)")
	c.Flags().StringArrayVar(&o.files, "input-file", nil, "read an input from a file, NAME=@FILE (repeatable)")
	c.Flags().StringArrayVar(&o.env, "env", nil,
		"set an environment variable of the steps, NAME=VALUE; needs free_env = true in the runner file "+
			"(repeatable)")
	c.Flags().StringVar(&o.role, "role", "", "run under this role of the app, instead of the one "+
		"that the app gives the action")
	c.Flags().BoolVarP(&o.interactive, "interactive", "i", false,
		"ask for every input that was not passed, including those with a default")
	c.Flags().StringVar(&o.script, "approve-script", "", "approve the action's script if it is waiting and has "+
		"this digest")
	o.asking.Flags(c)
	c.MarkFlagsMutuallyExclusive("approve-script", "dry-run")
	c.MarkFlagsMutuallyExclusive("approve-script", "explain")
	o.asking.Begun = o.begun
	complete.Flag(e, c, "input", inputs)
	return c
}

func (o *running) run(ctx context.Context, install, action string) error {
	if err := o.asking.Env.Console.CheckInteractive(o.interactive); err != nil {
		return err
	}
	extra, err := keyvalue.Pairs("--env", o.env)
	if err != nil {
		return err
	}
	values, err := keyvalue.Pairs("--input", o.inputs)
	if err != nil {
		return err
	}
	files, err := keyvalue.Files("--input-file", o.files)
	if err != nil {
		return err
	}
	maps.Copy(values, files)
	if o.asking.Env.Console.Asks() {
		if err := o.fillIn(ctx, install, action, values); err != nil {
			return err
		}
	}
	return o.asking.Ask(ctx, install,
		api.NewWorkflow{Kind: api.NewWorkflowKindAction, Action: action, Role: o.role, Env: extra, Inputs: values})
}

// pause is the interval between two polls for the approval of a run's script, and
// maxPolls the maximum number of polls if no digest was given.
const (
	pause    = 500 * time.Millisecond
	maxPolls = 4
)

// begun waits until the run's script requires approval, if it does, and approves it or
// asks the person to.
func (o *running) begun(ctx context.Context, client *apiclient.Client, w api.Workflow) (api.Workflow, error) {
	if o.script == "" && !o.asking.Env.Console.Asks() {
		return w, nil
	}
	for looks := 0; ; looks++ {
		step := manual(w)
		if w.Status == api.WorkflowStatusRunning && step.Status == api.StepStatusWaiting && step.Approval != "" {
			if err := approvals.Script(ctx, o.asking.Env, client, step.Approval, o.script); err != nil {
				return w, err
			}
			return apiclient.Decode[api.Workflow](client.GetWorkflow(ctx, w.ID))
		}
		begun := step.Status != api.StepStatusPending
		if w.Status != api.WorkflowStatusRunning || begun || o.script == "" && looks == maxPolls {
			return w, nil
		}
		select {
		case <-ctx.Done():
			return w, exitcode.Interrupted
		case <-time.After(pause):
		}
		var err error
		if w, err = apiclient.Decode[api.Workflow](client.GetWorkflow(ctx, w.ID)); err != nil {
			return w, err
		}
	}
}

// manual returns the step of the action that a person runs.
func manual(w api.Workflow) api.Step {
	for _, s := range w.Steps {
		if s.Kind == api.StepKindAction {
			return s
		}
	}
	return api.Step{}
}

// fillIn prompts for missing inputs: those that the action requires, or all of them with
// --interactive.
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
		pages = form.RequiredPages(pages)
	}
	answers, err := form.Ask(ctx, o.asking.Env.Console, pages)
	maps.Copy(values, answers.Plain)
	return err
}

// declaredOn returns an action as declared by the version of the app that an install follows.
func declaredOn(ctx context.Context, client *apiclient.Client, install, action string) (api.DeclaredAction, error) {
	config, err := (&of{install: install}).config(ctx, client)
	if err != nil {
		return api.DeclaredAction{}, err
	}
	return find(config, action)
}

// inputs completes NAME= for the inputs of the action on the command line.
func inputs(ctx context.Context, client *apiclient.Client, args []string) ([]complete.Name, error) {
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
