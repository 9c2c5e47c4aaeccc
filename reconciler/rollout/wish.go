package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Wish is a person's request about an install's components.
type Wish struct {
	Kind       workflow.Kind // KindDeploy, KindTeardown or KindDeprovision
	Components []string      // deploy: these, or with none all that is behind; teardown: these
	Dependents bool          // also the components that depend on them
	Redeploy   bool          // deploy: plan them even if they are up to date
	PlanOnly   bool          // plan and show only, without approvals or applies
	Actor      string
}

// The codes of the *workflow.Conflict errors of a request, in addition to those of ask.go.
const (
	CodeNoComponents = "no_components"
	CodeSandbox      = "sandbox"
	CodeSwitchedOff  = "switched_off"
	CodeToBeGone     = "to_be_gone"
)

// granted is a resolved request.
type granted struct {
	Wish
	named []string // its components with their dependents, in order; none for all
	down  []string // components that are torn down
	back  []string // components that were torn down and are to be deployed again
}

// grant checks a request, and changes the snapshot to the install as it will be: with the requested
// desired state, and without the refusals that the request deletes. It writes nothing. Errors:
// *workflow.Conflict.
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

// forgets reports whether the request deletes the refusals of a component.
func (g granted) forgets(name string) bool {
	return g.PlanOnly || len(g.named) == 0 || slices.Contains(g.named, name)
}

func unknownComponent(install store.Install, name string) error {
	return refuse(CodeUnknownComponent, "Name one of those that `nuon installs get` shows.",
		"install %s has no component %.60q", install.Name, name)
}

// grantDeploy adds the dependents, and brings back the torn down ones among the named
// components and those that they need.
func (s *snapshot) grantDeploy(g *granted) error {
	if len(g.named) == 0 && g.Redeploy {
		return refuse(CodeNoComponents, "Name the components.", "a redeploy is of components, and none is named")
	}
	if g.Dependents {
		g.named = append(g.named, s.standingOn(g.named)...)
	}
	for _, name := range g.named {
		if p := s.places[name]; p.config != nil && !p.config.On(s.toggles) {
			return refuse(CodeSwitchedOff, fmt.Sprintf("Switch it on: nuon installs enable %s %s.", s.address(), name),
				"%s is switched off on install %s", name, s.install.Name)
		}
	}
	need := slices.Clone(g.named)
	for i := 0; i < len(need); i++ { // need grows in the loop
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

// standingOn returns the components of the release that are switched on and need one
// of the named ones, directly or indirectly.
func (s *snapshot) standingOn(names []string) []string {
	in := slices.Clone(names)
	for i := 0; i < len(in); i++ { // in grows in the loop
		for _, name := range s.names() {
			p := s.places[name]
			if p.config != nil && p.config.On(s.toggles) && slices.Contains(p.after, in[i]) && !slices.Contains(in, name) {
				in = append(in, name)
			}
		}
	}
	return in[len(names):]
}

// grantTeardown adds the dependents, or returns an error if there are some and the request does not
// include them.
func (s *snapshot) grantTeardown(g *granted) error {
	switch {
	case s.install.Wanted == "absent":
		return refuse(CodeToBeGone, "Nothing more needs to be asked.", "install %s is to be gone with all that it has",
			s.install.Name)
	case len(g.named) == 0:
		return refuse(CodeNoComponents, "Name the components, or remove everything with `nuon installs deprovision`.",
			"a teardown is of components, and none is named")
	case slices.Contains(g.named, appconfig.SandboxName):
		return refuse(CodeSandbox, "To remove everything, use `nuon installs deprovision`.",
			"everything on install %s stands on the sandbox", s.install.Name)
	}
	if on := s.dependents(s.desire(), g.named...); len(on) > 0 && !g.Dependents {
		return refuse(CodeNeededBy, "Tear those down too (--dependents).", "%s needed by %s", isOrAre(g.named),
			strings.Join(on, ", "))
	} else if len(on) > 0 {
		g.named = append(g.named, on...)
	}
	for _, name := range g.named {
		if s.places[name].config != nil { // a component that left the app is destroyed anyway
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

// supposed returns the desired state once the request is applied.
func (g granted) supposed() workflow.Supposed {
	return workflow.Supposed{Absent: g.Kind == workflow.KindDeprovision, TornDown: g.down, Wanted: g.back}
}

func (g granted) downReason(name string) string {
	return fmt.Sprintf("%s was torn down by %s", name, g.Actor)
}

// asks returns the workflows that the request itself is for; other missing ones come in addition. A
// component that another workflow is changing is torn down once that workflow has released it.
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
			return []start{{kind: workflow.KindTeardown, components: names,
				reason: fmt.Sprintf("%s asked for the teardown of %s", g.Actor, strings.Join(g.named, ", "))}}
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
