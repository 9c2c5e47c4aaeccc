// Package workflows implements `nuon workflows`, which shows and controls the
// workflows of installs. It also implements what all commands that request a workflow
// share: the request, waiting, and the exit code.
package workflows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/cli/watch"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "workflows", Short: "Manage workflows: deploys and other work on installs"}
	c.AddCommand(newList(e), newGet(e), newWatch(e), newRetry(e), newSkip(e), newCancel(e))
	return c
}

// oneOf rejects a flag value that is not one of the words. An empty value is allowed.
func oneOf(flag, value string, words []string) error {
	if value != "" && !slices.Contains(words, value) {
		return exitcode.Usagef("%s %s: use one of %s", flag, value, strings.Join(words, ", "))
	}
	return nil
}

func newList(e *cmdenv.Env) *cobra.Command {
	var p api.ListWorkflowsParams
	l := &listing.List[api.Workflow]{
		Header: []string{"ID", "INSTALL", "KIND", "STATUS", "REASON"}, Limit: 20,
		Row: func(w api.Workflow) []string {
			return []string{w.ID, w.App + "/" + w.Install, string(w.Kind), string(w.Status), Reason(w)}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Workflow, string, error) {
			p.Cursor, p.Limit = at.Cursor, at.Limit
			l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx, &p))
			return l.Items, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List workflows, newest first", Args: cobra.NoArgs,
		Example: "  nuon workflows list --install acme --status failed\n  nuon workflows list --status running --watch",
		PreRunE: func(*cobra.Command, []string) error {
			if err := oneOf("--status", p.Status, api.WorkflowStatuses); err != nil {
				return err
			}
			return oneOf("--kind", p.Kind, api.WorkflowKinds)
		},
	})
	c.Flags().StringVar(&p.Install, "install", "", "only this install")
	c.Flags().StringVar(&p.Status, "status", "", "only these statuses: "+strings.Join(api.WorkflowStatuses, ", "))
	c.Flags().StringVar(&p.Kind, "kind", "", "only these kinds: "+strings.Join(api.WorkflowKinds, ", "))
	complete.Flag(e, c, "install", complete.Installs)
	complete.FlagWords(c, "status", api.WorkflowStatuses...)
	complete.FlagWords(c, "kind", api.WorkflowKinds...)
	return c
}

// Reason returns the outcome of a workflow, or while there is none its reason.
func Reason(w api.Workflow) string {
	if w.Outcome != "" {
		return w.Outcome
	}
	return w.Reason
}

func newGet(e *cmdenv.Env) *cobra.Command {
	live := false
	c := &cobra.Command{
		Use:   "get WORKFLOW|latest:INSTALL",
		Short: "Show the steps of a workflow as a tree",
		Args:  cobra.ExactArgs(1),
		Long: `Show a workflow as a tree: each component is below the one that it waits for, with its steps and their
durations. A plan-only workflow is shown with what its plans would change.`,
		Example:           "  nuon workflows get latest:acme\n  nuon workflows get wfl_… --watch",
		ValidArgsFunction: complete.Args(e, complete.Workflows),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			look := func(ctx context.Context, onto *console.Console) error {
				w, err := Find(ctx, client, args[0])
				if err != nil {
					return err
				}
				return printWithPlans(ctx, onto, client, w)
			}
			if live {
				return watch.Run(ctx, e.Console, look)
			}
			return look(ctx, e.Console)
		}),
	}
	watch.Flag(c, &live)
	return c
}

// Find returns a workflow by its id, or the newest one of an install for latest:INSTALL.
func Find(ctx context.Context, client *apiclient.Client, name string) (api.Workflow, error) {
	install, latest := strings.CutPrefix(name, "latest:")
	if !latest {
		return apiclient.Decode[api.Workflow](client.GetWorkflow(ctx, name))
	}
	if install == "" {
		return api.Workflow{}, exitcode.Usagef("name the install: latest:INSTALL")
	}
	l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx,
		&api.ListWorkflowsParams{Install: install, Limit: 1}))
	if err != nil {
		return api.Workflow{}, err
	}
	if len(l.Items) == 0 {
		return api.Workflow{}, fmt.Errorf("install %[1]s has no workflows yet; see what it waits for with `nuon "+
			"installs get %[1]s`", install)
	}
	return l.Items[0], nil
}

// Show prints a workflow for people: a summary, and its steps as a tree.
func Show(out io.Writer, w api.Workflow) error {
	return show(out, w, time.Now())
}

