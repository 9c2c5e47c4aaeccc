package appconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// The engines of policies.
const (
	engineKyverno = "kyverno"
	engineOPA     = "opa"
)

// The types of policies that are not about a component.
const (
	policyCluster = "kubernetes_cluster" // enforced by the cluster itself
	policySandbox = "sandbox"
)

// policyOfActions is a former policy type. An action has no plan, so there is nothing to check.
const policyOfActions = "runner_job_action_workflow"

// coveredKinds are the kinds of component that each type of policy checks. A chart renders ordinary
// objects, so policies of charts check those of manifests too.
var coveredKinds = map[string][]string{
	format.KindTerraformModule:    {format.KindTerraformModule},
	format.KindHelmChart:          {format.KindHelmChart, format.KindKubernetesManifest},
	format.KindKubernetesManifest: {format.KindKubernetesManifest},
	format.KindDockerBuild:        {format.KindDockerBuild},
	format.KindContainerImage:     {format.KindContainerImage},
	format.KindPulumi:             {format.KindPulumi},
}

// checkPolicies checks each policy: section 11.1. It leaves the texts to startDocuments.
func (c *checker) checkPolicies() {
	for _, e := range c.policies {
		if e.value.Type == policyOfActions {
			c.warnf(ruleRemovedValue, e.table.Position("type"), "remove the policy",
				"policies of type %s check nothing any more", policyOfActions)
			continue
		}
		c.checkScope(e)
		if text, ok := c.policyText(e); ok && c.checkEngine(e, text) {
			c.documents = append(c.documents, policyDocument(&e.value, text))
		}
	}
}

// policyText returns the text of a policy, unless it is unknown.
func (c *checker) policyText(e *entry[format.Policy]) (*fragment, bool) {
	found := fragments("", e.table, e.keys, &e.value, e.texts,
		func(k *format.Key) bool { return k.Name == "contents" })
	if len(found) == 0 || strings.TrimSpace(found[0].text) == "" && found[0].file == nil {
		return nil, false
	}
	return &found[0], true
}

// hasOldType reports whether a policy has a type from the time before policies named components.
func hasOldType(t *syntax.Table) bool {
	kind, _ := t.Get("type").Text()
	return strings.HasPrefix(kind, "runner_job_")
}

// checkScope checks the components that a policy names.
func (c *checker) checkScope(e *entry[format.Policy]) {
	t, kind := e.table, e.value.Type
	covered, ofComponents := coveredKinds[kind]
	ofNone := kind == policyCluster || kind == policySandbox
	n := t.Get("components")
	switch {
	case kind == "":
		return // reported already
	case !ofComponents && !ofNone:
		types := slices.Sorted(maps.Keys(coveredKinds))
		types = append(types, policyCluster, policySandbox)
		hint := c.nearestHint(kind, types)
		if hint == "" {
			hint = "one of " + strings.Join(types, ", ")
		}
		c.errorf(ruleWrongValue, t.Position("type"), hint, "there is no policy type %s", diagnostic.Quote(kind))
		return
	case isUnplanned(kind):
		c.warnf(ruleNoEffectYet, t.Position("type"), "", noEffectYetPrefix+"policies of type %s", kind)
	}
	switch {
	case ofNone && n != nil:
		c.warnf(ruleNoEffect, n.Key, "remove it", "components has no effect on a policy of type %s", kind)
		return
	case ofComponents && n == nil && hasOldType(t): // older types name no components: the policy applies to all
		return
	case ofComponents && len(e.value.Components) == 0:
		c.errorf(rulePolicyScope, t.Position("type"), `write components = ["*"] for all of them`,
			`"components" is missing: a policy of type %s needs it`, kind)
		return
	}
	items, _ := n.Items()
	seen := map[string]bool{}
	for _, item := range items {
		name, ok := item.Text()
		if !ok || c.full() {
			continue // reported already
		}
		c.checkScoped(item.At, kind, name, covered, seen[name])
		seen[name] = true
	}
}

func (c *checker) checkScoped(at syntax.Position, kind, name string, covered []string, twice bool) {
	component := c.names.components[name]
	switch {
	case twice:
		c.errorf(ruleListedTwice, at, "remove it", "the component %s is listed twice", diagnostic.Quote(name))
	case name == "*":
	case component == nil:
		reportUnknown(c, at, "component", name, c.names.components)
	case !slices.Contains(covered, component.Type):
		c.errorf(rulePolicyScope, at, "remove it, or write a policy of type "+component.Type,
			"a policy of type %s cannot check component %q, which is a %s", kind, name, component.Type)
	}
}

// checkEngine compares the language of a policy with its engine, and the engine with what the
// policy checks. It reports whether the text can be checked further.
func (c *checker) checkEngine(e *entry[format.Policy], text *fragment) bool {
	t, policy := e.table, &e.value
	at := t.Position("contents")
	if n := t.Get("engine"); n != nil {
		at = n.At
	}
	switch isRego := looksLikeRego(text.text); {
	case policy.Engine != engineKyverno && policy.Engine != engineOPA:
		return false // reported already
	case policy.Engine == engineKyverno && isRego:
		c.errorf(rulePolicyEngine, at, `write engine = "opa"`, "the policy is Rego, and its engine is kyverno")
		return false
	case policy.Engine == engineOPA && looksLikeYAML(text.text):
		c.errorf(rulePolicyEngine, at, `write engine = "kyverno"`, "the policy is YAML, and its engine is opa")
		return false
	case policy.Engine == engineOPA && policy.Type == policyCluster:
		c.errorf(rulePolicyEngine, t.Position("type"),
			"write the type of what is checked before it is deployed, such as helm_chart",
			"policies of type %s are Kyverno's, which the cluster enforces", policyCluster)
	case policy.Engine == engineKyverno &&
		!slices.Contains([]string{"", policyCluster, format.KindHelmChart, format.KindKubernetesManifest}, policy.Type):
		c.warnf(rulePolicyEngine, t.Position("type"), `write it in Rego with engine = "opa"`,
			"a Kyverno policy of type %s is not evaluated: Kyverno checks Kubernetes objects only", policy.Type)
	}
	return true
}

// looksLikeRego reports whether the first line that is neither empty nor a comment declares a
// package.
func looksLikeRego(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if line != "" && line[0] != '#' {
			return strings.HasPrefix(line, "package ")
		}
	}
	return false
}

// looksLikeYAML reports whether a text is a Kubernetes object.
func looksLikeYAML(text string) bool {
	return strings.HasPrefix(text, "apiVersion:") || strings.Contains(text, "\napiVersion:")
}
