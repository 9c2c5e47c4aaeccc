package workflows

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// RequestCommand implements the commands that request a workflow: their flags, the confirmation of what
// cannot be undone, their output and their exit code. Env is required; the flags set the rest.
type RequestCommand struct {
	Env *cmdenv.Env
	// Risk describes what the workflow would do, as a sentence without its full stop. If
	// it is not empty, a person must confirm it first.
	Risk string
	// Settled implements --wait for a request that has no workflow yet. It waits until the
	// install cannot progress without a person (for ever if the timeout is 0), and returns
	// the install and, as stands, the exit code for its state. It is nil if a request
	// always has a workflow.
	Settled func(ctx context.Context, client *apiclient.Client, install string,
		timeout time.Duration) (now api.Install, stands, err error)

	// Begun is called with the requested workflow before anything about it is printed, and
	// returns its new state. It may be nil.
	Begun func(ctx context.Context, client *apiclient.Client, w api.Workflow) (api.Workflow, error)

	follow   WaitOptions
	planOnly bool
	dryRun   bool
	yes      bool
}

// Flags adds --wait and --timeout, and --dry-run with its alias --explain.
func (a *RequestCommand) Flags(c *cobra.Command) {
	a.follow.Flags(c, "wait until the workflow ends or needs a person")
	c.Flags().BoolVar(&a.dryRun, "dry-run", false, "print the steps as a tree, and exit")
	c.Flags().BoolVar(&a.dryRun, "explain", false, "same as --dry-run")
	c.MarkFlagsMutuallyExclusive("dry-run", "wait")
	c.MarkFlagsMutuallyExclusive("explain", "wait")
}

// PlanFlag adds --plan-only.
func (a *RequestCommand) PlanFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.planOnly, "plan-only", false,
		"make plans and print what they would change; request no approvals and apply nothing")
	c.MarkFlagsMutuallyExclusive("plan-only", "dry-run")
	c.MarkFlagsMutuallyExclusive("plan-only", "explain")
}

// YesFlag adds --yes, which confirms Risk.
func (a *RequestCommand) YesFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.yes, "yes", false, "skip the confirmation prompt")
}

// Ask requests a workflow, prints the result and, with --wait, waits for it.
func (a *RequestCommand) Ask(ctx context.Context, install string, n api.NewWorkflow) error {
	if err := a.follow.Check(); err != nil && !a.planOnly {
		return err
	}
	client, err := a.Env.Client()
	if err != nil {
		return err
	}
	n.PlanOnly = a.planOnly
	if a.dryRun {
		asked, err := dryRun(ctx, client, install, n)
		if err != nil {
			return err
		}
		return a.Env.Console.Result(asked, func(w io.Writer) error { return showPlanned(w, asked) })
	}
	if err := a.sure(ctx, client, install, n); err != nil {
		return err
	}
	asked, err := apiclient.Decode[api.Asked](client.CreateWorkflow(ctx, install, &api.CreateWorkflowParams{}, n))
	if err != nil {
		return err
	}
	if asked.Workflow.ID == "" {
		return a.unbegun(ctx, client, asked)
	}
	if a.planOnly {
		return a.planned(ctx, client, asked.Workflow)
	}
	if a.Begun != nil {
		if asked.Workflow, err = a.Begun(ctx, client, asked.Workflow); err != nil {
			return err
		}
	}
	return a.follow.End(ctx, a.Env.Console, client, asked.Workflow, func(w api.Workflow) any {
		asked.Workflow = w
		return asked
	})
}

// unbegun prints why there is no workflow; with --wait, it first waits for the install.
func (a *RequestCommand) unbegun(ctx context.Context, client *apiclient.Client, asked api.Asked) error {
	var stands error
	if a.follow.Wait && a.Settled != nil {
		var err error
		if asked.Install, stands, err = a.Settled(ctx, client, asked.Install.ID, a.follow.Timeout); err != nil {
			return err
		}
	}
	err := a.Env.Console.Result(asked, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, console.Line(asked.Outcome))
		return err
	})
	if err != nil {
		return err
	}
	return stands
}

// dryRun requests the steps of a workflow without starting it.
func dryRun(ctx context.Context, client *apiclient.Client, install string, n api.NewWorkflow) (api.Asked, error) {
	n.DryRun = true
	return apiclient.Decode[api.Asked](client.CreateWorkflow(ctx, install, &api.CreateWorkflowParams{}, n))
}

// sure prompts for the confirmation of what cannot be undone, after displaying the steps.
// --plan-only needs no confirmation.
func (a *RequestCommand) sure(ctx context.Context, client *apiclient.Client, install string, n api.NewWorkflow) error {
	if a.Risk == "" || a.planOnly {
		return nil
	}
	if c := a.Env.Console; !a.yes && c.Asks() {
		asked, err := dryRun(ctx, client, install, n)
		if err != nil {
			return err
		}
		var b strings.Builder
		if err := showPlanned(&b, asked); err != nil {
			return err
		}
		c.Messagef("%s", b.String())
	}
	return a.Env.Console.Confirm(ctx, a.Risk, a.yes)
}

// showPlanned prints the steps of a dry run, or why there are none.
func showPlanned(w io.Writer, asked api.Asked) error {
	if len(asked.Workflow.Steps) == 0 {
		_, err := fmt.Fprintln(w, console.Line(cmp.Or(asked.Outcome, "nothing to do")))
		return err
	}
	if _, err := fmt.Fprintf(w, "%s of %s/%s would run these steps:\n",
		asked.Workflow.Kind, asked.Install.App, asked.Install.Name); err != nil {
		return err
	}
	return showTree(w, asked.Workflow.Steps, time.Time{})
}

// WaitOptions holds the --wait and --timeout flags of the commands that can wait for a
// workflow. The zero value does not wait.
type WaitOptions struct {
	Wait    bool
	Timeout time.Duration // 0 waits for ever
}

// Flags adds --wait, with this help text, and --timeout.
func (f *WaitOptions) Flags(c *cobra.Command, help string) {
	c.Flags().BoolVar(&f.Wait, "wait", false, help)
	c.Flags().DurationVar(&f.Timeout, "timeout", 0, "with --wait: maximum time to wait (default: no limit)")
}

// Check rejects a negative --timeout, and one without --wait.
func (f *WaitOptions) Check() error {
	if f.Timeout < 0 || f.Timeout > 0 && !f.Wait {
		return exitcode.Usagef("--timeout needs --wait and a positive duration, such as 10m")
	}
	return nil
}

// End waits for a workflow if Wait is set, prints it (for programs: the value that as
// returns for it), and returns the exit code for its status. Without Wait, it prints
// how to follow the workflow.
func (f *WaitOptions) End(ctx context.Context, c *console.Console, client *apiclient.Client, w api.Workflow,
	as func(api.Workflow) any) error {
	var err error
	if f.Wait {
		if w, err = Wait(ctx, c, client, w.ID, f.Timeout); err != nil {
			return err
		}
	}
	if err := c.Result(as(w), func(out io.Writer) error { return Show(out, w) }); err != nil {
		return err
	}
	if f.Wait {
		return ExitError(w)
	}
	if w.Status == api.WorkflowStatusRunning && c.Output == "table" {
		c.Messagef("follow it with `nuon workflows watch %s`", w.ID)
	}
	return nil
}