func show(out io.Writer, w api.Workflow, now time.Time) error {
	kind, at := string(w.Kind), ""
	if w.PlanOnly {
		kind += " (plan only)"
	}
	if w.Release > 0 {
		at = " at release " + console.Release(w.Release, w.Commit)
	}
	lines := []string{
		fmt.Sprintf("%s %d of %s/%s (%s): %s%s", kind, w.Number, w.App, w.Install, w.ID, w.Status, duration(w, now)),
		"  " + console.Line(Reason(w)),
	}
	if w.RequestedBy != "" {
		lines = append(lines, fmt.Sprintf("  requested by %s%s", console.Line(w.RequestedBy), at))
	}
	if words := approvalRuleText(w); words != "" {
		lines = append(lines, "  "+console.Line(words))
	}
	if _, err := fmt.Fprintln(out, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return showTree(out, w.Steps, now)
}

// approvalRuleText describes who approved a workflow as a whole; empty if nobody did.
func approvalRuleText(w api.Workflow) string {
	switch {
	case w.Rule.By == "":
		return ""
	case w.Rule.Void != "":
		return "plans need approval: " + w.Rule.Void
	case w.Status == api.WorkflowStatusRunning:
		return w.Rule.By + " approves everything that it plans until it ends"
	}
	return w.Rule.By + " approved it as a whole"
}

// Facts describes a workflow: what it results in, who requested it, and who approved it as a whole.
func Facts(w api.Workflow) []string {
	facts := []string{Reason(w)}
	if w.RequestedBy != "" {
		facts = append(facts, "requested by "+w.RequestedBy)
	}
	if words := approvalRuleText(w); words != "" {
		facts = append(facts, words)
	}
	return facts
}

// Duration describes how long a workflow took, or has been running.
func Duration(w api.Workflow, now time.Time) string { return strings.TrimSpace(duration(w, now)) }

// StepName returns the name of the action or component of a step.
func StepName(s api.Step) string { return name(s) }

// duration describes how long a workflow took, or has been running.
func duration(w api.Workflow, now time.Time) string {
	switch {
	case w.CreatedAt.IsZero():
		return ""
	case !w.EndedAt.IsZero():
		return " after " + formatDuration(w.EndedAt.Sub(w.CreatedAt))
	case w.Status == api.WorkflowStatusRunning:
		return " for " + formatDuration(now.Sub(w.CreatedAt))
	}
	return ""
}

// name returns the name of the action or component of a step.
func name(s api.Step) string {
	if s.Action != "" {
		return s.Action
	}
	return s.Component
}

func statusMark(s api.StepStatus) string {
	switch s {
	case api.StepStatusSucceeded:
		return "✓"
	case api.StepStatusFailed:
		return "✗"
	case api.StepStatusRunning:
		return "…"
	case api.StepStatusWaiting:
		return "?"
	case api.StepStatusSkipped, api.StepStatusCancelled:
		return "-"
	}
	return "·"
}

func newCancel(e *cmdenv.Env) *cobra.Command {
	var reason string
	var follow WaitOptions
	c := &cobra.Command{
		Use:   "cancel WORKFLOW|latest:INSTALL",
		Short: "Cancel a workflow as soon as that is safe",
		Args:  cobra.ExactArgs(1),
		Long: `Cancel a workflow: steps that have not started do not start, and running steps are asked to stop and may save their
state first. A running apply is never interrupted.

Canceling rejects the changes of the workflow: they are not planned again until something changes, or
a person deploys them.`,
		ValidArgsFunction: complete.Args(e, complete.RunningWorkflows),
		PreRunE:           func(*cobra.Command, []string) error { return follow.Check() },
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			w, err := Find(ctx, client, args[0])
			if err != nil {
				return err
			}
			if w, err = apiclient.Decode[api.Workflow](client.CancelWorkflow(ctx, w.ID,
				api.Reason{Reason: reason})); err != nil {
				return err
			}
			if follow.Wait {
				if w, err = follow.over(ctx, e.Console, client, w.ID); err != nil {
					return err
				}
			}
			return e.Console.Result(w, func(out io.Writer) error { return Show(out, w) })
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, shown to everyone who views the install")
	follow.Flags(c, "wait until the workflow ends")
	return c
}

func newWatch(e *cmdenv.Env) *cobra.Command {
	f := WaitOptions{Wait: true}
	c := &cobra.Command{
		Use:   "watch WORKFLOW|latest:INSTALL",
		Short: "Follow a workflow until it ends or waits for approval",
		Args:  cobra.ExactArgs(1),
		Long: `Follow a workflow until it ends, or until it waits for approval.

Exit codes: 0 succeeded, 1 failed, 3 waiting for an approval, 4 rejected.`,
		ValidArgsFunction: complete.Args(e, complete.Workflows),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			w, err := Find(ctx, client, args[0])
			if err != nil {
				return err
			}
			return f.End(ctx, e.Console, client, w, func(w api.Workflow) any { return w })
		}),
	}
	c.Flags().DurationVar(&f.Timeout, "timeout", 0, "maximum time to wait (default: no limit)")
	return c
}

// ExitError returns the exit code for the status of a workflow.
func ExitError(w api.Workflow) error {
	switch {
	case w.Status == api.WorkflowStatusSucceeded:
		return nil
	case w.Status == api.WorkflowStatusRunning:
		return exitcode.With(exitcode.Waiting, errors.New("waiting for an approval; review it with `nuon review`"))
	case isRejected(w):
		return exitcode.With(exitcode.Rejected, fmt.Errorf("rejected: %s", w.Outcome))
	}
	return exitcode.With(exitcode.Failed, fmt.Errorf("workflow %s %s: %s", w.ID, w.Status, w.Outcome))
}

// isRejected reports whether a person rejected a plan or a script of a workflow.
func isRejected(w api.Workflow) bool {
	for _, s := range w.Steps {
		if s.RejectedBy != "" {
			return true
		}
	}
	return false
}
