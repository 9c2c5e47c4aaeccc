package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// Part is one component of a workflow.
type Part struct {
	Component string
	After     []string // components that it needs, including the sandbox; those outside the workflow are ignored
	Base      bool     // it is the sandbox: Around.BeforeAll and ThenAll cover all components but this one
	Before    []Act    // run after its plan was approved, before its apply, in this order
	Then      []Act    // run after its apply, in this order
	Reason    string   // why it is part of the workflow
}

// Act is an action that an event of the workflow triggers.
type Act struct {
	Action  string
	Trigger string   // the event, as in the action's config: pre-… before it, post-… after it
	After   []string // for an action after a deploy: other components whose outputs it reads
}

// Around holds the actions that run before and after several components, each list in
// the order in which it runs.
type Around struct {
	Before, Then       []Act // before the first plan, and after everything else
	BeforeAll, ThenAll []Act // the same for the components without the sandbox
}

// Compose builds the steps of a workflow over components: for each its sync, plan, approve and
// apply, and its actions. A restore has no sync, since it needs no artifact. A component comes
// after those that it needs, in a destroy before them; independent components have no edges
// between them and run in parallel. The order of the steps is stable: by dependency, then by
// name. newID creates the ids of the steps. A cycle is an error that names its members.
func Compose(kind Kind, parts []Part, around Around, newID func() string) ([]*Step, error) {
	order, needs, err := arranged(kind, parts)
	if err != nil {
		return nil, err
	}
	c := composing{destroy: kind.destroys(), synced: kind != KindRestore, parts: map[string]Part{},
		groups: map[string]*composed{}, newID: newID}
	for _, p := range parts {
		c.parts[p.Component] = p
	}
	for _, name := range order {
		c.group(c.parts[name], needs[name])
	}
	for _, name := range order {
		c.own(name)
	}
	w := c.wide(order, around)
	for _, name := range order {
		c.hold(name, needs[name], w)
	}
	return c.all(order, w), nil
}

// ComposePlans builds a workflow that plans components and shows the plans, without
// approvals or applies. No plan waits for another.
func ComposePlans(kind Kind, parts []Part, newID func() string) ([]*Step, error) {
	order, _, err := arranged(kind, parts)
	if err != nil {
		return nil, err
	}
	var steps []*Step
	for _, name := range order {
		i := slices.IndexFunc(parts, func(p Part) bool { return p.Component == name })
		step := func(kindOf StepKind, reason string, needs ...string) *Step {
			return &Step{ID: newID(), Kind: kindOf, Component: name, Destroy: kind.destroys(), Needs: needs, Status: StepPending,
				Reason: reason}
		}
		sync := step(StepSync, parts[i].Reason)
		steps = append(steps, sync, step(StepPlan, afterSync, sync.ID))
	}
	return steps, nil
}

// ComposeAction returns the single step of an action that a person requested. Trigger
// and component are those of the run that it repeats.
func ComposeAction(act Act, component, reason string, newID func() string) []*Step {
	return []*Step{{
		ID: newID(), Kind: StepAction, Component: component, Action: act.Action, Trigger: act.Trigger, Status: StepPending,
		Reason: reason,
	}}
}

// arranged returns the names of the parts in the order in which they run, and for
// each the parts that it waits for.
func arranged(kind Kind, parts []Part) (order []string, needs map[string][]string, err error) {
	if needs, err = edges(parts, kind.destroys()); err != nil {
		return nil, nil, err
	}
	order, err = sorted(needs)
	return order, needs, err
}

