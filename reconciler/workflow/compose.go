package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// ComponentPart is one component of a workflow.
type ComponentPart struct {
	Component string
	// components that it needs, including the sandbox; those outside the workflow are ignored
	DependsOn []string
	// it is the sandbox: Around.BeforeComponents and AfterComponents cover all components but this one
	Sandbox       bool
	ActionsBefore []TriggeredAction // run before its apply, in this order
	ActionsAfter  []TriggeredAction // run after its apply, in this order
	Reason        string            // why it is part of the workflow
}

// TriggeredAction is an action that an event of the workflow triggers.
type TriggeredAction struct {
	Action    string
	Trigger   string   // the event, as in the action's config: pre-… before it, post-… after it
	ReadsFrom []string // for an action after a deploy: other components whose outputs it reads
	// for an action before a deploy: the component reads its outputs, so it runs before the plan, and not
	// between the approval and the apply
	BeforePlan bool
}

// WorkflowActions holds the actions that run before and after several components, each list in
// the order in which it runs.
type WorkflowActions struct {
	Before, After                     []TriggeredAction // before the first plan, and after everything else
	BeforeComponents, AfterComponents []TriggeredAction // the same for the components without the sandbox
}

// Compose builds the steps of a workflow over components: for each its sync, plan, approve and
// apply, and its actions. A restore has no sync, since it needs no artifact. A component comes
// after those that it needs, in a destroy before them; independent components have no edges
// between them and run in parallel. The order of the steps is stable: by dependency, then by
// name. newID creates the ids of the steps. A cycle is an error that names its members.
func Compose(kind Kind, parts []ComponentPart, around WorkflowActions, newID func() string) ([]*Step, error) {
	order, needs, err := orderParts(kind, parts)
	if err != nil {
		return nil, err
	}
	c := composer{destroy: kind.destroys(), synced: kind != KindRestore, parts: map[string]ComponentPart{},
		groups: map[string]*componentSteps{}, newID: newID}
	for _, p := range parts {
		c.parts[p.Component] = p
	}
	for _, name := range order {
		c.addSteps(c.parts[name], needs[name])
	}
	for _, name := range order {
		c.addActions(name)
	}
	w := c.addWorkflowActions(order, around)
	for _, name := range order {
		c.addDependencies(name, needs[name], w)
	}
	return c.inDisplayOrder(order, w), nil
}

// ComposePlans builds a workflow that plans components and shows the plans, without
// approvals or applies. No plan waits for another.
func ComposePlans(kind Kind, parts []ComponentPart, newID func() string) ([]*Step, error) {
	order, _, err := orderParts(kind, parts)
	if err != nil {
		return nil, err
	}
	var steps []*Step
	for _, name := range order {
		i := slices.IndexFunc(parts, func(p ComponentPart) bool { return p.Component == name })
		step := func(kindOf StepKind, reason string, needs ...string) *Step {
			return &Step{ID: newID(), Kind: kindOf, Component: name, Destroy: kind.destroys(), Needs: needs, Status: StepPending,
				Reason: reason}
		}
		sync := step(StepSync, parts[i].Reason)
		steps = append(steps, sync, step(StepPlan, afterSyncReason, sync.ID))
	}
	return steps, nil
}

// ComposeAction returns the single step of an action that a person requested. Trigger
// and component are those of the run that it repeats.
func ComposeAction(act TriggeredAction, component, reason string, newID func() string) []*Step {
	return []*Step{{
		ID: newID(), Kind: StepAction, Component: component, Action: act.Action, Trigger: act.Trigger, Status: StepPending,
		Reason: reason,
	}}
}

// orderParts returns the names of the parts in the order in which they run, and for
// each the parts that it waits for.
func orderParts(kind Kind, parts []ComponentPart) (order []string, needs map[string][]string, err error) {
	if needs, err = dependencies(parts, kind.destroys()); err != nil {
		return nil, nil, err
	}
	order, err = topologicalOrder(needs)
	return order, needs, err
}

