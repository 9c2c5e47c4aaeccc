package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Wait follows a workflow until it has ended, or until it can only continue after a
// person acts. A terminal shows the progress of the steps. A timeout of 0 waits for ever.
func Wait(ctx context.Context, c *console.Console, client *apiclient.Client, id string,
	timeout time.Duration) (api.Workflow, error) {
	return follow(ctx, c, client, id, timeout, func(w api.Workflow) bool {
		return w.Status != api.WorkflowStatusRunning || NeedsPerson(w)
	})
}

// WaitAfter is Wait after approvals were answered: a step that waits for one of them needs no person any more.
func WaitAfter(ctx context.Context, c *console.Console, client *apiclient.Client, id string, timeout time.Duration,
	answered func(approval string) bool) (api.Workflow, error) {
	return follow(ctx, c, client, id, timeout, func(w api.Workflow) bool {
		return w.Status != api.WorkflowStatusRunning || needsPerson(w, answered)
	})
}

// over follows a workflow until it has ended, even while a plan in it waits for a person.
func (f *WaitOptions) over(ctx context.Context, c *console.Console, client *apiclient.Client,
	id string) (api.Workflow, error) {
	return follow(ctx, c, client, id, f.Timeout, func(w api.Workflow) bool {
		return w.Status != api.WorkflowStatusRunning
	})
}

// follow follows a workflow until enough returns true.
func follow(ctx context.Context, c *console.Console, client *apiclient.Client, id string, timeout time.Duration,
	enough func(api.Workflow) bool) (api.Workflow, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout,
			fmt.Errorf("workflow %s did not end within %s; it continues, follow it with `nuon workflows watch %[1]s`",
				id, timeout))
		defer cancel()
	}
	view := progress.Start(c)
	defer view.Stop()
	var last api.Workflow
	err := apiclient.Follow(ctx, func(lastID string) (*http.Response, error) {
		return client.StreamWorkflow(ctx, id, &api.StreamWorkflowParams{LastEventID: lastID})
	}, func(ev apiclient.Event) (bool, error) {
		if ev.Name != "workflow" {
			return false, nil
		}
		if err := json.Unmarshal(ev.Data, &last); err != nil {
			return true, fmt.Errorf("read workflow %s: %w", id, err)
		}
		view.Show(ShortTree(last))
		return enough(last), nil
	})
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = exitcode.With(exitcode.Failed, context.Cause(ctx))
	case ctx.Err() != nil:
		err = view.StopWaiting(c, Continues(id, last),
			progress.Next{Command: "nuon workflows watch " + id, To: "wait again"},
			progress.Next{Command: "nuon workflows cancel " + id, To: "cancel it"})
	}
	return last, err
}

// Continues describes a workflow that still runs when the command stops waiting, and
// its running steps.
func Continues(id string, w api.Workflow) string {
	if w.ID == "" {
		return "workflow " + id + " continues"
	}
	var running []string
	for _, s := range w.Steps {
		if s.Status == api.StepStatusRunning {
			running = append(running, string(s.Kind)+" "+name(s))
		}
	}
	text := fmt.Sprintf("%s %d of %s/%s continues", w.Kind, w.Number, w.App, w.Install)
	if len(running) > 0 {
		text += " with " + strings.Join(running, ", ")
	}
	return text
}

// NeedsPerson reports whether a step waits for an approval and no other step runs.
func NeedsPerson(w api.Workflow) bool { return needsPerson(w, func(string) bool { return false }) }

// needsPerson is NeedsPerson when some approvals were answered, which their steps may not show yet.
func needsPerson(w api.Workflow, answered func(approval string) bool) bool {
	waiting := false
	for _, s := range w.Steps {
		switch s.Status {
		case api.StepStatusRunning:
			return false
		case api.StepStatusWaiting:
			if answered(s.Approval) {
				return false
			}
			waiting = true
		}
	}
	return waiting
}
