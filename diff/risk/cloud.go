package risk

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// googleGrants are the roles that a google_*_iam_* resource gives, each with its member and its condition.
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
	if data, ok := str(get(v, "policy_data")); ok && len(data) <= maxPolicy {
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

// googlePublic says that a role is newly given to everyone.
func googlePublic(before, after raw.Value) bool {
	was := googleGrants(before)
	for g := range googleGrants(after) {
		if parts := strings.Split(g, "\n"); !was[g] && len(parts) > 1 && (parts[1] == "allUsers" || parts[1] == "allAuthenticatedUsers") {
			return true
		}
	}
	return false
}

// azureRoleWidens compares what a role allows: actions (but not_actions) on data and on the rest, in its scopes.
// https://learn.microsoft.com/azure/role-based-access-control/role-definitions
func azureRoleWidens(before, after raw.Value) bool {
	measures := []measure{{covers: globCovers}, {covers: azureScopeCovers}}
	for _, data := range []string{"", "data_"} {
		allow, deny := data+"actions", "not_"+data+"actions"
		if !covered(measures, azureGrants(after, allow), azureGrants(before, allow)) {
			return true
		}
		// What a role leaves out is not denied, but it is not allowed either. It counts where the role has something around it.
		for _, g := range azureLeftOut(before, deny) {
			if meetsAny(g, azureGrants(after, allow)) && !covered(measures[:1], []grant{g}, azureLeftOut(after, deny)) {
				return true
			}
		}
	}
	return false
}

func azureGrants(role raw.Value, key string) []grant {
	scopes := gather(role, "assignable_scopes", "scope")
	return each(get(role, "permissions"), func(p raw.Value) (grant, bool) {
		return grant{dims: []dimension{these(lower(gather(p, key))...), these(scopes...)}}, true
	})
}

func azureLeftOut(role raw.Value, key string) []grant {
	return each(get(role, "permissions"), func(p raw.Value) (grant, bool) {
		return grant{dims: []dimension{these(lower(gather(p, key))...)}}, true
	})
}

// meetsAny says that something is in the first dimension of g and of one of others.
func meetsAny(g grant, others []grant) bool {
	for _, o := range others {
		for _, a := range g.dims[0].items {
			for _, b := range o.dims[0].items {
				if globsMeet(a, b) {
					return true
				}
			}
		}
	}
	return false
}

func azureScopeCovers(outer, inner string) bool {
	return outer == "/" || strings.EqualFold(outer, inner) || strings.HasPrefix(strings.ToLower(inner), strings.ToLower(outer)+"/")
}

func lower(list []string) []string {
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return list
}
