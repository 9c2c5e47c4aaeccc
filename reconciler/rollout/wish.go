package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Wish is what a person asks of an install's components.
type Wish struct {
	Kind       workflow.Kind // KindDeploy, KindTeardown or KindDeprovision
	Components []string      // deploy: these, or with none whatever is behind; teardown: these
	Dependents bool          // also what depends on them
	Redeploy   bool          // deploy: plan them also when they are as they are wanted
	PlanOnly   bool          // plan and show, and neither ask nor apply
	Actor      string
}

// The codes of *workflow.Conflict that a wish may end in, besides those of ask.go.
const (
	CodeNoComponents = "no_components"
	CodeSandbox      = "sandbox"
	CodeSwitchedOff  = "switched_off"
	CodeToBeGone     = "to_be_gone"
)

// granted is a wish as it is to be carried out.
type granted struct {
	Wish
	named []string // the components that it is about, with their dependents, in order; none for all
	down  []string // components that are torn down
	back  []string // components that were torn down and are to be there again
}

// grant checks a wish and makes the snapshot one of the install as it will be: wanted so, with what was said no to forgotten. It
// writes nothing. Errors: *workflow.Conflict.
func (s *snapshot) grant(wish Wish) (granted, error) {
	g := granted{Wish: wish, named: slices.Clone(wish.Components)}
	for _, name := range wish.Components {
		if s.places[name] == nil {
			return g, unknownComponent(s.install, name)
		}
	}
	var err error
	switch wish.Kind {
	case workflow.KindTeardown:
		err = s.grantTeardown(&g)
	case workflow.KindDeploy:
		err = s.grantDeploy(&g)
	}
	if err != nil {
		return g, err
	}
	slices.Sort(g.named)
	g.named = slices.Compact(g.named)
	refusals := map[string]map[string]store.Refusal{}
	for name, p := range s.places {
		refusals[name] = p.refusals
	}
	s.suppose(g.supposed())
	for name, p := range s.places {
		if !g.forgets(name) {
			p.refusals = refusals[name]
		}
	}
	for _, name := range g.down {
		s.places[name].row.TornDownReason = g.downReason(name)
	}
	return g, nil
}

// forgets says that what was said no to of a component is forgotten with the wish.
func (g granted) forgets(name string) bool {
	return g.PlanOnly || len(g.named) == 0 || slices.Contains(g.named, name)
}

func unknownComponent(install store.Install, name string) error {
	return refuse(CodeUnknownComponent, "Name one of those that `nuon installs get` shows.", "install %s has no component %.60q", install.Name, name)
}

// grantDeploy adds the dependents, and brings back what was torn down of those that are named and of what they need.
func (s *snapshot) grantDeploy(g *granted) error {
	if len(g.named) == 0 && g.Redeploy {
		return refuse(CodeNoComponents, "Name the components.", "a redeploy is of components, and none is named")
	}
	if g.Dependents {
		g.named = append(g.named, s.standingOn(g.named)...)
	}
	for _, name := range g.named {
		if p := s.places[name]; p.config != nil && !p.config.On(s.toggles) {
			return refuse(CodeSwitchedOff, fmt.Sprintf("Switch it on: nuon installs enable %s %s.", s.address(), name), "%s is switched off on install %s", name, s.install.Name)
		}
	}
	need := slices.Clone(g.named)
	for i := 0; i < len(need); i++ { // it grows
		p := s.places[need[i]]
		if p == nil {
			continue
		}
		if p.row.TornDown {
			g.back = append(g.back, need[i])
		}
		for _, up := range p.after {
			if !slices.Contains(need, up) {
				need = append(need, up)
			}
		}
	}
	slices.Sort(g.back)
	g.back = slices.Compact(g.back)
	return nil
}

// standingOn are the components of the release that are switched on and need one of those named, directly or by way of others.
func (s *snapshot) standingOn(names []string) []string {
	in := slices.Clone(names)
	for i := 0; i < len(in); i++ { // it grows
		for _, name := range s.names() {
			p := s.places[name]
			if p.config != nil && p.config.On(s.toggles) && slices.Contains(p.after, in[i]) && !slices.Contains(in, name) {
				in = append(in, name)
			}
		}
	}
	return in[len(names):]
}

// grantTeardown adds the dependents, or refuses while something needs what is to go.
func (s *snapshot) grantTeardown(g *granted) error {
	switch {
	case s.install.Wanted == "absent":
		return refuse(CodeToBeGone, "Nothing more needs to be asked.", "install %s is to be gone with all that it has", s.install.Name)
	case len(g.named) == 0:
		return refuse(CodeNoComponents, "Name the components, or remove everything with `nuon installs deprovision`.", "a teardown is of components, and none is named")
	case slices.Contains(g.named, appconfig.SandboxName):
		return refuse(CodeSandbox, "To remove everything, use `nuon installs deprovision`.", "everything on install %s stands on the sandbox", s.install.Name)
	}
	if on := s.dependents(s.desire(), g.named...); len(on) > 0 && !g.Dependents {
		return refuse(CodeNeededBy, "Tear those down too (--dependents).", "%s needed by %s", isOrAre(g.named), strings.Join(on, ", "))
	} else if len(on) > 0 {
		g.named = append(g.named, on...)
	}
	for _, name := range g.named {
		if s.places[name].config != nil { // what left the app goes anyway
			g.down = append(g.down, name)
		}
	}
	return nil
}

func isOrAre(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// supposed is what the install wants once the wish is granted.
func (g granted) supposed() workflow.Supposed {
	return workflow.Supposed{Absent: g.Kind == workflow.KindDeprovision, TornDown: g.down, Wanted: g.back}
}

func (g granted) downReason(name string) string {
	return fmt.Sprintf("%s was torn down by %s", name, g.Actor)
}

// asks are the workflows that the wish itself is for; what else is missing comes besides. A component that a workflow is at work on
// is torn down once that has let go of it.
func (s *snapshot) asks(g granted, wants map[string]*want, now running) []start {
	switch {
	case g.Kind == workflow.KindTeardown:
		var names []string
		for _, name := range g.named {
			if w := wants[name]; w.Absent && w.behind && !w.own && !now.busy[name] {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return []start{{kind: workflow.KindTeardown, components: names, reason: fmt.Sprintf("%s asked for the teardown of %s", g.Actor, strings.Join(g.named, ", "))}}
		}
	case g.Redeploy && s.provisioned(wants):
		var names []string
		for _, name := range g.named {
			if !wants[name].Absent {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return []start{{
				kind: workflow.KindDeploy, components: names, redeploy: names,
				reason: fmt.Sprintf("%s asked for the redeploy of %s", g.Actor, strings.Join(names, ", ")),
			}}
		}
	}
	return nil
}
