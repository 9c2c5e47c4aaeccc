package workflows

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newRetry(e *cmdenv.Env) *cobra.Command {
	var f WaitOptions
	c := &cobra.Command{
		Use:   "retry WORKFLOW|latest:INSTALL [COMPONENT|ACTION|STEP]",
		Short: "Retry the failed steps of a workflow",
		Args:  cobra.RangeArgs(1, 2),
		Long: `Retry what failed in a workflow: a component from its plan, which needs an approval as any plan does,
or only the failed action.

While the workflow is running, the retry is part of it; afterwards it is a new workflow. If only one
component or action failed, you need not name it.`,
		Example:           "  nuon workflows retry latest:acme\n  nuon workflows retry latest:acme web --wait",
		ValidArgsFunction: complete.Args(e, complete.Workflows, complete.Steps),
		PreRunE:           func(*cobra.Command, []string) error { return f.Check() },
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			w, err := Find(ctx, client, args[0])
			if err != nil {
				return err
			}
			s, err := stepToRetry(w, args[1:])
			if err != nil {
				return err
			}
			if w, err = apiclient.Decode[api.Workflow](client.RetryStep(ctx, w.ID, s.ID)); err != nil {
				return err
			}
			return f.End(ctx, e.Console, client, w, func(w api.Workflow) any { return w })
		}),
	}
	f.Flags(c, "wait until the workflow ends or needs a person")
	return c
}

// stepToRetry returns the step to retry: the named one, or the only one that failed.
func stepToRetry(w api.Workflow, named []string) (api.Step, error) {
	failed := func(s api.Step) bool { return s.Status == api.StepStatusFailed }
	if len(named) == 1 {
		return findStep(w, named[0], failed)
	}
	var found []api.Step
	for _, s := range w.Steps {
		if failed(s) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return api.Step{}, fmt.Errorf("workflow %s is %s and has no failed steps; list its steps with `nuon "+
			"workflows get %[1]s`", w.ID, w.Status)
	case 1:
		return found[0], nil
	}
	names := make([]string, 0, len(found))
	for _, s := range found {
		names = append(names, console.Line(name(s)))
	}
	return api.Step{}, exitcode.Usagef("several steps failed: name one of %s, or retry all with `nuon deploy %s`",
		strings.Join(names, ", "), w.App+"/"+w.Install)
}

func newSkip(e *cmdenv.Env) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "skip WORKFLOW|latest:INSTALL COMPONENT|ACTION|STEP",
		Short: "Skip a step that has not started",
		Args:  cobra.ExactArgs(2),
		Long: `Skip an action, or a component whose apply has not started.

Components that depend on a skipped component are skipped with it; what depends on an action
continues. Skipping a component rejects its current change: it is not planned again until something
changes, or a person deploys it.`,
		Example:           "  nuon workflows skip latest:acme smoke_test --reason 'the page is behind a password today'",
		ValidArgsFunction: complete.Args(e, complete.RunningWorkflows, complete.Steps),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			w, err := Find(ctx, client, args[0])
			if err != nil {
				return err
			}
			s, err := findStep(w, args[1], func(s api.Step) bool {
				return s.Status == api.StepStatusPending || s.Status == api.StepStatusWaiting
			})
			if err != nil {
				return err
			}
			if w, err = apiclient.Decode[api.Workflow](client.SkipStep(ctx, w.ID, s.ID,
				api.Reason{Reason: reason})); err != nil {
				return err
			}
			return (&WaitOptions{}).End(ctx, e.Console, client, w, func(w api.Workflow) any { return w })
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, shown to everyone who views the install")
	_ = c.MarkFlagRequired("reason") // fails only for an unknown flag
	return c
}

// findStep returns the step with an id, or of the component or action with a name: the
// first one that fits the operation. If none fits, it returns the last one, so that
// the control plane reports what prevents the operation.
func findStep(w api.Workflow, key string, fits func(api.Step) bool) (api.Step, error) {
	var of []api.Step
	for _, s := range w.Steps {
		switch key {
		case s.ID:
			return s, nil
		case "": // an empty key must not match steps without a component or an action
		case s.Component, s.Action:
			of = append(of, s)
		}
	}
	if i := slices.IndexFunc(of, fits); i >= 0 {
		return of[i], nil
	}
	if len(of) > 0 {
		return of[len(of)-1], nil
	}
	return api.Step{}, fmt.Errorf("workflow %s has no step of %s; list its steps with `nuon workflows get %[1]s`",
		w.ID, console.Line(fmt.Sprintf("%q", key)))
}