// dependencies returns which of the other parts each part waits for.
func dependencies(parts []ComponentPart, destroy bool) (map[string][]string, error) {
	needs := map[string][]string{}
	for _, p := range parts {
		if _, twice := needs[p.Component]; twice {
			return nil, fmt.Errorf("component %s is named twice", p.Component)
		}
		needs[p.Component] = nil
	}
	for _, p := range parts {
		for _, other := range p.DependsOn {
			if _, ok := needs[other]; !ok || other == p.Component {
				continue
			}
			if destroy {
				needs[other] = append(needs[other], p.Component)
			} else {
				needs[p.Component] = append(needs[p.Component], other)
			}
		}
	}
	for name := range needs {
		slices.Sort(needs[name])
		needs[name] = slices.Compact(needs[name])
	}
	return needs, nil
}

// topologicalOrder returns the names so that each comes after those that it needs; among those
// that could come next, in alphabetical order.
func topologicalOrder(needs map[string][]string) ([]string, error) {
	var order []string
	placed := map[string]bool{}
	for len(order) < len(needs) {
		var ready, left []string
		for name, on := range needs {
			if placed[name] {
				continue
			}
			left = append(left, name)
			if !slices.ContainsFunc(on, func(n string) bool { return !placed[n] }) {
				ready = append(ready, name)
			}
		}
		if len(ready) == 0 {
			slices.Sort(left)
			return nil, fmt.Errorf("these components need each other: %s", strings.Join(left, ", "))
		}
		slices.Sort(ready)
		order = append(order, ready...)
		for _, name := range ready {
			placed[name] = true
		}
	}
	return order, nil
}

// composer is the state of Compose.
type composer struct {
	destroy bool
	synced  bool // each plan has a sync before it
	parts   map[string]ComponentPart
	groups  map[string]*componentSteps
	newID   func() string
}

// componentSteps holds one component's steps.
type componentSteps struct {
	sync, plan, approve, apply *Step // sync is nil where nothing is copied
	beforePlan, before, after  []*Step
}

// first returns the component's first step.
func (c *componentSteps) first() *Step {
	if c.sync != nil {
		return c.sync
	}
	return c.plan
}

// main returns the component's steps without its actions.
func (c *componentSteps) main() []*Step {
	if c.sync != nil {
		return []*Step{c.sync, c.plan, c.approve, c.apply}
	}
	return []*Step{c.plan, c.approve, c.apply}
}

// afterSyncReason is the initial reason of a plan step.
const afterSyncReason = "comes after its artifact was copied"

// addSteps adds a component's own steps, after those of the components that it needs.
func (c *composer) addSteps(p ComponentPart, needs []string) {
	step := func(kind StepKind, reason string, after ...string) *Step {
		return &Step{ID: c.newID(), Kind: kind, Component: p.Component, Destroy: c.destroy, Needs: after, Status: StepPending,
			Reason: reason}
	}
	var after []string
	for _, name := range needs {
		after = append(after, c.groups[name].apply.ID)
	}
	reason := p.Reason
	if len(needs) > 0 {
		reason = "comes after " + strings.Join(needs, ", ")
	}
	made := &componentSteps{}
	if c.synced {
		made.sync = step(StepSync, reason, after...)
		reason, after = afterSyncReason, []string{made.sync.ID}
	}
	made.plan = step(StepPlan, reason, after...)
	made.approve = step(StepApprove, "comes after its plan", made.plan.ID)
	made.apply = step(StepApply, "comes after its approval", made.approve.ID)
	c.groups[p.Component] = made
}

// addActions adds a component's own actions: before its plan, between its approval and its apply, and after its
// apply.
func (c *composer) addActions(name string) {
	p, g := c.parts[name], c.groups[name]
	var early, late []TriggeredAction
	for _, act := range p.ActionsBefore {
		if act.BeforePlan {
			early = append(early, act)
		} else {
			late = append(late, act)
		}
	}
	g.beforePlan = c.actionChain(early, name, nil, fmt.Sprintf("runs before %s is planned, which reads its outputs", name))
	g.before = c.actionChain(late, name, []string{g.approve.ID},
		fmt.Sprintf("runs before %s is %s", name, pastVerb(c.destroy)))
	g.apply.Needs = append(g.apply.Needs, idsOf(g.before)...)
	g.after = c.actionChain(p.ActionsAfter, name, []string{g.apply.ID}, fmt.Sprintf("runs after %s was %s", name,
		pastVerb(c.destroy)))
	if c.destroy || p.Sandbox {
		return // what it may read no longer exists, or waits for it
	}
	for i, s := range g.after {
		for _, other := range p.ActionsAfter[i].ReadsFrom {
			if read, ok := c.groups[other]; ok && other != name {
				s.Needs = slices.Insert(s.Needs, 1, read.apply.ID)
			}
		}
	}
}

