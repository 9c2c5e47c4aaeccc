package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// Part is one component that a workflow is about.
type Part struct {
	Component string
	After     []string // components that it needs, the sandbox among them; those that are no part of the workflow do not count
	Base      bool     // it is the sandbox: what Around calls all components is all but this one
	Before    []Act    // run once its plan was approved, before its apply, in the order given
	Then      []Act    // run after its apply, in the order given
	Reason    string   // why it is part of the workflow
}

// Act is an action that runs because of what a workflow does.
type Act struct {
	Action  string
	Trigger string   // the event, as the action names it: pre-… before it, post-… after it
	After   []string // of what runs after a deploy: other components whose outputs it reads
}

// Around are the actions around more than one component, each list in the order in which it runs.
type Around struct {
	Before, Then       []Act // before the first plan, after all else
	BeforeAll, ThenAll []Act // the same of the components without the sandbox
}

// Compose lays out the steps of a workflow over components: for each, sync, plan, approve, apply, and its actions; of a restore no
// sync, for that needs no artifact. A component comes
// after what it needs, in a destroy before it; independent ones have no edges between them and run in parallel. The order of the
// steps is stable: by dependency, then by name. newID names the steps. A cycle is an error that names its members.
func Compose(kind Kind, parts []Part, around Around, newID func() string) ([]*Step, error) {
	order, needs, err := arranged(kind, parts)
	if err != nil {
		return nil, err
	}
	c := composing{destroy: kind.destroys(), synced: kind != KindRestore, parts: map[string]Part{}, groups: map[string]*composed{}, newID: newID}
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

// ComposePlans lays out a workflow that plans components and shows it, and neither asks nor applies. No plan waits for another.
func ComposePlans(kind Kind, parts []Part, newID func() string) ([]*Step, error) {
	order, _, err := arranged(kind, parts)
	if err != nil {
		return nil, err
	}
	var steps []*Step
	for _, name := range order {
		i := slices.IndexFunc(parts, func(p Part) bool { return p.Component == name })
		step := func(kindOf StepKind, reason string, needs ...string) *Step {
			return &Step{ID: newID(), Kind: kindOf, Component: name, Destroy: kind.destroys(), Needs: needs, Status: StepPending, Reason: reason}
		}
		sync := step(StepSync, parts[i].Reason)
		steps = append(steps, sync, step(StepPlan, afterSync, sync.ID))
	}
	return steps, nil
}

// ComposeAction is the one step of an action that a person asked for. Trigger and component are those of the run that it repeats.
func ComposeAction(act Act, component, reason string, newID func() string) []*Step {
	return []*Step{{
		ID: newID(), Kind: StepAction, Component: component, Action: act.Action, Trigger: act.Trigger, Status: StepPending, Reason: reason,
	}}
}

// arranged gives the parts in the order in which they are worked on, and what each waits for.
func arranged(kind Kind, parts []Part) (order []string, needs map[string][]string, err error) {
	if needs, err = edges(parts, kind.destroys()); err != nil {
		return nil, nil, err
	}
	order, err = sorted(needs)
	return order, needs, err
}

// edges gives what each part waits for, within the parts.
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

// sorted gives the names so that each comes after what it needs; of those that could come next, the first by name.
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

// composing is a workflow that is being laid out.
type composing struct {
	destroy bool
	synced  bool // each plan has a sync before it
	parts   map[string]Part
	groups  map[string]*composed
	newID   func() string
}

// composed is one component's steps.
type composed struct {
	sync, plan, approve, apply *Step // sync is nil where nothing is copied
	before, then               []*Step
}

// first is the step with which the component begins.
func (c *composed) first() *Step {
	if c.sync != nil {
		return c.sync
	}
	return c.plan
}

// main are the component's steps without its actions.
func (c *composed) main() []*Step {
	if c.sync != nil {
		return []*Step{c.sync, c.plan, c.approve, c.apply}
	}
	return []*Step{c.plan, c.approve, c.apply}
}

// afterSync is why a plan waits at first.
const afterSync = "comes after its artifact was copied"

// group makes a component's own steps, after those of what it needs.
func (c *composing) group(p Part, needs []string) {
	step := func(kind StepKind, reason string, after ...string) *Step {
		return &Step{ID: c.newID(), Kind: kind, Component: p.Component, Destroy: c.destroy, Needs: after, Status: StepPending, Reason: reason}
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

// own makes a component's own actions: between its approval and its apply, and after that.
func (c *composing) own(name string) {
	p, g := c.parts[name], c.groups[name]
	g.before = c.chain(p.Before, name, []string{g.approve.ID}, fmt.Sprintf("runs before %s is %s", name, verb(c.destroy)))
	g.apply.Needs = append(g.apply.Needs, idsOf(g.before)...)
	g.then = c.chain(p.Then, name, []string{g.apply.ID}, fmt.Sprintf("runs after %s was %s", name, verb(c.destroy)))
	if c.destroy || p.Base {
		return // what it may read is gone, or waits for it
	}
	for i, s := range g.then {
		for _, other := range p.Then[i].After {
			if read, in := c.groups[other]; in && other != name {
				s.Needs = slices.Insert(s.Needs, 1, read.apply.ID)
			}
		}
	}
}

// chain makes the steps of actions that run one after the other.
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

// wide are the steps of the actions around more than one component.
type wide struct{ first, beforeAll, thenAll, last []*Step }

// wide makes them. The inner ones stand around all components but the sandbox, if there are any.
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

// hold lets a component's first step wait for actions. What comes before a component must have ended well (pre-…); what came after
// another one must only have ended, and holds up just what would take its ground away: the sandbox under it, what it needed, or,
// after the sandbox was made, what is built on that.
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

// all gives the steps in the order in which they are shown: each component's own actions stand right behind it.
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
