package workflow

import (
	"fmt"
	"maps"
	"slices"
)

// This file holds a person's requests about single steps: retry one, or skip it. Both
// are pure: they take a graph and return commands, or an error with the reason.

// skippedByPrefix starts the reason of a step that a person skipped.
const skippedByPrefix = "skipped by "

func notRetryable(remedy, title string, args ...any) error {
	return conflict(CodeNotRetryable, remedy, title, args...)
}

// Retry restarts what failed at a step of a running workflow. For a component that is
// all of it, from its sync, with the actions before it that did not succeed; for any
// other action only that action. What was skipped because of the failure restarts as
// well, but not what a person skipped, and never an action that succeeded. It does
// not override an earlier rejection, and what a person rejected needs a person again
// (Plan.RejectedBy). Errors: *refusal.Error.
func Retry(g *Graph, s *Step, actor string) ([]Command, error) {
	if g.Cancelled != nil {
		return nil, notRetryable("Retry the step once the workflow has ended.", "the workflow is being cancelled")
	}
	again := map[*Step]bool{}
	if err := g.collectFailed(s, again); err != nil {
		return nil, err
	}
	asked := maps.Clone(again)
	g.collectSkipped(again)
	var todo []Command
	why := "retried by " + actor
	for _, gr := range g.groups() {
		if again[gr.plan] {
			todo = append(todo, ClearRejection{Component: gr.plan.Component, OnlyOfWorkflow: !asked[gr.plan]})
		}
	}
	for _, step := range g.Steps {
		if again[step] {
			todo = append(todo, RestartStep{step.ID, why})
		}
	}
	return todo, nil
}

// restartedComponents returns the components of the steps that the commands restart.
func (g *Graph) restartedComponents(todo []Command) []string {
	var components []string
	for _, c := range todo {
		if renew, is := c.(RestartStep); is {
			components = append(components, g.stepByID(renew.Step).Component)
		}
	}
	return components
}

// collectFailed adds the steps that failed together with s to again.
func (g *Graph) collectFailed(s *Step, again map[*Step]bool) error {
	gr := g.groupOf(s.Component)
	switch {
	case s.Kind == StepAction && (!s.isPreAction() || gr.plan == nil):
		return g.collectFailedAction(s, again)
	case g.PlanOnly:
		return gr.collectFailedPlan(again)
	case gr.plan == nil:
		return notRetryable("See the workflow (nuon workflows get).", "the step cannot be retried")
	case !gr.ended():
		return notRetryable("Wait for it, or cancel the workflow (nuon workflows cancel).", "%s is still running",
			s.Component)
	case g.isDone(gr.apply):
		return notRetryable("To deploy it anyway, use `nuon deploy --redeploy`.", "%s is %s already", s.Component,
			pastVerb(gr.plan.Destroy))
	}
	ill, _ := gr.preActions()
	failed := ill != nil
	for _, step := range gr.steps() {
		failed = failed || step.Status == StepFailed || step.Status == StepCancelled || step.SkippedByPerson
	}
	if !failed {
		return notRetryable("Retry the step before it.", "%s did not fail, it was skipped: %s", s.Component, gr.apply.Reason)
	}
	for _, step := range gr.steps() {
		again[step] = true
	}
	for _, need := range gr.ownPreActions() {
		skipped := need.Status == StepSkipped && !need.SkippedByPerson
		if need.endedBadly() || skipped && gr.runsBeforePlan(need) {
			again[need] = true
		}
	}
	return nil
}

// collectFailedPlan adds the steps of a plan-only component that failed, and those after them.
func (gr stepGroup) collectFailedPlan(again map[*Step]bool) error {
	for _, s := range gr.steps() {
		if len(again) > 0 || s.Status == StepFailed || s.Status == StepCancelled {
			again[s] = true
		}
	}
	if len(again) == 0 {
		return notRetryable("Start another with `nuon deploy --plan-only`.", "the plan of %s has not failed",
			gr.plan.Component)
	}
	return nil
}

