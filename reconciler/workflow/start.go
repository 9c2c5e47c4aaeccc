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
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Request describes a workflow to start.
type Request struct {
	Install     string // id; its row must be locked by the caller's transaction
	Kind        Kind
	Reason      string            // why the workflow is started, as a sentence
	RequestedBy string            // a person's name; empty for nuon itself
	Release     int32             // number of the release that it deploys; 0 for none
	Parts       []ComponentPart   // its components; none for an action run
	Actions     WorkflowActions   // the actions around the parts
	Components  map[string]string // install component id of each part
	Redeploy    []string          // parts that are planned even if they are up to date
	PlanOnly    bool              // it only plans and shows, without approvals or applies
	Assumptions Assumptions       // with PlanOnly: the assumed desired state
	Restore     Restore           // of a restore
	Action      TriggeredAction   // of an action run
	OfComponent string            // of an action run: the component of the run that it repeats, if any
	Env         map[string]string // of an action run
	Inputs      map[string]string // of an action run: values of its inputs
	Role        string            // of an action run: the role that the requester chose; empty for none
	Trace       string            // W3C traceparent of its cause; empty for none
	Locked      *LockedInstall    // the install, so that the workflow starts at once; if nil, the queue starts it
}

// LockedInstall is an install as it was read and resolved under its lock, in the transaction
// that starts a workflow on it.
type LockedInstall struct {
	Install  store.Install
	Resolved ResolvedInstall
}

