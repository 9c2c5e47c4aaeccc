package workflow

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Request is a workflow to be started.
type Request struct {
	Install     string // id; its row must be locked by the caller's transaction
	Kind        Kind
	Reason      string            // why there is this workflow, as a sentence
	RequestedBy string            // a person's name; empty: nuon itself
	Release     int32             // number of the release that it is started for; 0 for none
	Parts       []Part            // what it is about; not of an action run
	Around      Around            // the actions around the parts
	Components  map[string]string // install component id of each part
	Redeploy    []string          // parts that are planned also when they are as they are wanted
	PlanOnly    bool              // it plans and shows, and neither asks nor applies
	Supposed    Supposed          // with PlanOnly: what the install is taken to want
	Restore     Restore           // of a restore
	Act         Act               // of an action run
	Of          string            // of an action run: the component that it is about, when it repeats a run that was about one
	Env         map[string]string // of an action run
	Inputs      map[string]string // of an action run: values of the action's inputs
	Trace       string            // W3C traceparent of what led to it; empty for none
}

// Start makes a workflow and asks for its first step. It refuses, with a *Conflict, to work on a component that another running
// workflow of the install is at work on.
func Start(ctx context.Context, tx *store.Tx, r Request) (workflowID string, err error) {
	steps, err := r.Steps(func() string { return id.New("stp") })
	if err != nil {
		return "", err
	}
	if err := free(ctx, tx, r); err != nil {
		return "", err
	}
	request, err := encode(r.asked())
	if err != nil {
		return "", err
	}
	workflowID, by := id.New("wfl"), sentence(r.RequestedBy, itself)
	ctx, span := telemetry.Begin(telemetry.Extract(ctx, r.Trace), "rollout",
		slog.String("org", tx.Org), slog.String("install", r.Install), slog.String("workflow", workflowID), slog.String("kind", string(r.Kind)))
	defer func() { span.End(err) }()
	number, err := tx.AddWorkflow(ctx, store.AddWorkflowParams{
		OrgID: tx.Org, ID: workflowID, InstallID: r.Install, Kind: string(r.Kind), Reason: r.Reason, RequestedBy: by, Request: request,
		PlanOnly: r.PlanOnly, Release: r.Release, Trace: telemetry.Inject(ctx),
	})
	if err != nil {
		return "", fmt.Errorf("add a workflow to install %s: %w", r.Install, err)
	}
	if err := r.addSteps(ctx, tx, workflowID, steps); err != nil {
		return "", fmt.Errorf("add its steps: %w", err)
	}
	detail := map[string]any{"kind": r.Kind, "number": number, "install": r.Install, "reason": r.Reason, "plan_only": r.PlanOnly}
	if err := tx.Audit(ctx, by, "workflow.start", workflowID, detail); err != nil {
		return "", err
	}
	ask := tx.Enqueue
	if r.RequestedBy == "" { // a new release starts one on every install, and people's come first
		ask = tx.EnqueueLast
	}
	if err := ask(ctx, queue.Advance{Org: tx.Org, Workflow: workflowID}); err != nil {
		return "", err
	}
	return workflowID, tx.Notify(ctx, store.ChannelWorkflows, tx.Org+"/"+workflowID)
}

// Steps are the workflow's steps as they are composed, with ids of the caller's making.
func (r Request) Steps(newID func() string) (steps []*Step, err error) {
	switch {
	case r.Kind == KindAction:
		return ComposeAction(r.Act, r.Of, r.Reason, newID), nil
	case r.PlanOnly:
		steps, err = ComposePlans(r.Kind, r.Parts, newID)
	default:
		steps, err = Compose(r.Kind, r.Parts, r.Around, newID)
	}
	if err != nil {
		return nil, fmt.Errorf("compose the %s of install %s: %w", r.Kind, r.Install, err)
	}
	return steps, nil
}

func (r Request) asked() Asked {
	asked := Asked{Env: r.Env, Inputs: r.Inputs, Restore: r.Restore, Redeploy: r.Redeploy}
	if r.PlanOnly {
		asked.Supposed = &r.Supposed
	}
	return asked
}

// addSteps adds all steps of a workflow in one statement.
func (r Request) addSteps(ctx context.Context, tx *store.Tx, workflowID string, steps []*Step) error {
	add := store.AddStepsParams{OrgID: tx.Org, WorkflowID: workflowID}
	for i, s := range steps {
		needs := s.Needs
		if needs == nil {
			needs = []string{}
		}
		raw, err := encode(needs)
		if err != nil {
			return err
		}
		component, known := r.Components[s.Component]
		switch {
		case s.Kind == StepAction:
			component = "" // it is no component's
		case !known:
			return fmt.Errorf("component %s has no place on the install", s.Component)
		}
		add.Ids, add.Positions, add.Kinds = append(add.Ids, s.ID), append(add.Positions, int32(i)), append(add.Kinds, string(s.Kind)) //nolint:gosec // bounded by the app's size
		add.Components, add.Actions, add.Triggers = append(add.Components, s.Component), append(add.Actions, s.Action), append(add.Triggers, s.Trigger)
		add.Destroys, add.Needs, add.Reasons = append(add.Destroys, s.Destroy), append(add.Needs, string(raw)), append(add.Reasons, s.Reason)
		add.InstallComponents = append(add.InstallComponents, component)
	}
	return tx.AddSteps(ctx, add)
}

// free sees to it that no two workflows of an install touch one component.
func free(ctx context.Context, tx *store.Tx, r Request) error {
	components := []string{r.Of}
	for _, p := range r.Parts {
		components = append(components, p.Component)
	}
	return unoccupied(ctx, tx, r.Install, "", components)
}

// unoccupied refuses, with a *Conflict, components that a running workflow of an install other than one's own is at work on.
func unoccupied(ctx context.Context, tx *store.Tx, install, own string, components []string) error {
	busy, err := tx.BusyComponents(ctx, tx.Org, install)
	if err != nil {
		return err
	}
	for _, b := range busy {
		if b.ID != own && slices.Contains(components, b.Component) {
			return conflict(CodeBusy, "Wait for it, or cancel it (nuon workflows cancel).", "workflow %d (%s) is at work on %s", b.Number, b.Kind, b.Component)
		}
	}
	return nil
}
