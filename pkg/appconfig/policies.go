package appconfig

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// PlanPolicies returns the policies that plans of a component must pass, by name. Those for the
// cluster of the sandbox are not among them, because the cluster enforces them, and neither are those
// of images, which have no plan.
func (a *App) PlanPolicies(c *Component) []Policy {
	var out []Policy
	for _, p := range a.Policies {
		if p.Contents != "" && appliesTo(&p, c) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(x, y Policy) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// MirrorsImages reports whether plans of a component must have only images of the install's registry.
func (a *App) MirrorsImages(c *Component) bool {
	return a.Metadata.RequireMirroredImages && (c.Helm != nil || c.Manifest != nil)
}

// appliesTo reports whether plans of the component must pass the policy. A policy without a list of
// components has a type from the time before policies named them, and applies to all.
func appliesTo(p *Policy, c *Component) bool {
	if c.Kind == KindSandbox {
		return p.Type == policySandbox
	}
	if isUnplanned(p.Type) || !slices.Contains(coveredKinds[p.Type], c.Kind) {
		return false
	}
	return len(p.Components) == 0 || slices.Contains(p.Components, "*") || slices.Contains(p.Components, c.Name)
}

// isUnplanned reports whether policies of the type are about something that has no plan, or whose
// plans are not evaluated yet.
func isUnplanned(policyType string) bool {
	switch policyType {
	case format.KindDockerBuild, format.KindContainerImage, format.KindPulumi:
		return true
	}
	return false
}