// Start creates a workflow. With a LockedInstall its first jobs are queued at once, otherwise
// a queue task advances it. It returns a *refusal.Error if another running workflow of the
// install is changing one of the components.
func Start(ctx context.Context, tx *store.Tx, r Request) (workflowID string, err error) {
	ids, err := StartAll(ctx, tx, []Request{r})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// StartAll is Start for any number of workflows on any number of installs, with as
// many statements as for one. It returns their ids, in order.
func StartAll(ctx context.Context, tx *store.Tx, requests []Request) (ids []string, err error) {
	if len(requests) == 0 {
		return nil, nil
	}
	if err := checkRequestsDisjoint(ctx, tx, requests); err != nil {
		return nil, err
	}
	var all []*pendingWorkflow
	defer func() {
		for _, w := range all {
			w.span.End(err)
		}
	}()
	for _, r := range requests {
		w, err := r.prepare(ctx, tx.Org)
		if err != nil {
			return nil, err
		}
		all, ids = append(all, w), append(ids, w.id)
	}
	writes := []func(context.Context, *store.Tx, []*pendingWorkflow) error{addWorkflows, addJobs, addSteps, enqueueAdvance}
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

// Steps returns the steps of the workflow as composed, with ids from newID.
func (r Request) Steps(newID func() string) (steps []*Step, err error) {
	switch {
	case r.Kind == KindAction:
		return ComposeAction(r.Action, r.OfComponent, r.Reason, newID), nil
	case r.PlanOnly:
		steps, err = ComposePlans(r.Kind, r.Parts, newID)
	default:
		steps, err = Compose(r.Kind, r.Parts, r.Actions, newID)
	}
	if err != nil {
		return nil, fmt.Errorf("compose the %s of install %s: %w", r.Kind, r.Install, err)
	}
	return steps, nil
}

func (r Request) workflowParams() WorkflowParams {
	asked := WorkflowParams{Env: r.Env, Inputs: r.Inputs, Role: r.Role, Restore: r.Restore, Redeploy: r.Redeploy}
	if r.PlanOnly {
		asked.Assumptions = &r.Assumptions
	}
	return asked
}

// pendingWorkflow is a workflow that is being created.
type pendingWorkflow struct {
	Request
	id, requestedBy string
	params          json.RawMessage
	trace           string
	steps           []*Step
	firstJobs       map[string]*firstJob // its first jobs, by step
	queued          bool                 // a queue task advances it
	span            *telemetry.Span
}

// firstJob is the job of a step that starts together with its workflow.
type firstJob struct {
	job    jobs.NewJob
	id     string
	target []byte
}

// isCopiedByPlan reports whether the step is a sync without a job, whose copy the plan does.
func (j *firstJob) isCopiedByPlan() bool { return j != nil && j.job.Spec.Kind == "" }

// prepare composes a workflow, and advances it as far as possible.
func (r Request) prepare(ctx context.Context, org string) (*pendingWorkflow, error) {
	w := &pendingWorkflow{Request: r, id: id.New("wfl"), requestedBy: orDefault(r.RequestedBy, systemActor)}
	var err error
	if w.steps, err = r.Steps(func() string { return id.New("stp") }); err != nil {
		return nil, err
	}
	for _, s := range w.steps {
		if _, known := r.Components[s.Component]; s.Kind != StepAction && !known {
			return nil, fmt.Errorf("component %s does not exist on install %s", s.Component, r.Install)
		}
	}
	if w.params, err = encode(r.workflowParams()); err != nil {
		return nil, err
	}
	ctx, w.span = telemetry.StartSpan(telemetry.Extract(ctx, r.Trace), "rollout",
		slog.String("org", org), slog.String("install", r.Install), slog.String("workflow", w.id),
		slog.String("kind", string(r.Kind)))
	w.trace = telemetry.Inject(ctx)
	w.queued = !w.advance(ctx)
	return w, nil
}

// advance advances a new workflow with the data that was read to start it. It reports
// false, and changes nothing, if that takes more than starting syncs and plans and
// recording why other steps wait.
func (w *pendingWorkflow) advance(ctx context.Context) bool {
	if w.Locked == nil {
		return false
	}
	f, jobs := w.executor(), map[string]*firstJob{}
	for range maxAdvanceRounds {
		todo := Advance(f.graph)
		if len(todo) == 0 {
			w.steps, w.firstJobs = f.graph.Steps, jobs
			return true
		}
		for _, c := range todo {
			switch c := c.(type) {
			case StartStep:
				s := f.graph.stepByID(c.Step)
				if s.Kind != StepSync && s.Kind != StepPlan {
					return false
				}
				job, target, err := f.newJob(ctx, s, c.Reason)
				if err != nil { // the queue task ends the step or retries, without affecting the other installs
					return false
				}
				jobs[s.ID] = &firstJob{job: job, target: target}
				f.graph.Apply(c)
				if jobs[s.ID].isCopiedByPlan() {
					s.Job.Status, s.Job.CopiedByPlan = JobSucceeded, true
				}
			case SetStatus:
				if c.To != StepPending && !jobs[c.Step].isCopiedByPlan() {
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

// executor returns the workflow as it is before its first step starts.
func (w *pendingWorkflow) executor() *executor {
	f := &executor{
		install: w.Locked.Install, params: w.workflowParams(), resolvedInstall: w.Locked.Resolved,
		stepRows: map[string]store.Step{},
		row: store.Workflow{
			ID: w.id, InstallID: w.Install, Kind: string(w.Kind), Reason: w.Reason, RequestedBy: w.requestedBy, Trace: w.trace,
		},
	}
	f.graph = &Graph{
		Kind: w.Kind, PlanOnly: w.PlanOnly, Status: Running, Rule: ruleOf(f.install),
		Desired: f.resolvedInstall.DesiredStates(),
	}
	f.params.markRedeployed(f.graph.Desired, w.requestedBy)
	for _, s := range w.steps {
		own, component := *s, w.Components[s.Component]
		f.graph.Steps, f.stepRows[s.ID] = append(f.graph.Steps, &own), store.Step{ID: s.ID, InstallComponentID: &component}
	}
	return f
}

// addWorkflows inserts the rows of workflows, and their audit events.
func addWorkflows(ctx context.Context, tx *store.Tx, all []*pendingWorkflow) error {
	add, nth, byID := store.AddWorkflowsParams{OrgID: tx.Org}, map[string]int32{}, map[string]*pendingWorkflow{}
	for _, w := range all {
		nth[w.Install]++
		byID[w.id] = w
		add.Ids, add.InstallIds = append(add.Ids, w.id), append(add.InstallIds, w.Install)
		add.Nth, add.Kinds = append(add.Nth, nth[w.Install]), append(add.Kinds, string(w.Kind))
		add.Reasons, add.RequestedBy = append(add.Reasons, w.Reason), append(add.RequestedBy, w.requestedBy)
		add.Requests, add.PlanOnly = append(add.Requests, string(w.params)), append(add.PlanOnly, w.PlanOnly)
		add.Releases, add.Traces = append(add.Releases, w.Release), append(add.Traces, w.trace)
	}
	numbers, err := tx.AddWorkflows(ctx, add)
	if err != nil {
		return err
	}
	events := make([]store.AuditEntry, 0, len(numbers))
	for _, row := range numbers {
		w := byID[row.ID]
		events = append(events, store.AuditEntry{Actor: w.requestedBy, Subject: w.id, Detail: map[string]any{
			"kind": w.Kind, "number": row.Number, "install": w.Install, "reason": w.Reason, "plan_only": w.PlanOnly,
		}})
	}
	return tx.AuditAll(ctx, "workflow.start", events)
}

// addJobs queues the first jobs of workflows.
func addJobs(ctx context.Context, tx *store.Tx, all []*pendingWorkflow) error {
	var queued []jobs.NewJob
	var of []*firstJob
	for _, w := range all {
		for _, s := range w.steps {
			if b := w.firstJobs[s.ID]; b != nil && !b.isCopiedByPlan() {
				queued, of = append(queued, b.job), append(of, b)
			}
		}
	}
	ids, err := jobs.EnqueueAll(ctx, tx, queued)
	for i, jobID := range ids {
		of[i].id = jobID
	}
	return err
}

// addSteps inserts all steps of workflows.
func addSteps(ctx context.Context, tx *store.Tx, all []*pendingWorkflow) error {
	add := store.AddStepsParams{OrgID: tx.Org}
	for _, w := range all {
		for i, s := range w.steps {
			needs, err := encode(append([]string{}, s.Needs...))
			if err != nil {
				return err
			}
			component, job, target := w.Components[s.Component], "", ""
			if s.Kind == StepAction {
				component = "" // it belongs to no component
			}
			if b := w.firstJobs[s.ID]; b != nil {
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

// enqueueAdvance enqueues the tasks that start the first steps of workflows. Those that
// no person requested come last: a new release starts a workflow on every install.
func enqueueAdvance(ctx context.Context, tx *store.Tx, all []*pendingWorkflow) error {
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
	return tx.EnqueueLowPriority(ctx, last...)
}

// checkRequestsDisjoint returns an error if two workflows of an install would change the same component.
func checkRequestsDisjoint(ctx context.Context, tx *store.Tx, requests []Request) error {
	type place struct{ install, component string }
	wanted, installs := map[place]bool{}, make([]string, 0, len(requests))
	for _, r := range requests {
		installs = append(installs, r.Install)
		wanted[place{r.Install, r.OfComponent}] = true
		for _, p := range r.Parts {
			at := place{r.Install, p.Component}
			if wanted[at] {
				return fmt.Errorf("two workflows would be started for %s of install %s", p.Component, r.Install)
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
			return busyError(b)
		}
	}
	return nil
}

// checkComponentsFree returns a *refusal.Error if a running workflow of the install, other than
// own, is changing one of the components.
func checkComponentsFree(ctx context.Context, tx *store.Tx, install, own string, components []string) error {
	busy, err := tx.BusyComponents(ctx, tx.Org, []string{install})
	if err != nil {
		return err
	}
	for _, b := range busy {
		if b.ID != own && slices.Contains(components, b.Component) {
			return busyError(b)
		}
	}
	return nil
}

func busyError(b store.BusyComponentsRow) error {
	return conflict(CodeBusy, "Wait until it has ended, or cancel it (nuon workflows cancel).",
		"workflow %d (%s) is running on %s",
		b.Number, b.Kind, b.Component)
}
