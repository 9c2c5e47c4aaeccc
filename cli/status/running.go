package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// running is the work under way, which `nuon status --watch` shows on a terminal: the newest workflows of some installs
// with their steps, and the number of the other installs whose newest workflow runs.
type running struct {
	workflows []api.Workflow
	more      int
}

// The number of workflows that are shown, and the maximum number of rows for the steps of each.
const (
	shownWorkflows = 3
	shownSteps     = 6
)

// running reads the workflows that run. Those in which only a plan waits for an approval come last, because they are
// action items, too.
func (s snapshot) running(ctx context.Context, client *apiclient.Client) (running, error) {
	var busy []api.InstallSummary
	for _, i := range s.installs {
		if i.LastWorkflow.Status == string(api.WorkflowStatusRunning) {
			busy = append(busy, i)
		}
	}
	waits := func(i api.InstallSummary) int {
		if i.Status == api.InstallSummaryStatusWaitingForApproval {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(busy, func(a, b api.InstallSummary) int {
		return cmp.Or(cmp.Compare(waits(a), waits(b)), b.LastWorkflow.CreatedAt.Compare(a.LastWorkflow.CreatedAt))
	})
	now := running{more: max(len(busy)-shownWorkflows, 0)}
	for _, i := range busy[:len(busy)-now.more] {
		w, err := apiclient.Decode[api.Workflow](client.GetWorkflow(ctx, i.LastWorkflow.ID))
		switch {
		case apiclient.CodeIs(err, "not_found"): // the install was forgotten in the meantime
			continue
		case err != nil:
			return running{}, err
		case w.Status == api.WorkflowStatusRunning:
			now.workflows = append(now.workflows, w)
		}
	}
	return now, nil
}

// print prints the steps of each workflow as a short tree.
func (r running) print(w io.Writer, now time.Time) error {
	for _, one := range r.workflows {
		text := console.Line(fmt.Sprintf("%s %d of %s/%s, running for %s:", one.Kind, one.Number, one.App, one.Install,
			age(now.Sub(one.CreatedAt))))
		if _, err := fmt.Fprintf(w, "\n%s\n%s", text,
			progress.Text(workflows.ShortTree(one), shownSteps, now)); err != nil {
			return err
		}
	}
	if r.more == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s: nuon workflows list --status running\n",
		diff.Plural(r.more, "more workflow runs", "more workflows run"))
	return err
}

// continues prints, after Ctrl-C, what continues and how to return.
func (r running) continues(c *console.Console, o options) {
	if len(r.workflows) == 0 {
		return
	}
	again := "nuon status --watch"
	if o.app != "" {
		again += " --app " + console.ShellWord(o.app)
	}
	first := r.workflows[0]
	what := workflows.Continues(first.ID, first)
	follow := progress.Next{Command: console.CommandLine("nuon", "workflows", "watch", first.ID), To: "follow it"}
	if others := len(r.workflows) - 1 + r.more; others > 0 {
		what += "; " + diff.Plural(others, "other workflow continues", "other workflows continue")
		follow = progress.Next{Command: "nuon workflows list --status running", To: "list them"}
	}
	progress.Continues(c, "watching", what, progress.Next{Command: again, To: "watch again"}, follow)
}
