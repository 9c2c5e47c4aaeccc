package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
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
	View        *View             // the install, so that the workflow begins at once; nil to have the queue begin it
}

// View is an install as it was read and resolved under its lock, in the transaction that starts a workflow on it.
type View struct {
	Install  store.Install
	Resolved Resolved
}

// Start makes a workflow. With a View its first jobs are queued at once, else it asks for that. It refuses, with a *Conflict, to work on a
// component that another running workflow of the install is at work on.
func Start(ctx context.Context, tx *store.Tx, r Request) (workflowID string, err error) {
	ids, err := StartAll(ctx, tx, []Request{r})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// StartAll is Start for any number of workflows, of any number of installs, with as many statements as for one. It returns their ids, in
// order.
func StartAll(ctx context.Context, tx *store.Tx, requests []Request) (ids []string, err error) {
	if len(requests) == 0 {
		return nil, nil
	}
	if err := free(ctx, tx, requests); err != nil {
		return nil, err
	}
	var all []*starting
	defer func() {
		for _, w := range all {
			w.span.End(err)
		}
	}()
	for _, r := range requests {
		w, err := r.starting(ctx, tx.Org)
		if err != nil {
			return nil, err
		}
		all, ids = append(all, w), append(ids, w.id)
	}
	writes := []func(context.Context, *store.Tx, []*starting) error{addWorkflows, addJobs, addSteps, askForSteps}
	for _, write := range writes {
		if err := write(ctx, tx, all); err != nil {
			return nil, fmt.Errorf("start %s of %d installs: %w", requests[0].Kind, len(requests), err)
		}
	}
	watched := make([]string, 0, len(ids))
	for _, workflowID := range ids {
		watched = append(watched, tx.Org+"/"+workflowID)
	}
	return ids, tx.Notify(ctx, store.ChannelWorkflows, watched...)
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

// starting is a workflow that is being made.
type starting struct {
	Request
	id, by  string
	request json.RawMessage
	trace   string
	steps   []*Step
	begun   map[string]*firstJob // the jobs with which it begins, by step
	queued  bool                 // the queue takes it on
	span    *telemetry.Span
}

// firstJob is the job of a step with which a workflow begins.
type firstJob struct {
	job    dispatch.NewJob
	id     string
	target []byte
}

// none reports whether the step is a sync that its plan does.
func (j *firstJob) none() bool { return j != nil && j.job.Spec.Kind == "" }

// starting composes a workflow, and takes it as far as it goes.
func (r Request) starting(ctx context.Context, org string) (*starting, error) {
	w := &starting{Request: r, id: id.New("wfl"), by: sentence(r.RequestedBy, itself)}
	var err error
	if w.steps, err = r.Steps(func() string { return id.New("stp") }); err != nil {
		return nil, err
	}
	for _, s := range w.steps {
		if _, known := r.Components[s.Component]; s.Kind != StepAction && !known {
			return nil, fmt.Errorf("component %s has no place on install %s", s.Component, r.Install)
		}
	}
	if w.request, err = encode(r.asked()); err != nil {
		return nil, err
	}
	ctx, w.span = telemetry.Begin(telemetry.Extract(ctx, r.Trace), "rollout",
		slog.String("org", org), slog.String("install", r.Install), slog.String("workflow", w.id), slog.String("kind", string(r.Kind)))
	w.trace = telemetry.Inject(ctx)
	w.queued = !w.advance(ctx)
	return w, nil
}

// advance takes a new workflow as far as it goes with what was read to start it. It changes nothing, and reports false, where that is more
// than to begin syncs and plans and to note why others wait.
func (w *starting) advance(ctx context.Context) bool {
	if w.View == nil {
		return false
	}
	f, jobs := w.flow(), map[string]*firstJob{}
	for range mostRounds {
		todo := Advance(f.graph)
		if len(todo) == 0 {
			w.steps, w.begun = f.graph.Steps, jobs
			return true
		}
		for _, c := range todo {
			switch c := c.(type) {
			case Begin:
				s := f.graph.step(c.Step)
				if s.Kind != StepSync && s.Kind != StepPlan {
					return false
				}
				job, target, err := f.job(ctx, s, c.Reason)
				if err != nil { // whoever the queue gives it to ends the step or tries again, without the other installs
					return false
				}
				jobs[s.ID] = &firstJob{job: job, target: target}
				f.graph.Apply(c)
				if jobs[s.ID].none() {
					s.Job.Status, s.Job.WithPlan = JobSucceeded, true
				}
			case Set:
				if c.To != StepPending && !jobs[c.Step].none() {
					return false
				}
				f.graph.Apply(c)
			default:
				return false
			}
		}
	}
	return false
}

// flow is the workflow as it is before its first step begins.
func (w *starting) flow() *flow {
	f := &flow{
		install: w.View.Install, asked: w.asked(), world: w.View.Resolved, rows: map[string]store.Step{},
		row: store.Workflow{
			ID: w.id, InstallID: w.Install, Kind: string(w.Kind), Reason: w.Reason, RequestedBy: w.by, Trace: w.trace,
		},
	}
	f.graph = &Graph{
		Kind: w.Kind, PlanOnly: w.PlanOnly, Status: Running, Rule: ruleOf(f.install), Wants: f.world.Wants(),
	}
	f.asked.redo(f.graph.Wants, w.by)
	for _, s := range w.steps {
		own, component := *s, w.Components[s.Component]
		f.graph.Steps, f.rows[s.ID] = append(f.graph.Steps, &own), store.Step{ID: s.ID, InstallComponentID: &component}
	}
	return f
}

// addWorkflows adds the rows of workflows, and the audit of them.
func addWorkflows(ctx context.Context, tx *store.Tx, all []*starting) error {
	add, nth, byID := store.AddWorkflowsParams{OrgID: tx.Org}, map[string]int32{}, map[string]*starting{}
	for _, w := range all {
		nth[w.Install]++
		byID[w.id] = w
		add.Ids, add.InstallIds = append(add.Ids, w.id), append(add.InstallIds, w.Install)
		add.Nth, add.Kinds = append(add.Nth, nth[w.Install]), append(add.Kinds, string(w.Kind))
		add.Reasons, add.RequestedBy = append(add.Reasons, w.Reason), append(add.RequestedBy, w.by)
		add.Requests, add.PlanOnly = append(add.Requests, string(w.request)), append(add.PlanOnly, w.PlanOnly)
		add.Releases, add.Traces = append(add.Releases, w.Release), append(add.Traces, w.trace)
	}
	numbers, err := tx.AddWorkflows(ctx, add)
	if err != nil {
		return err
	}
	events := make([]store.Event, 0, len(numbers))
	for _, row := range numbers {
		w := byID[row.ID]
		events = append(events, store.Event{Actor: w.by, Subject: w.id, Detail: map[string]any{
			"kind": w.Kind, "number": row.Number, "install": w.Install, "reason": w.Reason, "plan_only": w.PlanOnly,
		}})
	}
	return tx.AuditAll(ctx, "workflow.start", events)
}

// addJobs queues the jobs with which workflows begin.
func addJobs(ctx context.Context, tx *store.Tx, all []*starting) error {
	var jobs []dispatch.NewJob
	var of []*firstJob
	for _, w := range all {
		for _, s := range w.steps {
			if b := w.begun[s.ID]; b != nil && !b.none() {
				jobs, of = append(jobs, b.job), append(of, b)
			}
		}
	}
	ids, err := dispatch.EnqueueAll(ctx, tx, jobs)
	for i, jobID := range ids {
		of[i].id = jobID
	}
	return err
}

// addSteps adds all steps of workflows.
func addSteps(ctx context.Context, tx *store.Tx, all []*starting) error {
	add := store.AddStepsParams{OrgID: tx.Org}
	for _, w := range all {
		for i, s := range w.steps {
			needs, err := encode(append([]string{}, s.Needs...))
			if err != nil {
				return err
			}
			component, job, target := w.Components[s.Component], "", ""
			if s.Kind == StepAction {
				component = "" // it is no component's
			}
			if b := w.begun[s.ID]; b != nil {
				job, target = b.id, string(b.target)
			}
			add.WorkflowIds, add.Ids = append(add.WorkflowIds, w.id), append(add.Ids, s.ID)
			add.Positions = append(add.Positions, int32(i)) //nolint:gosec // bounded by the app's size
			add.Kinds, add.Components = append(add.Kinds, string(s.Kind)), append(add.Components, s.Component)
			add.InstallComponents = append(add.InstallComponents, component)
			add.Actions, add.Triggers = append(add.Actions, s.Action), append(add.Triggers, s.Trigger)
			add.Destroys, add.Needs = append(add.Destroys, s.Destroy), append(add.Needs, string(needs))
			add.Statuses = append(add.Statuses, string(s.Status))
			add.Reasons, add.Tries = append(add.Reasons, s.Reason), append(add.Tries, int32(s.Tries)) //nolint:gosec // 0 or 1
			add.JobIds, add.Targets = append(add.JobIds, job), append(add.Targets, target)
		}
	}
	return tx.AddSteps(ctx, add)
}

// askForSteps asks the queue for the first steps of workflows that have not begun. What no person asked for comes last: a new release
// starts one on every install.
func askForSteps(ctx context.Context, tx *store.Tx, all []*starting) error {
	var first, last []river.JobArgs
	for _, w := range all {
		switch ask := (queue.Advance{Org: tx.Org, Workflow: w.id}); {
		case w.queued && w.RequestedBy == "":
			last = append(last, ask)
		case w.queued:
			first = append(first, ask)
		}
	}
	if err := tx.Enqueue(ctx, first...); err != nil {
		return err
	}
	return tx.EnqueueLast(ctx, last...)
}

// free sees to it that no two workflows of an install touch one component.
func free(ctx context.Context, tx *store.Tx, requests []Request) error {
	type place struct{ install, component string }
	wanted, installs := map[place]bool{}, make([]string, 0, len(requests))
	for _, r := range requests {
		installs = append(installs, r.Install)
		wanted[place{r.Install, r.Of}] = true
		for _, p := range r.Parts {
			at := place{r.Install, p.Component}
			if wanted[at] {
				return fmt.Errorf("two workflows are to be started for %s of install %s", p.Component, r.Install)
			}
			wanted[at] = true
		}
	}
	busy, err := tx.BusyComponents(ctx, tx.Org, installs)
	if err != nil {
		return err
	}
	for _, b := range busy {
		if wanted[place{b.InstallID, b.Component}] {
			return busyWith(b)
		}
	}
	return nil
}

// unoccupied refuses, with a *Conflict, components that a running workflow of an install other than one's own is at work on.
func unoccupied(ctx context.Context, tx *store.Tx, install, own string, components []string) error {
	busy, err := tx.BusyComponents(ctx, tx.Org, []string{install})
	if err != nil {
		return err
	}
	for _, b := range busy {
		if b.ID != own && slices.Contains(components, b.Component) {
			return busyWith(b)
		}
	}
	return nil
}

func busyWith(b store.BusyComponentsRow) error {
	return conflict(CodeBusy, "Wait for it, or cancel it (nuon workflows cancel).", "workflow %d (%s) is at work on %s", b.Number, b.Kind, b.Component)
}
