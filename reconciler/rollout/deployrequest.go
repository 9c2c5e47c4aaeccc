package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// DeployRequest is a person's request about an install's components.
type DeployRequest struct {
	Kind       workflow.Kind // KindDeploy, KindTeardown or KindDeprovision
	Components []string      // deploy: these, or with none all that is behind; teardown: these
	Dependents bool          // also the components that depend on them
	Redeploy   bool          // deploy: plan them even if they are up to date
	PlanOnly   bool          // plan and show only, without approvals or applies
	Actor      string
}

// The codes of the refusals of a request, in addition to those of request.go.
const (
	CodeNoComponents   = "no_components"
	CodeSandbox        = "sandbox"
	CodeSwitchedOff    = "switched_off"
	CodeDeprovisioning = "deprovisioning"
)

// resolvedRequest is a resolved request.
type resolvedRequest struct {
	DeployRequest
	selected  []string // its components with their dependents, in order; none for all
	tearDown  []string // components that are torn down
	bringBack []string // components that were torn down and are to be deployed again
}

// resolveRequest checks a request, and changes the snapshot to the install as it will be: with the requested
// desired state, and without the refusals that the request deletes. It writes nothing. Errors:
// *refusal.Error.
func (s *snapshot) resolveRequest(req DeployRequest) (resolvedRequest, error) {
	g := resolvedRequest{DeployRequest: req, selected: slices.Clone(req.Components)}
	for _, name := range req.Components {
		if s.components[name] == nil {
			return g, unknownComponent(s.install, name)
		}
	}
	var err error
	switch req.Kind {
	case workflow.KindTeardown:
		err = s.resolveTeardown(&g)
	case workflow.KindDeploy:
		err = s.resolveDeploy(&g)
	}
	if err != nil {
		return g, err
	}
	slices.Sort(g.selected)
	g.selected = slices.Compact(g.selected)
	rejections := map[string]map[string]store.Rejection{}
	for name, p := range s.components {
		rejections[name] = p.rejections
	}
	s.applyAssumptions(g.assumptions())
	for name, p := range s.components {
		if !g.clearsRejections(name) {
			p.rejections = rejections[name]
		}
	}
	for _, name := range g.tearDown {
		s.components[name].row.TornDownReason = g.tearDownReason(name)
	}
	return g, nil
}

// clearsRejections reports whether the request deletes the refusals of a component.
func (r resolvedRequest) clearsRejections(name string) bool {
	return r.PlanOnly || len(r.selected) == 0 || slices.Contains(r.selected, name)
}

func unknownComponent(install store.Install, name string) error {
	return conflict(CodeUnknownComponent, "Name one of those that `nuon installs get` shows.",
		"install %s has no component %.60q", install.Name, name)
}

// resolveDeploy adds the dependents, and brings back the torn down ones among the named
// components and those that they need.
func (s *snapshot) resolveDeploy(g *resolvedRequest) error {
	if len(g.selected) == 0 && g.Redeploy {
		return conflict(CodeNoComponents, "Name the components.", "a redeploy needs components, and none is named")
	}
	if g.Dependents {
		g.selected = append(g.selected, s.enabledDependents(g.selected)...)
	}
	for _, name := range g.selected {
		if p := s.components[name]; p.config != nil && !p.config.Enabled(s.toggles) {
			return conflict(CodeSwitchedOff, fmt.Sprintf("Enable it: nuon installs enable %s %s.", s.address(), name),
				"%s is disabled on install %s", name, s.install.Name)
		}
	}
	need := slices.Clone(g.selected)
	for i := 0; i < len(need); i++ { // need grows in the loop
		p := s.components[need[i]]
		if p == nil {
			continue
		}
		if p.row.TornDown {
			g.bringBack = append(g.bringBack, need[i])
		}
		for _, up := range p.dependsOn {
			if !slices.Contains(need, up) {
				need = append(need, up)
			}
		}
	}
	slices.Sort(g.bringBack)
	g.bringBack = slices.Compact(g.bringBack)
	return nil
}

// enabledDependents returns the components of the release that are switched on and need one
// of the named ones, directly or indirectly.
func (s *snapshot) enabledDependents(names []string) []string {
	in := slices.Clone(names)
	for i := 0; i < len(in); i++ { // in grows in the loop
		for _, name := range s.names() {
			p := s.components[name]
			if p.config != nil && p.config.Enabled(s.toggles) && slices.Contains(p.dependsOn, in[i]) &&
				!slices.Contains(in, name) {
				in = append(in, name)
			}
		}
	}
	return in[len(names):]
}

// resolveTeardown adds the dependents, or returns an error if there are some and the request does not
// include them.
func (s *snapshot) resolveTeardown(g *resolvedRequest) error {
	switch {
	case s.install.DesiredPresence == "absent":
		return conflict(CodeDeprovisioning, "No further request is needed.",
			"install %s is being deprovisioned",
			s.install.Name)
	case len(g.selected) == 0:
		return conflict(CodeNoComponents, "Name the components, or remove everything with `nuon installs deprovision`.",
			"a teardown needs components, and none is named")
	case slices.Contains(g.selected, appconfig.SandboxName):
		return conflict(CodeSandbox, "To remove everything, use `nuon installs deprovision`.",
			"every component on install %s needs the sandbox", s.install.Name)
	}
	if on := s.dependents(s.desiredStates(), g.selected...); len(on) > 0 && !g.Dependents {
		return conflict(CodeNeededBy, "Tear those down too (--dependents).", "%s needed by %s", isOrAre(g.selected),
			strings.Join(on, ", "))
	} else if len(on) > 0 {
		g.selected = append(g.selected, on...)
	}
	for _, name := range g.selected {
		if s.components[name].config != nil { // a component that left the app is destroyed anyway
			g.tearDown = append(g.tearDown, name)
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

// assumptions returns the desired state once the request is applied.
func (r resolvedRequest) assumptions() workflow.Assumptions {
	return workflow.Assumptions{Absent: r.Kind == workflow.KindDeprovision, TornDown: r.tearDown, Deployed: r.bringBack}
}

func (r resolvedRequest) tearDownReason(name string) string {
	return fmt.Sprintf("%s was torn down by %s", name, r.Actor)
}

// requestedStarts returns the workflows that the request itself is for; other missing ones come in addition. A
// component that another workflow is changing is torn down once that workflow has released it.
func (s *snapshot) requestedStarts(g resolvedRequest, states map[string]*desiredState,
	now runningWorkflows) []workflowStart {
	switch {
	case g.Kind == workflow.KindTeardown:
		var names []string
		for _, name := range g.selected {
			if w := states[name]; w.Absent && w.behind && !w.externalWait && !now.busy[name] {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return []workflowStart{{kind: workflow.KindTeardown, components: names,
				reason: fmt.Sprintf("%s requested the teardown of %s", g.Actor, strings.Join(g.selected, ", "))}}
		}
	case g.Redeploy && s.provisioned(states):
		var names []string
		for _, name := range g.selected {
			if !states[name].Absent {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return []workflowStart{{
				kind: workflow.KindDeploy, components: names, redeploy: names,
				reason: fmt.Sprintf("%s requested the redeploy of %s", g.Actor, strings.Join(names, ", ")),
			}}
		}
	}
	return nil
}
