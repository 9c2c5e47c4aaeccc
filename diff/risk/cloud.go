package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// googleGrants returns the roles that a google_*_iam_* resource grants, each with its member and its
// condition.
func googleGrants(v raw.Value) map[string]bool {
	out := map[string]bool{}
	add := func(binding raw.Value) {
		condition, _ := raw.Text(get(binding, "condition"))
		if get(binding, "condition").Len() == 0 && !get(binding, "condition").IsObject() {
			condition = ""
		}
		for _, m := range gather(binding, "member", "members") {
			out[strings.Join([]string{text(get(binding, "role")), m, condition}, "\n")] = true
		}
	}
	add(v)
	if data, ok := stringText(get(v, "policy_data")); ok && len(data) <= maxPolicy {
		doc, ok := tree.JSONText(data)
		if !ok {
			out["policy that cannot be read\n"+data] = true
		}
		for _, b := range oneOrMore(get(doc, "bindings")) {
			add(b)
		}
	}
	return out
}

// googlePublic reports whether a role is newly granted to everyone.
func googlePublic(before, after raw.Value) bool {
	was := googleGrants(before)
	for g := range googleGrants(after) {
		if parts := strings.Split(g, "\n"); !was[g] && len(parts) > 1 &&
			(parts[1] == "allUsers" || parts[1] == "allAuthenticatedUsers") {
			return true
		}
	}
	return false
}

// azureRoleWidens reports whether a role allows more than before. It compares actions (minus
// not_actions), for data and for management, in the role's scopes.
// https://learn.microsoft.com/azure/role-based-access-control/role-definitions
func azureRoleWidens(before, after raw.Value) bool {
	measures := []comparator{globs, {covers: azureScopeCovers}}
	for _, data := range []string{"", "data_"} {
		allow, deny := data+"actions", "not_"+data+"actions"
		if !covered(measures, azureGrants(after, allow), azureGrants(before, allow)) {
			return true
		}
		// An action in not_actions is not denied, only not allowed. It counts only where the role
		// has an action that would otherwise include it.
		var around []string
		for _, g := range azureGrants(after, allow) {
			around = append(around, g.dims[0].items...)
		}
		if !covered(measures[:1], overlapping(azureLeftOut(before, deny), around), azureLeftOut(after, deny)) {
			return true
		}
	}
	return false
}

func azureGrants(role raw.Value, key string) []grant {
	scopes := gather(role, "assignable_scopes", "scope")
	return each(get(role, "permissions"), func(p raw.Value) (grant, bool) {
		return grant{dims: []dimension{itemsOnly(lower(gather(p, key))...), itemsOnly(scopes...)}}, true
	})
}

func azureLeftOut(role raw.Value, key string) []grant {
	return each(get(role, "permissions"), func(p raw.Value) (grant, bool) {
		return grant{dims: []dimension{itemsOnly(lower(gather(p, key))...)}}, true
	})
}

// overlapping returns the grants that overlap with a list of patterns. Grants that are too large to
// compare count as overlapping.
func overlapping(grants []grant, patterns []string) []grant {
	known := newCoverage([]comparator{globs}, []grant{{dims: []dimension{itemsOnly(patterns...)}}})
	exact, loose := known.shapes[0][0].exact, known.shapes[0][0].loose
	meets := func(item string) bool {
		if exact[item] || exact["*"] {
			return true
		}
		others := loose
		if item == "*" || isPattern(item) {
			others = patterns
		}
		return slices.ContainsFunc(others, func(p string) bool {
			return !spendBudget(&known.budget, p, item) || globsMeet(item, p)
		})
	}
	var out []grant
	for _, g := range grants {
		if slices.ContainsFunc(g.dims[0].items, meets) {
			out = append(out, g)
		}
	}
	return out
}

func azureScopeCovers(outer, inner string) bool {
	return outer == "/" || strings.EqualFold(outer, inner) ||
		strings.HasPrefix(strings.ToLower(inner), strings.ToLower(outer)+"/")
}

func lower(list []string) []string {
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return list
}
