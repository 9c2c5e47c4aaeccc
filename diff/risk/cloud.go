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

// azureBlock is what one block of permissions of a role allows: its actions without those left out.
type azureBlock struct {
	actions, leftOut []string
	// exact and exactOut hold the same texts, and patterns those of the actions that match others.
	exact, exactOut map[string]bool
	patterns        []string
}

// azureRoleWidens reports whether a role allows more than before. It compares actions (minus
// not_actions), for data and for management, in the role's scopes.
// https://learn.microsoft.com/azure/role-based-access-control/role-definitions
func azureRoleWidens(before, after raw.Value) bool {
	budget := maxCompared
	had, has := gather(before, "assignable_scopes", "scope"), gather(after, "assignable_scopes", "scope")
	moreScopes := slices.ContainsFunc(has, func(scope string) bool {
		return !slices.ContainsFunc(had, func(outer string) bool {
			return spendBudget(&budget, scope, outer) && azureScopeCovers(outer, scope)
		})
	})
	for _, data := range []string{"", "data_"} {
		allowed := azureBlocks(before, data)
		for _, block := range azureBlocks(after, data) {
			for _, action := range block.actions {
				if moreScopes || !slices.ContainsFunc(allowed, func(outer azureBlock) bool {
					return outer.covers(action, block, &budget)
				}) {
					return true
				}
			}
		}
	}
	return false
}

// azureBlocks returns the blocks of permissions of a role, without actions that their own block leaves out.
func azureBlocks(role raw.Value, data string) []azureBlock {
	var blocks []azureBlock
	for _, p := range oneOrMore(get(role, "permissions")) {
		b := azureBlock{leftOut: lower(gather(p, "not_"+data+"actions")), exact: map[string]bool{},
			exactOut: map[string]bool{}}
		for _, out := range b.leftOut {
			b.exactOut[out] = true
		}
		for _, action := range lower(gather(p, data+"actions")) {
			if b.exactOut[action] || b.exactOut["*"] {
				continue
			}
			b.actions, b.exact[action] = append(b.actions, action), true
			if strings.Contains(action, "*") {
				b.patterns = append(b.patterns, action)
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// covers reports whether a block allows an action of another block, except what both leave out. An action in
// not_actions is not denied, only not allowed by its block.
func (b azureBlock) covers(action string, other azureBlock, budget *int) bool {
	if !b.exact[action] && !slices.ContainsFunc(b.patterns, func(pattern string) bool {
		return spendBudget(budget, pattern, action) && globCovers(pattern, action)
	}) {
		return false
	}
	return !slices.ContainsFunc(b.leftOut, func(out string) bool {
		switch {
		case other.exactOut[out], !strings.Contains(out+action, "*") && out != action:
			return false
		case !spendBudget(budget, out, action):
			return true
		}
		return globsMeet(out, action) && !slices.ContainsFunc(other.leftOut, func(also string) bool {
			return spendBudget(budget, also, out) && globCovers(also, out)
		})
	})
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