// edges returns which of the other parts each part waits for.
func edges(parts []Part, destroy bool) (map[string][]string, error) {
	needs := map[string][]string{}
	for _, p := range parts {
		if _, twice := needs[p.Component]; twice {
			return nil, fmt.Errorf("component %s is named twice", p.Component)
		}
		needs[p.Component] = nil
	}
	for _, p := range parts {
		for _, other := range p.After {
			if _, in := needs[other]; !in || other == p.Component {
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

// sorted returns the names so that each comes after those that it needs; among those
// that could come next, in alphabetical order.
func sorted(needs map[string][]string) ([]string, error) {
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

// composing is the state of Compose.
type composing struct {
	destroy bool
	synced  bool // each plan has a sync before it
	parts   map[string]Part
	groups  map[string]*composed
	newID   func() string
}

// composed holds one component's steps.
type composed struct {
	sync, plan, approve, apply *Step // sync is nil where nothing is copied
	before, then               []*Step
}

// first returns the component's first step.
func (c *composed) first() *Step {
	if c.sync != nil {
		return c.sync
	}
	return c.plan
}

// main returns the component's steps without its actions.
func (c *composed) main() []*Step {
	if c.sync != nil {
		return []*Step{c.sync, c.plan, c.approve, c.apply}
	}
	return []*Step{c.plan, c.approve, c.apply}
}

// afterSync is the initial reason of a plan step.
const afterSync = "comes after its artifact was copied"

// group adds a component's own steps, after those of the components that it needs.
func (c *composing) group(p Part, needs []string) {
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
	made := &composed{}
	if c.synced {
		made.sync = step(StepSync, reason, after...)
		reason, after = afterSync, []string{made.sync.ID}
	}
	made.plan = step(StepPlan, reason, after...)
	made.approve = step(StepApprove, "comes after its plan", made.plan.ID)
	made.apply = step(StepApply, "comes after its approval", made.approve.ID)
	c.groups[p.Component] = made
}

// own adds a component's own actions: between its approval and its apply, and after its apply.
func (c *composing) own(name string) {
	p, g := c.parts[name], c.groups[name]
	g.before = c.chain(p.Before, name, []string{g.approve.ID}, fmt.Sprintf("runs before %s is %s", name, verb(c.destroy)))
	g.apply.Needs = append(g.apply.Needs, idsOf(g.before)...)
	g.then = c.chain(p.Then, name, []string{g.apply.ID}, fmt.Sprintf("runs after %s was %s", name, verb(c.destroy)))
	if c.destroy || p.Base {
		return // what it may read no longer exists, or waits for it
	}
	for i, s := range g.then {
		for _, other := range p.Then[i].After {
			if read, in := c.groups[other]; in && other != name {
				s.Needs = slices.Insert(s.Needs, 1, read.apply.ID)
			}
		}
	}
}

// chain returns the steps of actions that run one after the other.
func (c *composing) chain(acts []Act, component string, needs []string, reason string) []*Step {
	var steps []*Step
	for _, a := range acts {
		steps = append(steps, &Step{
			ID: c.newID(), Kind: StepAction, Component: component, Action: a.Action, Trigger: a.Trigger, Destroy: c.destroy,
			Needs: append(slices.Clone(needs), idsOf(steps)...), Status: StepPending, Reason: reason,
		})
	}
	return steps
}

// wide holds the steps of the actions around several components.
type wide struct{ first, beforeAll, thenAll, last []*Step }

// wide builds these steps. The inner ones surround all components but the sandbox, if
// there are any.
func (c *composing) wide(order []string, around Around) wide {
	var w wide
	var inner, outer, base []string
	for _, name := range order {
		g := c.groups[name]
		ids := append([]string{g.apply.ID}, idsOf(g.then)...)
		outer = append(outer, ids...)
		if c.parts[name].Base {
			base = []string{g.apply.ID}
		} else {
			inner = append(inner, ids...)
		}
	}
	w.first = c.chain(around.Before, "", nil, "runs before everything else")
	if len(inner) > 0 {
		on := idsOf(w.first)
		if !c.destroy {
			on = append(on, base...)
		}
		w.beforeAll = c.chain(around.BeforeAll, "", on, "runs before all components")
		w.thenAll = c.chain(around.ThenAll, "", inner, "runs after all components")
	}
	w.last = c.chain(around.Then, "", append(outer, idsOf(w.thenAll)...), "runs after everything else")
	return w
}

// hold adds the actions that a component's first step waits for. Actions before a
// component (pre-…) must have succeeded. Actions after another component (post-…) must
// only have ended. They delay the destroy of the sandbox and of the components that
// theirs needed; those after the deploy of the sandbox delay the components on it.
func (c *composing) hold(name string, needs []string, w wide) {
	first := c.groups[name].first()
	first.Needs = append(first.Needs, idsOf(w.first)...)
	if c.parts[name].Base {
		if c.destroy {
			first.Needs = append(first.Needs, idsOf(w.thenAll)...)
		}
	} else {
		first.Needs = append(first.Needs, idsOf(w.beforeAll)...)
	}
	for _, other := range needs {
		if c.destroy || c.parts[other].Base {
			first.Needs = append(first.Needs, idsOf(c.groups[other].then)...)
		}
	}
}

// all returns the steps in display order: each component's own actions directly follow it.
func (c *composing) all(order []string, w wide) []*Step {
	steps := slices.Clone(w.first)
	begun, ended := false, false
	for _, name := range order {
		g, base := c.groups[name], c.parts[name].Base
		if !base && !begun {
			steps, begun = append(steps, w.beforeAll...), true
		}
		if base && c.destroy {
			steps, ended = append(steps, w.thenAll...), true
		}
		steps = append(append(append(steps, g.main()...), g.before...), g.then...)
	}
	if !ended {
		steps = append(steps, w.thenAll...)
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
