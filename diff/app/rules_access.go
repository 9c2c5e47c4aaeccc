package app

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

// roleRules returns the rules about what nuon may do in the customer's account.
func roleRules() []Rule {
	roles := []string{kindPermission, kindBreakGlass}
	return []Rule{
		{
			Name: "role-added", Kinds: roles, Actions: actionsCreate, Risk: diff.RiskAdditive, Security: true,
			Message: "the install stack creates one more role",
		},
		{
			Name: "role-widens", Kinds: roles, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "its policies allow more, or deny less; a policy that cannot be parsed counts as wider",
			matches: func(v *changeView) bool { wider, _ := widens(v.before, v.after); return wider },
			Message: "the role may do more than before, once the install stack has run again",
		},
		{
			Name: "role-all-powerful", Kinds: roles, Actions: actionsPresent, Risk: diff.RiskInPlace, Security: true,
			When:    "its policies newly allow every action on every resource",
			matches: func(v *changeView) bool { _, all := widens(v.before, v.after); return all },
			Message: "the role may do everything",
		},
		{
			Name: "role-boundary", Kinds: roles, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "its permissions_boundary changes",
			matches: func(v *changeView) bool { return v.changed("permissions_boundary") },
			Message: "the permissions boundary changes or is removed",
		},
		{
			Name: "role-enabled", Kinds: roles, Actions: actionsPresent, Risk: diff.RiskInPlace, Security: true,
			When:    "enabled_in_stack is set",
			matches: func(v *changeView) bool { return v.turnsOn("enabled_in_stack") },
			Message: "the role is enabled unless the customer disables it",
		},
		{
			Name: "role-removed", Kinds: roles, Actions: actionsDestroy, Risk: diff.RiskInPlace,
			Message: "the role is deleted once the install stack has run again, and operations that use it fail",
		},
		{
			Name: "operation-role", Kinds: []string{kindOperationRole}, Actions: allActions, Risk: diff.RiskInPlace,
			Security: true,
			Message:  "the operation runs with another role",
		},
	}
}

// policyRules returns the rules about the policies that plans must pass.
func policyRules() []Rule {
	kinds := []string{kindPolicy}
	return []Rule{
		{
			Name: "policy-added", Kinds: kinds, Actions: actionsCreate, Risk: diff.RiskAdditive,
			Message: "plans must pass this policy from now on",
		},
		{
			Name: "policy-removed", Kinds: kinds, Actions: actionsDestroy, Risk: diff.RiskInPlace, Security: true,
			Message: "plans that it blocked are allowed",
		},
		{
			Name: "policy-uncovers", Kinds: kinds, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "it no longer applies to everything that it applied to",
			matches: func(v *changeView) bool { return v.changed("type") || coversLess(v) },
			names:   uncoveredComponents,
			Message: "plans that it blocked are allowed where it no longer applies",
		},
		{
			Name: "policy-rules", Kinds: kinds, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "its contents or engine change",
			matches: func(v *changeView) bool { return v.changed("contents", "engine") },
			Message: "plans are checked by other rules, which may allow more",
		},
	}
}

// coversLess reports whether a policy no longer applies to all that it applied to.
func coversLess(v *changeView) bool {
	after := coveredComponents(v.after)
	return !slices.Contains(after, allComponents) && slices.ContainsFunc(coveredComponents(v.before),
		func(name string) bool { return !slices.Contains(after, name) })
}

// uncoveredComponents returns the components that a policy no longer applies to. Of a policy that
// applied to all, these are the app's components that it does not name.
func uncoveredComponents(v *changeView) []string {
	if !coversLess(v) {
		return nil
	}
	before, after := coveredComponents(v.before), coveredComponents(v.after)
	if slices.Contains(before, allComponents) {
		before = nil
		for i := range v.configAfter.app.Components {
			before = append(before, v.configAfter.app.Components[i].Name)
		}
	}
	return slices.DeleteFunc(before, func(name string) bool { return slices.Contains(after, name) })
}

// allComponents stands for every component in the list of a policy, and so does an empty list.
const allComponents = "*"

func coveredComponents(policy raw.Value) []string {
	names := listAt(policy, "components")
	if len(names) == 0 {
		return []string{allComponents}
	}
	return names
}

func listAt(table raw.Value, key string) []string {
	list, _ := table.Get(key)
	var texts []string
	for i := range list.Len() {
		text, _ := raw.Text(list.At(i))
		texts = append(texts, text)
	}
	return texts
}

// grants lists the keys of a role's policies that name permissions defined elsewhere.
var grants = []string{"managed_policy_name", "gcp_predefined_role", "gcp_permissions", "azure_built_in_roles",
	"azure_actions"}

// everything lists those names that allow everything.
var everything = map[string]bool{
	"managed_policy_name AdministratorAccess": true, "gcp_predefined_role roles/owner": true,
	"azure_built_in_roles Owner": true, "azure_actions *": true,
}

// widens reports whether a role's policies allow more than before, and whether they newly allow
// everything. All documents are compared as one, so moving a statement between them is no change.
func widens(before, after raw.Value) (wider, all bool) {
	was, is := granted(before), granted(after)
	for _, name := range is {
		if !slices.Contains(was, name) {
			wider, all = true, all || everything[name]
		}
	}
	a, understood := statements(before)
	b, alsoUnderstood := statements(after)
	if understood && alsoUnderstood {
		more, powerful := risk.PolicyWidens(a, b)
		return wider || more, all || powerful
	}
	named := func(role raw.Value) raw.Value { named, _ := role.Get("named_policies"); return named }
	return wider || !contentsOf(before).Equal(contentsOf(after)) || !named(before).Equal(named(after)), all
}

// granted returns the names in a role's policies, each with its key.
func granted(role raw.Value) []string {
	policies, _ := role.Get("policies")
	var all []string
	for i := range policies.Len() {
		for _, key := range grants {
			if text := raw.TextAt(policies.At(i), key); text != "" {
				all = append(all, key+" "+text)
			}
			for _, text := range listAt(policies.At(i), key) {
				all = append(all, key+" "+text)
			}
		}
	}
	if named, there := role.Get("named_policies"); there {
		text, _ := raw.Text(named)
		all = append(all, "named_policies "+text)
	}
	return all
}

// contentsOf returns the documents of a role, unparsed.
func contentsOf(role raw.Value) raw.Value {
	policies, _ := role.Get("policies")
	texts := []any{}
	for i := range policies.Len() {
		if text := raw.TextAt(policies.At(i), "contents"); text != "" {
			texts = append(texts, text)
		}
	}
	return raw.Of(texts)
}

// statements merges the statements of all documents of a role into one document. It returns false if
// one cannot be parsed.
func statements(role raw.Value) (doc raw.Value, ok bool) {
	all := []any{}
	for i := range contentsOf(role).Len() {
		text, _ := raw.Text(contentsOf(role).At(i))
		doc, err := raw.Parse([]byte(text))
		if err != nil {
			return raw.Value{}, false
		}
		some, there := doc.Get("Statement")
		if !there {
			return raw.Value{}, false
		}
		if !some.IsList() {
			all = append(all, some)
		}
		for j := range some.Len() {
			all = append(all, some.At(j))
		}
	}
	return raw.Of(map[string]any{"Statement": all}), true
}