// actionChain returns the steps of actions that run one after the other.
func (c *composer) actionChain(acts []TriggeredAction, component string, needs []string, reason string) []*Step {
	var steps []*Step
	for _, a := range acts {
		steps = append(steps, &Step{
			ID: c.newID(), Kind: StepAction, Component: component, Action: a.Action, Trigger: a.Trigger, Destroy: c.destroy,
			Needs: append(slices.Clone(needs), idsOf(steps)...), Status: StepPending, Reason: reason,
		})
	}
	return steps
}

// workflowSteps holds the steps of the actions around several components.
type workflowSteps struct{ first, beforeComponents, afterComponents, last []*Step }

// addWorkflowActions builds these steps. The inner ones surround all components but the sandbox, if
// there are any.
func (c *composer) addWorkflowActions(order []string, around WorkflowActions) workflowSteps {
	var w workflowSteps
	var inner, outer, base []string
	for _, name := range order {
		g := c.groups[name]
		ids := append([]string{g.apply.ID}, idsOf(g.after)...)
		outer = append(outer, ids...)
		if c.parts[name].Sandbox {
			base = []string{g.apply.ID}
		} else {
			inner = append(inner, ids...)
		}
	}
	w.first = c.actionChain(around.Before, "", nil, "runs before everything else")
	if len(inner) > 0 {
		on := idsOf(w.first)
		if !c.destroy {
			on = append(on, base...)
		}
		w.beforeComponents = c.actionChain(around.BeforeComponents, "", on, "runs before all components")
		w.afterComponents = c.actionChain(around.AfterComponents, "", inner, "runs after all components")
	}
	w.last = c.actionChain(around.After, "", append(outer, idsOf(w.afterComponents)...), "runs after everything else")
	return w
}

// addDependencies adds the actions that a component's first step waits for. Actions before a
// component (pre-…) must have succeeded. Actions after another component (post-…) must
// only have ended. They delay the destroy of the sandbox and of the components that
// theirs needed; those after the deploy of the sandbox delay the components on it.
func (c *composer) addDependencies(name string, needs []string, w workflowSteps) {
	first := c.groups[name].first()
	first.Needs = append(first.Needs, idsOf(w.first)...)
	if c.parts[name].Sandbox {
		if c.destroy {
			first.Needs = append(first.Needs, idsOf(w.afterComponents)...)
		}
	} else {
		first.Needs = append(first.Needs, idsOf(w.beforeComponents)...)
	}
	for _, other := range needs {
		if c.destroy || c.parts[other].Sandbox {
			first.Needs = append(first.Needs, idsOf(c.groups[other].after)...)
		}
	}
	for _, s := range c.groups[name].beforePlan {
		s.Needs = slices.Concat(first.Needs, s.Needs)
	}
	first.Needs = append(first.Needs, idsOf(c.groups[name].beforePlan)...)
}

// inDisplayOrder returns the steps in display order: each component's own actions directly follow it.
func (c *composer) inDisplayOrder(order []string, w workflowSteps) []*Step {
	steps := slices.Clone(w.first)
	begun, ended := false, false
	for _, name := range order {
		g, base := c.groups[name], c.parts[name].Sandbox
		if !base && !begun {
			steps, begun = append(steps, w.beforeComponents...), true
		}
		if base && c.destroy {
			steps, ended = append(steps, w.afterComponents...), true
		}
		steps = slices.Concat(steps, g.beforePlan, g.main(), g.before, g.after)
	}
	if !ended {
		steps = append(steps, w.afterComponents...)
	}
	return append(steps, w.last...)
}

func idsOf(steps []*Step) []string {
	var ids []string
	for _, s := range steps {
		ids = append(ids, s.ID)
	}
	return ids
}