func (g *Graph) collectFailedAction(s *Step, again map[*Step]bool) error {
	switch {
	case s.endedBadly() || s.SkippedByPerson:
		again[s] = true
		return nil
	case s.Status == StepSucceeded:
		return notRetryable("To run it once more, use `nuon run`.", "action %s has run", s.Action)
	case s.Status.Ended():
		return notRetryable("Retry the step before it.", "action %s did not fail, it was skipped: %s", s.Action, s.Reason)
	}
	return notRetryable("Wait for it, or cancel the workflow (nuon workflows cancel).", "action %s has not ended",
		s.Action)
}

// collectSkipped adds the steps that were skipped because a restarted step had not
// succeeded. A component's steps restart together.
func (g *Graph) collectSkipped(again map[*Step]bool) {
	for grew := true; grew; {
		grew = false
		for _, s := range g.Steps {
			needed := slices.ContainsFunc(s.Needs, func(id string) bool { return again[g.stepByID(id)] })
			if !again[s] && needed && s.Status == StepSkipped && !s.SkippedByPerson {
				again[s], grew = true, true
			}
		}
		for _, gr := range g.groups() {
			if slices.ContainsFunc(gr.steps(), func(s *Step) bool { return again[s] }) {
				for _, s := range gr.steps() {
					again[s] = true
				}
			}
		}
	}
}

func notSkippable(remedy, title string, args ...any) error {
	return conflict(CodeNotSkippable, remedy, title, args...)
}

// Skip continues without what a step belongs to, because a person requested it: a
// component of which nothing was done yet, which is recorded like a cancellation, or
// an action that has not started. Steps that need the component are skipped; steps
// that need the action continue. Errors: *refusal.Error.
func Skip(g *Graph, s *Step, actor, reason string) ([]Command, error) {
	words := skippedByPrefix + actor + ": " + orDefault(reason, noReasonGiven)
	gr := g.groupOf(s.Component)
	switch {
	case g.Cancelled != nil:
		return nil, notSkippable("No further step will start.", "the workflow is being cancelled")
	case s.Status.Ended():
		return nil, notSkippable("There is nothing to skip.", "the step has ended: %s", s.Status)
	case s.Status == StepRunning:
		return nil, notSkippable("Wait for it, or cancel the workflow (nuon workflows cancel).", "%s is running",
			orDefault(s.Action, s.Component))
	case s.Kind == StepAction:
		return []Command{MarkSkipped{s.ID, words}}, nil
	case gr.plan == nil:
		return nil, notSkippable("See the workflow (nuon workflows get).",
			"the step cannot be skipped")
	case slices.ContainsFunc(gr.steps(), func(s *Step) bool { return s.Status == StepRunning }) || gr.preActionRuns():
		return nil, notSkippable("Wait for it, or cancel the workflow (nuon workflows cancel).", "%s is in progress",
			s.Component)
	case gr.workedDigest() == "" && !g.PlanOnly:
		return nil, notSkippable("Wait until it has a plan, then skip it or reject the plan.",
			"the desired state of %s is not known yet: %s", s.Component, gr.desired.WaitReason)
	}
	var todo []Command
	if plan := gr.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, ClosePlan{gr.plan.ID, PlanSuperseded, words})
	}
	if !g.PlanOnly {
		todo = append(todo, gr.recordRejection(RejectionCancelled, actor, fmt.Sprintf("skipped: %s",
			orDefault(reason, noReasonGiven)))...)
	}
	for _, step := range gr.steps() {
		if !step.Status.Ended() {
			todo = append(todo, MarkSkipped{step.ID, words})
		}
	}
	return todo, nil
}

// preActionRuns reports whether an action before the group's plan or apply is running.
func (gr stepGroup) preActionRuns() bool {
	runs := func(s *Step) bool { return s.Status == StepRunning }
	return gr.apply != nil && slices.ContainsFunc(gr.ownPreActions(), runs)
}
