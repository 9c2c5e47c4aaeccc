package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// autogen is the annotation that lists the owners of pods for which a rule is also generated.
const autogen = "pod-policies.kyverno.io/autogen-controllers"

// checkPolicy checks the rules that the types alone do not express.
func (r *reader) checkPolicy(n *yaml.Node, policy *Policy) {
	_, isSet := policy.Metadata.Annotations[autogen]
	if metadata, _ := lookup(n, "metadata"); isSet && metadata != nil {
		r.reportNotEvaluated(metadata, "the annotation "+autogen)
	}
	spec, _ := lookup(n, "spec")
	rules, _ := lookup(spec, "rules")
	if rules == nil || rules.Kind != yaml.SequenceNode {
		return
	}
	if len(rules.Content) == 0 {
		r.reportError(rules, "kyverno-missing", "the policy has no rules", "add a rule")
	}
	seen := map[string]bool{}
	for i, rule := range rules.Content {
		if rule = resolve(rule); rule == nil || rule.Kind != yaml.MappingNode || i >= len(policy.Spec.Rules) {
			continue
		}
		r.checkRule(rule, &policy.Spec.Rules[i])
		if at, name := lookup(rule, "name"); at != nil && name != "" && !source.HasPlaceholder(name) {
			if seen[name] {
				r.reportError(at, "kyverno-duplicate", "another rule of this policy is called "+source.Quote(name)+", too",
					"give each rule a name of its own")
			}
			seen[name] = true
		}
	}
}

func (r *reader) checkRule(n *yaml.Node, rule *Rule) {
	const longest = 63
	if at, name := lookup(n, "name"); at != nil && len(name) > longest && !source.HasPlaceholder(name) {
		r.reportError(at, "kyverno-value", fmt.Sprintf("the name of a rule has at most %d characters, and this one has %d",
			longest, len(name)), "shorten it")
	}
	r.oneOf(n, "a rule", "validate", "mutate", "generate", "verifyImages")
	if validate, _ := lookup(n, "validate"); validate != nil && validate.Kind == yaml.MappingNode {
		r.oneOf(validate, "validate", "pattern", "anyPattern", "deny", "foreach", "podSecurity",
			"cel", "manifests", "assert")
	}
	if mutate, _ := lookup(n, "mutate"); mutate != nil && mutate.Kind == yaml.MappingNode {
		r.oneOf(mutate, "mutate", "patchStrategicMerge", "patchesJson6902", "foreach")
	}
	r.checkMatch(n, "match", rule.Match, true)
	r.checkMatch(n, "exclude", rule.Exclude, false)
	r.checkOperators(n)
}

// oneOf requires exactly one of these keys.
func (r *reader) oneOf(n *yaml.Node, name string, keys ...string) {
	var has []string
	for _, key := range keys {
		if at, _ := lookup(n, key); at != nil {
			has = append(has, key)
		}
	}
	if len(has) == 1 || hasMerge(n) {
		return
	}
	choice := strings.Join(keys[:len(keys)-1], ", ") + " or " + keys[len(keys)-1]
	if len(has) == 0 {
		r.reportError(n, "kyverno-rule", fmt.Sprintf("%s does nothing: it has none of %s", name,
			strings.ReplaceAll(choice, " or ", " and ")), "add one of "+choice)
		return
	}
	r.reportError(n, "kyverno-rule", fmt.Sprintf("%s has %s, and may have only one of them", name,
		strings.Join(has, " and ")), "make one of each")
}

// hasMerge reports whether a map may get keys from elsewhere.
func hasMerge(n *yaml.Node) bool {
	return slices.ContainsFunc(n.Content, func(one *yaml.Node) bool {
		return one.Kind == yaml.ScalarNode && one.ShortTag() == "!!merge"
	})
}

// checkMatch requires a match that selects something, in one of its forms.
func (r *reader) checkMatch(rule *yaml.Node, key string, match Match, needed bool) {
	n, _ := lookup(rule, key)
	if n == nil || n.Kind != yaml.MappingNode || hasMerge(n) {
		return
	}
	var has []string
	for _, form := range []string{"any", "all", "resources", "subjects", "roles", "clusterRoles"} {
		if at, _ := lookup(n, form); at != nil {
			has = append(has, form)
		}
	}
	switch {
	case len(has) == 0 && needed:
		r.reportError(n, "kyverno-missing", key+" chooses nothing", "add any with a list of resources")
	case len(has) > 1 && (has[0] == "any" || has[0] == "all"):
		r.reportError(n, "kyverno-rule", fmt.Sprintf("%s has %s, and may have only one form", key,
			strings.Join(has, " and ")), "put all of it under any, or all of it under all")
	}
	for _, filter := range slices.Concat(match.Any, match.All, []Filter{match.Filter}) {
		for _, kind := range filter.Resources.Kinds {
			if isSubresource(kind) {
				r.reportNotEvaluated(n, "the subresource "+source.Quote(kind))
			}
		}
	}
}

// isSubresource reports whether a kind such as Pod/exec, v1/Pod/exec or Pod.status is a part of an
// object. A group contains dots, a version starts with v or is a wildcard, and a kind is
// capitalized.
func isSubresource(kind string) bool {
	last := kind[strings.LastIndexByte(kind, '/')+1:]
	if strings.Contains(kind, "{{") || source.HasPlaceholder(kind) || last == "" {
		return false
	}
	if _, part, ok := strings.Cut(last, "."); ok && part != "" && !strings.Contains(kind, "/") {
		return true
	}
	return strings.Contains(kind, "/") && last[0] >= 'a' && last[0] <= 'z'
}

// isEvaluated reports whether conditions with this operator are evaluated here.
func isEvaluated(operator string) bool {
	return slices.Contains([]string{"Equal", "Equals", "NotEqual", "NotEquals", "In", "AnyIn", "AllIn", "NotIn",
		"AnyNotIn", "AllNotIn"}, operator)
}

// checkOperators reports the operators below a rule that are not evaluated here.
func (r *reader) checkOperators(n *yaml.Node) {
	for _, list := range conditionLists(n, 0) {
		for _, condition := range list.Content {
			if at, operator := lookup(condition, "operator"); at != nil && !isEvaluated(operator) &&
				strings.Contains(operator, "Than") {
				r.reportNotEvaluated(at, "the operator "+source.Plain(operator))
			}
		}
	}
}

// conditionLists returns the lists of conditions of a rule, at all places where its schema has
// them.
func conditionLists(n *yaml.Node, depth int) []*yaml.Node {
	if n = resolve(n); n == nil || depth > 4 {
		return nil
	}
	var all []*yaml.Node
	conditions := func(at *yaml.Node) {
		if at = resolve(at); at != nil && at.Kind == yaml.SequenceNode {
			all = append(all, at)
			return
		}
		for _, key := range []string{"any", "all"} {
			if list, _ := lookup(at, key); list != nil && list.Kind == yaml.SequenceNode {
				all = append(all, list)
			}
		}
	}
	if at, _ := lookup(n, "preconditions"); at != nil {
		conditions(at)
	}
	if deny, _ := lookup(n, "deny"); deny != nil {
		if at, _ := lookup(deny, "conditions"); at != nil {
			conditions(at)
		}
	}
	for _, key := range []string{"validate", "mutate"} {
		if at, _ := lookup(n, key); at != nil {
			all = append(all, conditionLists(at, depth+1)...)
		}
	}
	if each, _ := lookup(n, "foreach"); each != nil && each.Kind == yaml.SequenceNode {
		for _, one := range each.Content {
			all = append(all, conditionLists(one, depth+1)...)
		}
	}
	return all
}
