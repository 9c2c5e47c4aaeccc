package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// PlannedWorkflow is the output of --plan-only for programs: the workflow with its plans.
type PlannedWorkflow struct {
	Workflow api.Workflow `json:"workflow"`
	Plans    []api.Plan   `json:"plans"`
}

// planned waits for a workflow of --plan-only, prints what its plans would change, and
// returns the exit code.
func (a *RequestCommand) planned(ctx context.Context, client *apiclient.Client, w api.Workflow) error {
	w, err := a.follow.over(ctx, a.Env.Console, client, w.ID)
	if err != nil {
		return err
	}
	plans, err := plansOf(ctx, client, w)
	if err != nil {
		return err
	}
	err = a.Env.Console.Result(PlannedWorkflow{w, plans}, func(out io.Writer) error {
		return showPlans(out, a.Env.Console, w, plans)
	})
	if err != nil {
		return err
	}
	return ExitError(w)
}

// printWithPlans prints a workflow. For people, it adds what the plans would change if the
// workflow is plan-only.
func printWithPlans(ctx context.Context, c *console.Console, client *apiclient.Client, w api.Workflow) error {
	return c.Result(w, func(out io.Writer) error {
		if !w.PlanOnly {
			return Show(out, w)
		}
		plans, err := plansOf(ctx, client, w)
		if err != nil {
			return err
		}
		return showPlans(out, c, w, plans)
	})
}

// plansOf returns the plans that a workflow has made so far, in the order of its steps.
func plansOf(ctx context.Context, client *apiclient.Client, w api.Workflow) ([]api.Plan, error) {
	plans := []api.Plan{}
	for _, s := range w.Steps {
		if s.Kind != api.StepKindPlan || s.Plan == "" {
			continue
		}
		p, err := apiclient.Decode[api.Plan](client.GetPlan(ctx, s.Plan))
		if err != nil {
			return nil, fmt.Errorf("the plan of %s: %w", s.Component, err)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

func showPlans(out io.Writer, c *console.Console, w api.Workflow, plans []api.Plan) error {
	if err := Show(out, w); err != nil {
		return err
	}
	for _, p := range plans {
		if err := showPlan(out, c, p); err != nil {
			return err
		}
	}
	return nil
}

// showPlan prints what one plan would change.
func showPlan(out io.Writer, c *console.Console, p api.Plan) error {
	verb := "deploy"
	if p.Destroy {
		verb = "DESTROY"
	}
	if _, err := fmt.Fprintf(out, "\n%s %s on %s/%s   (%s)\n%s\n\n",
		verb, console.Line(p.Component), p.App, p.Install, p.ID, c.Wrap(console.Line(p.Reason), 0)); err != nil {
		return err
	}
	var report diff.Report
	if err := json.Unmarshal(p.Report, &report); err != nil {
		return fmt.Errorf("read the report of plan %s: %w", p.ID, err)
	}
	if err := report.Validate(); err != nil {
		return fmt.Errorf("the report of plan %s is inconsistent: %w", p.ID, err)
	}
	width := 0
	if c.OutIsTerminal {
		width = c.Width
	}
	return terminal.Render(out, &report, terminal.Options{Color: c.Color, Width: width})
}
