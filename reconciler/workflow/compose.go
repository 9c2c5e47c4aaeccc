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
	Actions   []PostDeploy
	Reason    string // why it is part of the workflow
}

// PostDeploy is an action that runs after its component was deployed, in the order given.
type PostDeploy struct {
	Action string
	After  []string // other components whose outputs it reads
}

// Compose lays out the steps of a workflow over components: for each, plan, approve, apply, and its actions. A component comes
// after what it needs, in a destroy before it; independent ones have no edges between them and run in parallel. The order of the
// steps is stable: by dependency, then by name. newID names the steps. A cycle is an error that names its members.
func Compose(kind Kind, parts []Part, newID func() string) ([]*Step, error) {
	destroy := kind == KindTeardown || kind == KindDeprovision
	needs, err := edges(parts, destroy)
	if err != nil {
		return nil, err
	}
	order, err := sorted(needs)
	if err != nil {
		return nil, err
	}
	byName := map[string]Part{}
	for _, p := range parts {
		byName[p.Component] = p
	}
	var steps []*Step
	applies := map[string]string{}
	for _, name := range order {
		three := threeSteps(byName[name], destroy, needs[name], applies, newID)
		applies[name] = three[2].ID
		steps = append(steps, three...)
	}
	if destroy {
		return steps, nil
	}
	for _, name := range order {
		steps = append(steps, actionSteps(byName[name], applies, newID)...)
	}
	return steps, nil
}

// ComposeAction is the one step of an action that a person asked for.
func ComposeAction(action, reason string, newID func() string) []*Step {
	return []*Step{{ID: newID(), Kind: StepAction, Action: action, Status: StepPending, Reason: reason}}
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

func threeSteps(p Part, destroy bool, needs []string, applies map[string]string, newID func() string) []*Step {
	step := func(kind StepKind, reason string, after ...string) *Step {
		return &Step{ID: newID(), Kind: kind, Component: p.Component, Destroy: destroy, Needs: after, Status: StepPending, Reason: reason}
	}
	var after []string
	for _, name := range needs {
		after = append(after, applies[name])
	}
	reason := p.Reason
	if len(needs) > 0 {
		reason = "comes after " + strings.Join(needs, ", ")
	}
	plan := step(StepPlan, reason, after...)
	approve := step(StepApprove, "comes after its plan", plan.ID)
	return []*Step{plan, approve, step(StepApply, "comes after its approval", approve.ID)}
}

func actionSteps(p Part, applies map[string]string, newID func() string) []*Step {
	var steps []*Step
	for _, a := range p.Actions {
		needs := []string{applies[p.Component]}
		for _, other := range a.After {
			if apply, in := applies[other]; in && other != p.Component {
				needs = append(needs, apply)
			}
		}
		if len(steps) > 0 {
			needs = append(needs, steps[len(steps)-1].ID)
		}
		steps = append(steps, &Step{
			ID: newID(), Kind: StepAction, Component: p.Component, Action: a.Action, Needs: needs,
			Status: StepPending, Reason: "runs after " + p.Component + " was deployed",
		})
	}
	return steps
}
