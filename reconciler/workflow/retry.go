package workflow

import (
	"fmt"
	"maps"
	"slices"
)

// This file holds a person's requests about single steps: retry one, or skip it. Both
// are pure: they take a graph and return commands, or an error with the reason.

// skippedBy starts the reason of a step that a person skipped.
const skippedBy = "skipped by "

func notRetryable(remedy, title string, args ...any) error {
	return conflict(CodeNotRetryable, remedy, title, args...)
}

// Retry restarts what failed at a step of a running workflow. For a component that is
// all of it, from its sync, with the actions before it that did not succeed; for any
// other action only that action. What was skipped because of the failure restarts as
// well, but not what a person skipped, and never an action that succeeded. It does
// not override an earlier rejection. Errors: *Conflict.
func Retry(g *Graph, s *Step, actor string) ([]Command, error) {
	if g.Cancelled != nil {
		return nil, notRetryable("Retry the step once the workflow has ended.", "the workflow is being cancelled")
	}
	again := map[*Step]bool{}
	if err := g.failedAt(s, again); err != nil {
		return nil, err
	}
	asked := maps.Clone(again)
	g.because(again)
	var todo []Command
	why := "retried by " + actor
	for _, in := range g.groups() {
		if again[in.plan] {
			todo = append(todo, Forgive{Component: in.plan.Component, Own: !asked[in.plan]})
		}
	}
	for _, step := range g.Steps {
		if again[step] {
			todo = append(todo, Renew{step.ID, why})
		}
	}
	return todo, nil
}

// renewed returns the components of the steps that the commands restart.
func (g *Graph) renewed(todo []Command) []string {
	var components []string
	for _, c := range todo {
		if renew, is := c.(Renew); is {
			components = append(components, g.step(renew.Step).Component)
		}
	}
	return components
}

// failedAt adds the steps that failed together with s to again.
func (g *Graph) failedAt(s *Step, again map[*Step]bool) error {
	in := g.group(s.Component)
	switch {
	case s.Kind == StepAction && (!s.before() || in.plan == nil):
		return g.failedAction(s, again)
	case g.PlanOnly:
		return in.failedToLook(again)
	case in.plan == nil:
		return notRetryable("Look at the workflow (nuon workflows get).", "the step belongs to nothing that can be retried")
	case !in.ended():
		return notRetryable("Wait for it, or cancel the workflow (nuon workflows cancel).", "%s is still under way",
			s.Component)
	case g.done(in.apply):
		return notRetryable("To do it all the same, use `nuon deploy --redeploy`.", "%s is %s already", s.Component,
			verb(in.plan.Destroy))
	}
	ill, _ := in.before()
	failed := ill != nil
	for _, step := range in.steps() {
		failed = failed || step.Status == StepFailed || step.Status == StepCancelled || step.Passed
	}
	if !failed {
		return notRetryable("Retry what it came after.", "%s did not fail, it was skipped: %s", s.Component, in.apply.Reason)
	}
	for _, step := range in.steps() {
		again[step] = true
	}
	for _, id := range in.apply.Needs {
		if need := g.step(id); need != nil && need.before() && need.ill() {
			again[need] = true
		}
	}
	return nil
}

// failedToLook adds the steps of a plan-only component that failed, and those after them.
func (in group) failedToLook(again map[*Step]bool) error {
	for _, s := range in.steps() {
		if len(again) > 0 || s.Status == StepFailed || s.Status == StepCancelled {
			again[s] = true
		}
	}
	if len(again) == 0 {
		return notRetryable("Ask for another with `nuon deploy --plan-only`.", "the plan of %s has not failed",
			in.plan.Component)
	}
	return nil
}

func (g *Graph) failedAction(s *Step, again map[*Step]bool) error {
	switch {
	case s.ill() || s.Passed:
		again[s] = true
		return nil
	case s.Status == StepSucceeded:
		return notRetryable("To run it once more, use `nuon run`.", "action %s has run", s.Action)
	case s.Status.Ended():
		return notRetryable("Retry what it came after.", "action %s did not fail, it was skipped: %s", s.Action, s.Reason)
	}
	return notRetryable("Wait for it, or cancel the workflow (nuon workflows cancel).", "action %s has not ended",
		s.Action)
}

// because adds the steps that were skipped because a restarted step had not
// succeeded. A component's steps restart together.
func (g *Graph) because(again map[*Step]bool) {
	for grew := true; grew; {
		grew = false
		for _, s := range g.Steps {
			needed := slices.ContainsFunc(s.Needs, func(id string) bool { return again[g.step(id)] })
			if !again[s] && needed && s.Status == StepSkipped && !s.Passed {
				again[s], grew = true, true
			}
		}
		for _, in := range g.groups() {
			if slices.ContainsFunc(in.steps(), func(s *Step) bool { return again[s] }) {
				for _, s := range in.steps() {
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
// that need the action continue. Errors: *Conflict.
func Skip(g *Graph, s *Step, actor, reason string) ([]Command, error) {
	words := skippedBy + actor + ": " + sentence(reason, noReason)
	in := g.group(s.Component)
	switch {
	case g.Cancelled != nil:
		return nil, notSkippable("Nothing of it is begun any more.", "the workflow is being cancelled")
	case s.Status.Ended():
		return nil, notSkippable("There is nothing to skip.", "the step has ended: %s", s.Status)
	case s.Status == StepRunning:
		return nil, notSkippable("Wait for it, or cancel the workflow (nuon workflows cancel).", "%s is at work",
			sentence(s.Action, s.Component))
	case s.Kind == StepAction:
		return []Command{Pass{s.ID, words}}, nil
	case in.plan == nil:
		return nil, notSkippable("Look at the workflow (nuon workflows get).",
			"the step belongs to nothing that can be skipped")
	case slices.ContainsFunc(in.steps(), func(s *Step) bool { return s.Status == StepRunning }) || in.actsBefore():
		return nil, notSkippable("Wait for it, or cancel the workflow (nuon workflows cancel).", "%s is being worked on",
			s.Component)
	case in.desired() == "" && !g.PlanOnly:
		return nil, notSkippable("Wait until it has a plan, then skip it or reject the plan.",
			"what is wanted of %s is not known yet: %s", s.Component, in.want.Waits)
	}
	var todo []Command
	if plan := in.plan.Plan; plan != nil && plan.Status.Live() {
		todo = append(todo, EndPlan{in.plan.ID, PlanSuperseded, words})
	}
	if !g.PlanOnly {
		todo = append(todo, in.no(RefusalCancelled, actor, fmt.Sprintf("skipped: %s", sentence(reason, noReason)))...)
	}
	for _, step := range in.steps() {
		if !step.Status.Ended() {
			todo = append(todo, Pass{step.ID, words})
		}
	}
	return todo, nil
}

// actsBefore reports whether an action before the group's apply is running.
func (in group) actsBefore() bool {
	return in.apply != nil && slices.ContainsFunc(in.apply.Needs, func(id string) bool {
		need := in.g.step(id)
		return need != nil && need.before() && need.Status == StepRunning
	})
}
