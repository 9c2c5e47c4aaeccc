package approvals

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file implements `nuon approve --workflow`, with which an approver approves all
// plans of one workflow until it ends.

func (a *answerOptions) wholeFlags(c *cobra.Command) {
	c.Flags().StringVar(&a.workflow, "workflow", "",
		"approve everything that this workflow plans until it ends (ID, or an install for its running workflow)")
	c.Flags().BoolVar(&a.revoke, "revoke", false, "with --workflow: withdraw the approval")
	complete.Flag(a.env, c, "workflow", complete.RunningWorkflows)
}

// approveWorkflow approves a workflow as a whole, or revokes that approval.
func (a *answerOptions) approveWorkflow(ctx context.Context, args []string) error {
	if len(args) > 0 || a.all || a.alike || a.digest != "" || a.install != "" {
		return exitcode.Usagef("--workflow approves a whole workflow: remove plans, --all, --alike, --digest and " +
			"--install")
	}
	client, err := a.env.Client()
	if err != nil {
		return err
	}
	w, err := findRunning(ctx, client, a.workflow)
	if err != nil {
		return err
	}
	if a.revoke {
		w, err = apiclient.Decode[api.Workflow](client.RevokeWorkflowRule(ctx, w.ID))
		if err != nil {
			return err
		}
		return a.showWhole(w, "withdrawn: plans of %s need approval again\n", review.NameOf(w))
	}
	if err := a.agreeWhole(ctx, client, w); err != nil {
		return err
	}
	if w, err = apiclient.Decode[api.Workflow](client.SetWorkflowRule(ctx, w.ID,
		api.Reason{Reason: a.reason})); err != nil {
		return err
	}
	return a.showWhole(w, "%s\n", review.WorkflowApprovalText(w))
}

func (a *answerOptions) showWhole(w api.Workflow, format string, args ...any) error {
	if a.env.Console.Output == "name" {
		return a.env.Console.List(w, nil, [][]string{{w.ID}})
	}
	return a.env.Console.Result(w, func(out io.Writer) error {
		_, err := fmt.Fprintf(out, format, args...)
		return err
	})
}

// findRunning returns a workflow by its id, or the one that runs on an install and can
// be approved as a whole.
func findRunning(ctx context.Context, client *apiclient.Client, name string) (api.Workflow, error) {
	if strings.HasPrefix(name, "wfl_") {
		return apiclient.Decode[api.Workflow](client.GetWorkflow(ctx, name))
	}
	install := strings.TrimPrefix(name, "latest:")
	running, err := apiclient.ListAll(func(cursor string) ([]api.Workflow, string, error) {
		l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx, &api.ListWorkflowsParams{
			Install: install, Status: string(api.WorkflowStatusRunning), Cursor: cursor,
		}))
		return l.Items, l.Next, err
	})
	if err != nil {
		return api.Workflow{}, err
	}
	running = slices.DeleteFunc(running, func(w api.Workflow) bool {
		return !review.IsWorkflowApprovable(w)
	})
	switch len(running) {
	case 0:
		return api.Workflow{}, fmt.Errorf("no provision or deploy is running on %s; list its workflows with "+
			"`nuon workflows list --install %[1]s`", install)
	case 1:
		return running[0], nil
	}
	var ids []string
	for _, w := range running {
		ids = append(ids, w.ID)
	}
	return api.Workflow{}, exitcode.Usagef("%d workflows are running on %s: name one of %s",
		len(running), install, strings.Join(ids, ", "))
}

// agreeWhole displays what the approval covers and asks for confirmation. Without a
// terminal it accepts only the id of a workflow.
func (a *answerOptions) agreeWhole(ctx context.Context, client *apiclient.Client, w api.Workflow) error {
	c, what := a.env.Console, "this approves everything that "+review.NameOf(w)+" plans until it ends"
	if !c.Asks() {
		if a.workflow == w.ID {
			return nil
		}
		command := "nuon approve --workflow " + w.ID
		if a.reason != "" {
			command += fmt.Sprintf(" --reason %q", a.reason)
		}
		return exitcode.Usagef("%s, which needs a terminal; without one, review it with `nuon workflows get %s`, "+
			"then run: %s",
			what, w.ID, command)
	}
	c.Messagef("%s   (%s)", review.NameOf(w), w.ID)
	c.Messagef("%s", c.Wrap("  because "+console.Line(w.Reason), 2))
	waits, err := listWaiting(ctx, client, api.ListApprovalsParams{Install: w.InstallID, Brief: true})
	if err != nil {
		return err
	}
	for _, t := range waits {
		if t.Workflow != w.ID {
			continue
		}
		if t, err = whole(ctx, client, t); err != nil {
			return err
		}
		report, err := review.ReportOf(t)
		if err != nil {
			return err
		}
		how := "  approves now: %s: %s"
		if !review.IsCovered(t) {
			how = "  still needs approval: %s: %s"
		}
		c.Messagef(how, console.Line(review.Subject(t)), effect(t, report))
	}
	if next := review.Unplanned(w); len(next) > 0 {
		c.Messagef("%s", c.Wrap("  approves once planned: "+console.Line(strings.Join(next, ", ")), 2))
	}
	c.Messagef("%s", c.Wrap("  never approves "+review.NotCoveredText(console.Line(w.Install)), 2))
	return c.Confirm(ctx, what, false)
}
