// Package workflows is `nuon workflows`: what is done to installs, step by step, and waiting for it.
package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New is the command with its verbs.
func New(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "workflows", Short: "What is done to installs, step by step"}
	c.AddCommand(newList(e), newGet(e), newWatch(e), newCancel(e))
	return c
}

// statuses are how a workflow can stand.
var statuses = []string{"running", "succeeded", "failed", "cancelled", "superseded"}

func newList(e *env.Env) *cobra.Command {
	var p api.ListWorkflowsParams
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List workflows, the newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if p.Status != "" && !slices.Contains(statuses, p.Status) {
				return exit.Usagef("--status %s: use one of %s", p.Status, strings.Join(statuses, ", "))
			}
			if p.Limit < 1 {
				return exit.Usagef("--limit %d: use a number from 1 up", p.Limit)
			}
			client, err := e.Client()
			if err != nil {
				return err
			}
			l, err := remote.Get[api.WorkflowList](client.ListWorkflows(c.Context(), &p))
			if err != nil {
				return err
			}
			var rows [][]string
			for _, w := range l.Items {
				rows = append(rows, []string{w.ID, w.App + "/" + w.Install, string(w.Kind), string(w.Status), why(w)})
			}
			return e.Console.List(l.Items, []string{"ID", "INSTALL", "KIND", "STATUS", "WHY"}, rows)
		},
	}
	c.Flags().StringVar(&p.Install, "install", "", "only this install")
	c.Flags().StringVar(&p.Status, "status", "", "only those that are "+strings.Join(statuses, ", "))
	c.Flags().IntVar(&p.Limit, "limit", 20, "most workflows to list")
	return c
}

func why(w api.Workflow) string {
	if w.Outcome != "" {
		return w.Outcome
	}
	return w.Reason
}

func newGet(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "get WORKFLOW|latest:INSTALL", Short: "Show one workflow with its steps", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			w, err := Find(ctx, client, args[0])
			if err != nil {
				return err
			}
			return e.Console.Result(w, func(out io.Writer) error { return Show(out, w) })
		}),
	}
}

// Find gives a workflow by its id, or the newest of an install as latest:INSTALL.
func Find(ctx context.Context, client *remote.Client, name string) (api.Workflow, error) {
	install, latest := strings.CutPrefix(name, "latest:")
	if !latest {
		return remote.Get[api.Workflow](client.GetWorkflow(ctx, name))
	}
	if install == "" {
		return api.Workflow{}, exit.Usagef("say whose newest workflow it is: latest:INSTALL")
	}
	l, err := remote.Get[api.WorkflowList](client.ListWorkflows(ctx, &api.ListWorkflowsParams{Install: install, Limit: 1}))
	if err != nil {
		return api.Workflow{}, err
	}
	if len(l.Items) == 0 {
		return api.Workflow{}, fmt.Errorf("install %[1]s has had no workflow yet: `nuon installs get %[1]s` says what it waits for", install)
	}
	return l.Items[0], nil
}

// Show prints a workflow for people.
func Show(out io.Writer, w api.Workflow) error {
	fmt.Fprintf(out, "%s %d of %s/%s (%s): %s\n  %s\n", w.Kind, w.Number, w.App, w.Install, w.ID, w.Status, console.Line(why(w)))
	said := map[string]bool{}
	for _, s := range w.Steps {
		reason := s.Reason
		if s.Status == api.StepStatusSkipped && said[name(s)+reason] {
			reason = "" // what a group was skipped for is said once
		}
		said[name(s)+reason] = true
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %s %-8s %-16s %-10s %s", mark(s.Status), s.Kind, name(s), s.Status, console.Line(reason)), " "))
	}
	return nil
}

func name(s api.Step) string {
	if s.Action != "" {
		return s.Action
	}
	return s.Component
}

func mark(s api.StepStatus) string {
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

func newCancel(e *env.Env) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "cancel WORKFLOW", Short: "Stop a workflow as soon as that is safe", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			w, err := remote.Get[api.Workflow](client.CancelWorkflow(ctx, args[0], api.Reason{Reason: reason}))
			if err != nil {
				return err
			}
			return e.Console.Result(w, func(out io.Writer) error { return Show(out, w) })
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why; shown to everybody who looks")
	return c
}

func newWatch(e *env.Env) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "watch WORKFLOW|latest:INSTALL", Short: "Follow a workflow until it ends or waits for a person", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			w, err := Find(ctx, client, args[0])
			if err != nil {
				return err
			}
			w, err = Wait(ctx, e.Console, client, w.ID, timeout)
			if err != nil {
				return err
			}
			if err := e.Console.Result(w, func(out io.Writer) error { return Show(out, w) }); err != nil {
				return err
			}
			return Verdict(w)
		}),
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "stop waiting after this long (default: never)")
	return c
}

// Wait follows a workflow until it has ended, or until nothing in it can go on without a person. A terminal shows the steps as
// they change.
func Wait(ctx context.Context, c *console.Console, client *remote.Client, id string, timeout time.Duration) (api.Workflow, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("workflow %s has not ended within %s; it goes on", id, timeout))
		defer cancel()
	}
	view := progress.Start(c)
	defer view.Stop()
	var last api.Workflow
	err := remote.Follow(ctx, func(lastID string) (*http.Response, error) {
		return client.StreamWorkflow(ctx, id, &api.StreamWorkflowParams{LastEventID: lastID})
	}, func(ev remote.Event) (bool, error) {
		if ev.Name != "workflow" {
			return false, nil
		}
		if err := json.Unmarshal(ev.Data, &last); err != nil {
			return true, fmt.Errorf("read workflow %s: %w", id, err)
		}
		view.Show(lines(last))
		return last.Status != api.WorkflowStatusRunning || NeedsPerson(last), nil
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return last, exit.With(exit.Failed, context.Cause(ctx))
	}
	return last, err
}

// lines are the steps as a person who waits sees them.
func lines(w api.Workflow) []progress.Line {
	var out []progress.Line
	for _, s := range w.Steps {
		out = append(out, progress.Line{
			Mark: mark(s.Status), Busy: s.Status == api.StepStatusRunning,
			Text: fmt.Sprintf("%-8s %-16s %-10s %s", s.Kind, name(s), s.Status, s.Reason),
		})
	}
	return out
}

// NeedsPerson says that a step waits for an approval and no other can go on without it.
func NeedsPerson(w api.Workflow) bool {
	waiting := false
	for _, s := range w.Steps {
		switch s.Status {
		case api.StepStatusRunning:
			return false
		case api.StepStatusWaiting:
			waiting = true
		}
	}
	return waiting
}

// Verdict turns how a workflow stands into the exit code that scripts read.
func Verdict(w api.Workflow) error {
	switch {
	case w.Status == api.WorkflowStatusSucceeded:
		return nil
	case w.Status == api.WorkflowStatusRunning:
		return exit.With(exit.Waiting, errors.New("waits for an approval: `nuon review` shows it"))
	case rejected(w):
		return exit.With(exit.Rejected, fmt.Errorf("rejected: %s", w.Outcome))
	}
	return exit.With(exit.Failed, fmt.Errorf("workflow %s %s: %s", w.ID, w.Status, w.Outcome))
}

func rejected(w api.Workflow) bool {
	for _, s := range w.Steps {
		if s.Kind == api.StepKindApprove && s.Status == api.StepStatusFailed {
			return true
		}
	}
	return false
}
